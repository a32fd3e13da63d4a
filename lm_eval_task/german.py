"""The scorer's own word table: German names of keys and place types, to tell "translated" from plainly wrong."""

from __future__ import annotations

import unicodedata

_WORDS = {
    # six POI types
    "hospital": "Krankenhaus, Krankenhäuser, Klinik, Kliniken, Klinikum, Spital, Hospital",
    "kindergarten": "Kita, Kitas, Kindergärten, Kindertagesstätte, Kindertagesstätten, Krippe, Kinderkrippe",
    "pharmacy": "Apotheke, Apotheken",
    "police": "Polizei, Polizeiwache, Polizeiwachen, Wache, Polizeirevier, Polizeidienststelle, Revier",
    "restaurant": "Restaurants, Gaststätte, Gaststätten, Gasthaus, Lokal, Lokale, Wirtshaus",
    "school": "Schule, Schulen, Grundschule, Gymnasium",
    # keys of get_city_resource and compare
    "accidents": "Unfälle, Verkehrsunfälle, Unfallstatistik, Verkehrsunfallstatistik",
    "air": "Luft, Luftmesswerte, Luftqualität, Luftwerte, Luftgüte",
    "air-uba": "Luft UBA, Luftqualität, Luftgüte, amtliche Luftgüte, Luftqualität UBA",
    "base": "Basis, Basisdaten, Stammdaten, Grunddaten",
    "bathing-water": "Badegewässer, Badestellen, Badewasser, Badegewässerqualität, Badeseen",
    "bike-counts": "Radzählung, Radzählungen, Radzählstellen, Fahrradzählung, Fahrradzählstellen",
    "business-registrations": "Gewerbeanmeldungen, Gewerbemeldungen, Gewerbeabmeldungen, Gewerbe",
    "charging": "Ladesäulen, Ladestationen, Ladepunkte, Laden, Ladeinfrastruktur",
    "charging-status": "Ladestatus, Ladesäulenstatus, Ladepunktstatus, Belegung Ladesäulen, Ladesäulenbelegung",
    "civil-protection-warnings": "Bevölkerungsschutzwarnungen, Bevölkerungsschutz, Katastrophenwarnungen, NINA, "
                                 "Warnungen",
    "construction": "Bau, Baugenehmigungen, Bautätigkeit, Baustellen",
    "crime-stats": "Kriminalstatistik, Kriminalität, Straftaten",
    "demographics": "Demografie, Demographie, Bevölkerung, Bevölkerungsstruktur",
    "district-heating": "Fernwärme, Wärmenetze, Fernwärmenetze",
    "drinking-water": "Trinkwasser, Trinkbrunnen, Trinkwasserbrunnen",
    "education": "Bildung, Bildungseinrichtungen, Schulen",
    "election": "Wahl, Wahlen, Wahlergebnis, Wahlergebnisse, Bundestagswahl",
    "energy": "Energie, Energieanlagen, Stromerzeugung",
    "events": "Veranstaltungen, Ereignisse, Termine",
    "fire-danger": "Waldbrandgefahr, Brandgefahr, Waldbrandgefahrenindex, Waldbrand",
    "flood": "Hochwasser, Hochwasserwarnung, Hochwasserwarnungen, Überschwemmung",
    "fuel-prices": "Spritpreise, Kraftstoffpreise, Benzinpreise, Tankstellen, Tankstellenpreise",
    "geo": "Geodaten, Stadtgrenze, Verwaltungsgrenze, Grenze",
    "government-offices": "Behörden, Ämter, Amt, Verwaltung, Rathaus",
    "health": "Gesundheit, Krankenhäuser, Krankenhausstatistik",
    "heritage": "Denkmäler, Baudenkmäler, Denkmale, Denkmalschutz, Kulturerbe",
    "holidays": "Feiertage, Ferien, Schulferien",
    "hospitals-atlas": "Klinik-Atlas, Klinikatlas, Krankenhausatlas, Krankenhäuser-Atlas",
    "icu-live": "Intensivbetten, Intensivstation, Intensivbetten live",
    "indicators": "Indikatoren, Kennzahlen",
    "insolvencies": "Insolvenzen, Pleiten",
    "land-values": "Bodenrichtwerte, Bodenrichtwert, Bodenwerte, Grundstückspreise",
    "markets": "Märkte, Wochenmärkte, Markt",
    "office-wait-times": "Wartezeiten, Wartezeit, Wartezeiten Bürgeramt, Bürgeramt",
    "overview": "Überblick, Übersicht, Gesamtüberblick",
    "parcel-lockers": "Packstationen, Paketautomaten, Paketstationen",
    "parking": "Parken, Parkhäuser, Parkplätze",
    "playgrounds": "Spielplätze, Spielplatz",
    "pollen-uv": "Pollen, Pollenflug, UV-Index, Pollen und UV",
    "population-density": "Bevölkerungsdichte, Einwohnerdichte",
    "post-boxes": "Briefkästen, Briefkasten",
    "post-offices": "Postfilialen, Postämter, Post",
    "power-load": "Netzlast, Stromlast, Stromverbrauch",
    "power-price": "Strompreis, Börsenstrompreis",
    "public-tenders": "Ausschreibungen, öffentliche Ausschreibungen, Vergaben",
    "public-toilets": "Toiletten, öffentliche Toiletten, WCs",
    "public-wifi": "WLAN, öffentliches WLAN",
    "recycling-centres": "Wertstoffhöfe, Recyclinghöfe, Wertstoffhof",
    "road-events": "Baustellen, Straßenbaustellen, Straßensperrungen, Straßenereignisse",
    "sharing": "Leihräder, Mieträder, Bikesharing, E-Scooter",
    "solar": "Sonne, Sonneneinstrahlung, Solarertrag, PV-Ertrag",
    "solar-roofs": "Solardächer, Dachsolar, Solarkataster, Solardachkataster",
    "station-arrivals": "Ankünfte, Bahnhofsankünfte",
    "station-departures": "Abfahrten, Bahnhofsabfahrten",
    "station-facilities": "Aufzüge, Rolltreppen, Bahnhofsausstattung",
    "stations": "Bahnhöfe, Bahnhof, Bahnhofsliste, Stationen",
    "tax-rates": "Hebesätze, Steuersätze, Steuern",
    "tourism": "Tourismus, Übernachtungen, Fremdenverkehr",
    "traffic": "Verkehr, Verkehrslage, Stau",
    "transit": "ÖPNV, Haltestellen, Nahverkehr",
    "tree-cadastre": "Baumkataster, Bäume, Stadtbäume",
    "unemployment": "Arbeitslosigkeit, Arbeitslose, Arbeitslosenquote",
    "vehicle-registrations": "Kfz-Zulassungen, Fahrzeugzulassungen, Pkw-Bestand, Zulassungen",
    "water-level": "Pegel, Pegelstand, Pegelstände, Wasserstand, Wasserstände",
    "weather": "Wetter",
    "weather-warnings": "Wetterwarnungen, Unwetterwarnungen, Unwetter",
    "webcams": "Webcam, Kameras, Verkehrskameras",
}

_FOLD = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", " ": "-", "_": "-"})


def _fold(word: str) -> str:
    return unicodedata.normalize("NFC", word).strip().casefold().translate(_FOLD)


_FOLDED = {value: frozenset(_fold(word) for word in words.split(",")) for value, words in _WORDS.items()}


def means(word: str, value: str) -> bool:
    """Is `word` a German name of the catalogue value `value`? Case, umlaut spelling, blanks and hyphens are free."""
    return _fold(word) in _FOLDED.get(value, ())
