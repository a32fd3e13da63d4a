"""Rows of a network that measures the air of a federal state: daily values of the second half of 2025."""

from __future__ import annotations

from collections.abc import Iterator

from infranode_eval.db_routing.draw import Draw, Made, Row, days_from

FIRST, LAST = "2025-07-01", "2025-12-31"
_STATIONS = (
    ("Clevischer Ring", "Köln", "Verkehr", 52, "2009-04-01"),
    ("Chorweiler", "Köln", "Hintergrund", 46, "1984-06-12"),
    ("Auerberg", "Bonn", "Hintergrund", 58, "1990-02-20"),
    ("Corneliusstraße", "Düsseldorf", "Verkehr", 37, "2006-08-15"),
    ("Wilhelmstraße", "Aachen", "Verkehr", 170, "2007-01-10"),
    ("Manfort", "Leverkusen", "Industrie", 50, "1982-09-03"),
    ("Hafen Neuss", "Neuss", "Industrie", 34, "1988-11-25"),
    ("Knapsack", "Hürth", "Industrie", 97, "1979-05-07"),
    ("Friedrich-Ebert-Allee", "Koblenz", "Verkehr", 68, "2011-03-18"),
    ("Hohe Acht", "Euskirchen", "Hintergrund", 572, "1995-07-30"),
    ("Merzenich", "Düren", "Hintergrund", 131, "2012-10-14"),
    ("Konrad-Adenauer-Ufer", "Solingen", "Verkehr", 207, "2013-12-02"),
)
# name, limit of the daily mean or target, usual level at a background station, factor near traffic and near industry
_STUFF = (
    ("Stickstoffdioxid", 50.0, 16.0, 2.3, 1.4),
    ("Feinstaub PM10", 45.0, 15.0, 1.5, 1.7),
    ("Feinstaub PM2,5", 25.0, 9.0, 1.3, 1.4),
    ("Ozon", 100.0, 58.0, 0.7, 0.9),
    ("Schwefeldioxid", 40.0, 4.0, 1.1, 3.6),
)
_MEASURED = ("1 2 4", "1 2 4", "1 4", "1 2 3", "1 2", "2 5", "1 2 5", "2 3 5", "1 2", "4 2", "1 4", "1 3")
_SEASON = {
    "Ozon": (1.35, 1.3, 1.05, 0.8, 0.6, 0.5),
    "Stickstoffdioxid": (0.8, 0.8, 0.95, 1.1, 1.3, 1.35),
    "Schwefeldioxid": (0.9, 0.9, 1.0, 1.0, 1.1, 1.2),
    "Feinstaub PM10": (0.8, 0.85, 0.9, 1.05, 1.3, 1.5),
    "Feinstaub PM2,5": (0.75, 0.8, 0.9, 1.1, 1.4, 1.6),
}
_GAPS = {"Stromausfall": 2, "Gerätedefekt": 4, "Kalibrierung": 3, "Filterwechsel": 1}


def station_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number, (name, town, kind, height, since) in enumerate(_STATIONS, 1):
        yield {
            "id": number,
            "station_name": name,
            "ort_name": town,
            "stations_art": kind,
            "hoehe_m": height,
            "in_betrieb_seit": since,
        }


def stoff_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    for number, (name, limit, *_) in enumerate(_STUFF, 1):
        yield {"id": number, "stoff_name": name, "grenz_wert_ug": limit}


def geraet_stamm(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    kinds = ("Aeris 400", "Aeris 410", "Nubo S", "Klarluft 7", "Partiko 12")
    for station, measured in zip(made["station_stamm"], _MEASURED, strict=True):
        for stuff in map(int, measured.split()):
            number += 1
            built = max(draw.day("2012-01-01", "2024-12-31"), station["in_betrieb_seit"])
            yield {
                "id": number,
                "station_nr": station["id"],
                "stoff_nr": stuff,
                "geraete_typ": draw.skewed(kinds),
                "eingebaut_am": built,
                "kalibriert_am": draw.maybe(0.85, draw.day("2025-01-07", "2025-11-28")),
            }


def mess_wert(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    days = days_from(FIRST, LAST)
    weather = {day: draw.around(1.0, 0.22, 3) for day in days}  # stuffy or windy, everywhere alike
    for device in made["geraet_stamm"]:
        for day in days:
            number += 1
            mean = _mean(draw, device, made, day, weather[day])
            gap = draw.maybe(0.03, draw.weighted(_GAPS))
            state = (
                "verworfen"
                if gap
                else "vorläufig"
                if day >= "2025-12-01"
                else draw.weighted({"bestätigt": 88, "vorläufig": 12})
            )
            yield {
                "id": number,
                "geraet_nr": device["id"],
                "gemessen_am": day,
                "tages_mittel_ug": None if gap else mean,
                "stunden_max_ug": None if gap else round(mean * draw.around(1.9, 0.22, 3) + 1, 1),
                "luecken_grund": gap,
                "pruef_status": state,
            }


def _mean(draw: Draw, device: Row, made: Made, day: str, stuffy: float) -> float:
    name, _, level, traffic, industry = _STUFF[device["stoff_nr"] - 1]
    factor = {"Verkehr": traffic, "Industrie": industry}.get(
        made["station_stamm"][device["station_nr"] - 1]["stations_art"], 1.0
    )
    season = _SEASON[name][int(day[5:7]) - 7]
    return max(
        0.4, round(level * factor * season * (2 - stuffy if name == "Ozon" else stuffy) * draw.around(1.0, 0.16, 3), 1)
    )


def wetter_tag(draw: Draw, made: Made) -> Iterator[Row]:
    number = 0
    usual = (20.1, 19.4, 15.6, 11.2, 6.3, 3.1)
    for station in (made["station_stamm"][place] for place in (0, 4, 9)):
        for day in days_from(FIRST, LAST):
            number += 1
            yield {
                "id": number,
                "station_nr": station["id"],
                "wetter_am": day,
                "temperatur_c": draw.around(usual[int(day[5:7]) - 7] - station["hoehe_m"] / 160, 3.2, 1),
                "wind_ms": max(0.2, draw.around(2.9 + station["hoehe_m"] / 300, 1.1, 1)),
                "regen_mm": draw.maybe(0.47, round(0.2 + draw.between(0, 12) * draw.between(0, 15) / 10, 1)),
            }
