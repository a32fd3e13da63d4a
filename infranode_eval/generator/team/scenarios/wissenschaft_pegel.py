"""Hochwasserpegel: a flood at four gauges, from raw hours over a pen recorder and a spoken note to the discharge."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from infranode_eval.generator.team.draft import Asset, Before, Change, Draft, RoundDraft, Wrong
from infranode_eval.generator.team.leak import Secret
from infranode_eval.generator.team.number import MONTHS, german_date, in_words
from infranode_eval.generator.team.picture import GREY, PALE, Plot, Sheet
from infranode_eval.generator.team.sound import speak
from infranode_eval.generator.team.texts import wissenschaft_pegel as texts

SEED = "wissenschaft_pegel 1"
START, HOURS = datetime(2026, 2, 11), 96
GAUGES = {"obersteg": "Obersteg", "marienhammer": "Marienhammer", "kolkwehr": "Kolkwehr", "unterlinden": "Unterlinden"}
OURS, ABOVE, FARTHER = "kolkwehr", "marienhammer", "obersteg"
RANGE = 400                                             # cm: above it the logger of OURS reports nothing
ZEROS = {"obersteg": 11235, "marienhammer": 10082, "kolkwehr": 8766, "unterlinden": 7941}        # cm above NHN
AREAS = {"obersteg": 118, "marienhammer": 274, "kolkwehr": 512, "unterlinden": 689}
STAGES = {"obersteg": (110, 150, 200), "marienhammer": (180, 240, 300), "kolkwehr": (250, 330, 420),
          "unterlinden": (220, 290, 370)}               # cm
TABLE = ((100, 8), (200, 39), (300, 96), (350, 138), (400, 192), (450, 263), (500, 350))        # cm, m³/s
CALIBRATION, PARAMETERS = "stammdaten/kalibrierung.txt", "auswertung/parameter.txt"
OLD_SHEET, OLD_CALIBRATION = "archiv/stationsblatt_2011.txt", "archiv/kalibrierung_2019.txt"
READ_BY_MACHINE = "ki_auswertung/ganglinie.txt"


@dataclass(frozen=True, slots=True)
class Calibration:
    """One version. offsets: cm by gauge."""

    since: date
    examiner: str
    device: str
    offsets: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Crest:
    """The peak of a curve: raw cm, and when."""

    level: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Shift:
    """How far the zero of OURS has moved, in cm, and from when on."""

    by: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that is drawn. raw: cm by gauge, None where the logger failed. pen: what the recorder of OURS drew;
    first: the wave before its crest. misread, dated: what the machine reads, and what the old sheet says."""

    raw: Mapping[str, Sequence[int | None]]
    pen: Sequence[int]
    first: Crest
    crest: Crest
    misread: Crest
    shift: Shift
    dated: Shift
    old: Calibration
    new: Calibration
    rain: Sequence[int]

    def highest(self, gauge: str) -> Crest:
        """The largest recorded value, the earliest if there are several."""
        level = max(value for value in self.raw[gauge] if value is not None)
        return Crest(level, hour(list(self.raw[gauge]).index(level)))

    def hours_at(self, gauge: str, stage: int, offset: int, shift: Shift | None) -> int:
        """Hours of which the level reaches stage 1, 2 or 3."""
        return sum(value + offset + (shift.by if shift and gauge == OURS and hour(n) >= shift.since else 0)
                   >= STAGES[gauge][stage - 1] for n, value in enumerate(self.raw[gauge]) if value is not None)


@dataclass(frozen=True, slots=True)
class Report:
    """What round 6 rests on: raw crest, offset and shift in cm, hours on the way."""

    crest: Crest
    offset: int
    shift: int
    hours: int

    @property
    def level(self) -> int:
        return self.crest.level + self.offset + self.shift


def hour(n: int) -> datetime:
    return START + timedelta(hours=n)


def draw_facts(seed: str = SEED) -> Facts:
    """Facts in which each slip gives another answer, and the raw crest is a number that no table holds."""
    rng = random.Random(seed)
    while True:
        facts = _drawn(rng)
        right, offset = report(facts), facts.old.offsets[OURS]
        counted = {facts.hours_at(OURS, 2, offset, shift) for shift in (None, facts.shift, facts.dated)}
        told = {facts.crest.level, facts.misread.level, facts.first.level, facts.highest(OURS).level}
        held = {value for name, values in facts.raw.items() for value in values}
        slips = (replace(right, shift=0), replace(right, shift=facts.dated.by), replace(right, crest=facts.misread))
        if stage_of(right.level) == 2 and all(stage_of(one.level) == 3 for one in slips) and len(counted) == 3 \
                and len(told) == 4 and facts.crest.level not in held and discharge(right.level) % 10 \
                and facts.hours_at(OURS, 2, 0, facts.shift) != facts.hours_at(OURS, 2, offset, facts.shift):
            return facts


def _drawn(rng: random.Random) -> Facts:
    crest_at = 53 + rng.randrange(4)                            # 13 February, early in the morning
    waves = {"obersteg": (68, 74, 124, crest_at - 13), "marienhammer": (83, 96, 170, crest_at - 6 - rng.randrange(2)),
             "kolkwehr": (118, 196, rng.randint(313, 322), crest_at), "unterlinden": (104, 150, 243, crest_at + 7)}
    curves = {name: _curve(rng, *wave) for name, wave in waves.items()}
    pen = curves[OURS]
    crest, first = (_top(pen, span) for span in ((40, 70), (8, 30)))
    raw: dict[str, Sequence[int | None]] = dict(curves)
    raw[OURS] = [value if value <= RANGE else None for value in pen]
    digits = str(crest.level)
    shift = Shift(-rng.randint(17, 19), datetime(2026, 2, 12, rng.choice((17, 18, 19))))
    old = {name: rng.choice((-5, -4, -3, 3, 4, 5)) for name in GAUGES}
    new = {name: value + rng.choice((-4, -3, -2, 2, 3, 4)) for name, value in old.items()}
    return Facts(
        raw, pen, first, crest, Crest(int(digits[0] + digits[2] + digits[1]), crest.at + timedelta(hours=3)),
        shift, Shift(6, datetime(2011, 5, 3, 8)),
        Calibration(date(2024, 10, 1), "Merle Voßkuhl", "Tachymeter TS-4412", old),
        Calibration(date(2025, 11, 1), "Thies Overbeck", "Nivellier NA-87", new),
        [rng.randint(9, 14), rng.randint(28, 36), rng.randint(41, 55), rng.randint(6, 12), rng.randint(1, 4)])


def _curve(rng: random.Random, base: int, first: int, high: int, top: int) -> list[int]:
    """Raw cm by hour: a wave before, and the flood; it rises faster than it falls."""
    def wave(n: int, at: int, rise: float, fall: float) -> float:
        return math.exp(-(((n - at) / (rise if n < at else fall)) ** 2))

    return [round(base + first * wave(n, top - 34, 7, 11) + high * wave(n, top, 10, 19)
                  + (rng.choice((-1, 0, 0, 1)) if abs(n - top) > 2 else 0)) for n in range(HOURS)]


def _top(values: Sequence[int], span: tuple[int, int]) -> Crest:
    part = values[span[0]:span[1]]
    return Crest(max(part), hour(span[0] + part.index(max(part))))


def stage_of(level: int) -> int:
    return sum(level >= stage for stage in STAGES[OURS])


def discharge(level: int) -> int:
    """Tenths of m³/s, between the rows of TABLE, half up."""
    for (low, little), (high, much) in zip(TABLE, TABLE[1:], strict=False):
        if low <= level <= high:
            return rounded((little + (much - little) * Fraction(level - low, high - low)) * 10)
    raise ValueError(f"no discharge for {level} cm")


def rounded(value: Fraction) -> int:
    """Half up."""
    return int(value + Fraction(1, 2))


def report(facts: Facts, above: str = ABOVE, crest: Crest | None = None) -> Report:
    """The right report, or that of a wrong gauge above or of a wrong crest."""
    found = crest or facts.crest
    return Report(found, facts.new.offsets[OURS], facts.shift.by,
                  int((found.at - facts.highest(above).at) / timedelta(hours=1)))


def draft() -> Draft:
    facts = draw_facts()
    return Draft(
        "wissenschaft_pegel", "Hochwasserpegel: Stundenwerte, Ganglinie, Feldnotiz", "science",
        accessible=("aufgaben", "ausgabe", "auswertung"),
        delegable=("stammdaten", "messwerte", "bilder", "toene", "archiv", "ki_auswertung"),
        decoys=("archiv", "ki_auswertung"),
        workspace=workspace(facts),
        updates={"u1": (Change("replace", CALIBRATION, calibration_text(facts.new)),
                        Change("new", "aufgaben/mitteilung_pruefstelle.txt", texts.NOTE))},
        rounds=rounds(facts),
        secrets={"bilder/ganglinie.png": (Secret("scheitel", (facts.crest.level,)),),
                 "toene/feldnotiz.wav": (Secret("verschiebung", (-facts.shift.by, "Nullpunktverschiebung")),
                                         Secret("beginn", (facts.shift.since.date(), "Nullpunktverschiebung")))})


def workspace(facts: Facts) -> dict[str, str | Asset]:
    """Path → content, in the state before round 1."""
    sheets = {f"stammdaten/{name}.txt": texts.STATION.format(
        title=title, area=AREAS[name], **dict(zip(("one", "two", "three"), STAGES[name], strict=True)))
        for name, title in GAUGES.items()}
    return {
        "aufgaben/lies_mich.txt": texts.README, "aufgaben/verzeichnis.txt": texts.INDEX,
        "aufgaben/rechenregel.txt": texts.RULES,
        "ausgabe/lies_mich.txt": "Ablage der Ergebnisse, je Aufgabe eine JSON-Datei (UTF-8).\n",
        "auswertung/abfluss.py": texts.PROGRAM, PARAMETERS: texts.PARAMETERS,
        CALIBRATION: calibration_text(facts.old), "stammdaten/messnetz.txt": texts.NETWORK, **sheets,
        **{f"messwerte/{name}.csv": hourly(values) for name, values in facts.raw.items()},
        "messwerte/niederschlag.csv": texts.RAIN.format(*facts.rain),
        "bilder/ganglinie.png": Asset("image", curve_report(facts), lambda: curve(facts)),
        "bilder/messnetz.png": Asset("image", "Lageskizze: die Wehse mit den Pegeln Obersteg, Marienhammer, Kolkwehr, "
                                     "Unterlinden, von links nach rechts.", network),
        "toene/feldnotiz.wav": Asset("audio", texts.HEARD.format(
            shift=facts.shift.by, day=german_date(facts.shift.since.date()), hour=facts.shift.since.hour),
            lambda: speak(spoken(facts.shift))),
        "toene/begleitzettel.txt": texts.SLIP,
        OLD_SHEET: texts.OLD_STATION.format(two=310, shift=facts.dated.by, day=german_date(facts.dated.since.date()),
                                            hour=facts.dated.since.hour),
        OLD_CALIBRATION: calibration_text(Calibration(date(2019, 4, 1), "Hartwig Bölsche", "Nivellier NA-31", {
            name: offset + 1 for name, offset in facts.old.offsets.items()})),
        READ_BY_MACHINE: texts.READ_BY_MACHINE.format(
            level=facts.misread.level, day=german_date(facts.misread.at.date()), hour=facts.misread.at.hour),
    }


def calibration_text(one: Calibration) -> str:
    lines = "\n".join(f"{name};{offset:+d};{ZEROS[name] // 100},{ZEROS[name] % 100:02}"
                      for name, offset in one.offsets.items())
    return texts.CALIBRATION.format(since=german_date(one.since), examiner=one.examiner, device=one.device, lines=lines)


def hourly(values: Sequence[int | None]) -> str:
    lines = [f"{told(hour(n))};{'' if value is None else value};{'ausfall' if value is None else 'ok'}"
             for n, value in enumerate(values)]
    return "\n".join(("zeitpunkt;rohwert_cm;status", *lines)) + "\n"


def told(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M")


def curve_report(facts: Facts) -> str:
    """What someone who sees the curve reports."""
    return texts.SEEN.format(
        first=facts.first.level, first_day=german_date(facts.first.at.date()), first_hour=facts.first.at.hour,
        level=facts.crest.level, day=german_date(facts.crest.at.date()), hour=facts.crest.at.hour)


def curve(facts: Facts) -> bytes:
    """The sheet of the pen recorder as PNG: four days, and both waves named."""
    sheet, plot = Sheet(1200, 720), Plot(110, 110, 1150, 620, 0, 500)
    sheet.text(600, 22, "Schreibpegel Kolkwehr – Ganglinie", 34, bold=True, anchor="ma")
    sheet.text(600, 68, "Rohwert in cm, mitteleuropäische Zeit", 24, anchor="ma", ink=GREY)
    sheet.axes(plot, (0, 100, 200, 300, 400, 500))
    step = (plot.right - plot.left) / (HOURS - 1)
    for n in range(0, HOURS, 24):
        x = round(plot.left + n * step)
        sheet.rule(x, plot.top, x, plot.bottom, width=1, ink=PALE)
        sheet.text(round(x + 12 * step), plot.bottom + 16, german_date(hour(n).date()), 22, anchor="ma")
    points = sheet.curve(plot, facts.pen)
    for name, crest in (("Vorwelle", facts.first), ("Scheitel", facts.crest)):
        x, y = points[int((crest.at - START) / timedelta(hours=1))]
        sheet.frame(x - 6, y - 6, x + 6, y + 6, fill=255)
        sheet.text(x, y - 14, f"{name}: {crest.level} cm, {crest.at.hour} Uhr", 26, bold=True, anchor="mb")
    return sheet.png()


def network() -> bytes:
    """The river with its gauges as PNG."""
    sheet = Sheet(760, 300)
    sheet.text(380, 18, "Pegel an der Wehse", 26, bold=True, anchor="ma")
    river = [(30, 130), (170, 170), (330, 140), (520, 190), (730, 160)]
    for (x, y), (to_x, to_y) in zip(river, river[1:], strict=False):
        sheet.rule(x, y, to_x, to_y, width=8, ink=GREY)
    for (x, y), title in zip(((100, 150), (250, 155), (430, 166), (640, 173)), GAUGES.values(), strict=True):
        sheet.polygon([(x - 14, y - 30), (x + 14, y - 30), (x, y - 6)], fill=PALE)
        sheet.text(x, y + 34, title, 22, anchor="ma")
    return sheet.png()


def spoken(shift: Shift) -> str:
    return texts.SPOKEN.format(sign="minus" if shift.by < 0 else "plus", shift=in_words(abs(shift.by)),
                               day=texts.ORDINALS[shift.since.day], month=MONTHS[shift.since.month - 1],
                               year=in_words(shift.since.year), hour=in_words(shift.since.hour))


def rounds(facts: Facts) -> tuple[RoundDraft, ...]:
    """The six rounds, each with the slips that must not pass."""
    return tuple(make(facts) for make in (_calibration, _crest, _shift, _hours, _recalibrated, _reported))


def _calibration(facts: Facts) -> RoundDraft:
    offset = facts.old.offsets[OURS]
    answer = {"versatz_cm": offset, "nullpunkt_m_nhn": ZEROS[OURS] / 100, "oberhalb": ABOVE}
    return RoundDraft("r1", texts.QUESTIONS["r1"], answer, (
        Wrong("the sign of the offset lost", {**answer, "versatz_cm": -offset}),
        Wrong("the calibration of 2019", {**answer, "versatz_cm": offset + 1}, from_=OLD_CALIBRATION),
        Wrong("the line of another gauge", {**answer, "versatz_cm": facts.old.offsets["unterlinden"],
                                             "nullpunkt_m_nhn": ZEROS["unterlinden"] / 100}),
        Wrong("the gauge below", {**answer, "oberhalb": "unterlinden"})),
        covers=("C1", "C4", "C10"), tags=("text",))


def _crest(facts: Facts) -> RoundDraft:
    offset = facts.old.offsets[OURS]

    def answer(crest: Crest, plus: int = offset) -> dict[str, Any]:
        return {"scheitel_roh_cm": crest.level, "zeitpunkt": told(crest.at), "vorlaeufig_cm": crest.level + plus}

    return RoundDraft("r2", texts.QUESTIONS["r2"], answer(facts.crest), (
        Wrong("what the machine reads", answer(facts.misread), from_=READ_BY_MACHINE),
        Wrong("the wave before", answer(facts.first)),
        Wrong("the highest hour that the logger has", answer(facts.highest(OURS))),
        Wrong("the offset with the sign of a wrong round 1", answer(facts.crest, -offset), built_on="r1")),
        covers=("C5", "C9", "C8:r1"), tags=("image",))


def _shift(facts: Facts) -> RoundDraft:
    def answer(shift: Shift) -> dict[str, Any]:
        return {"pegel": OURS, "verschiebung_cm": shift.by, "gilt_ab": told(shift.since)}

    shift = facts.shift
    return RoundDraft("r3", texts.QUESTIONS["r3"], answer(shift), (
        Wrong("the old sheet of the gauge", answer(facts.dated), from_=OLD_SHEET),
        Wrong("the sign lost", answer(replace(shift, by=-shift.by))),
        Wrong("from midnight on", answer(replace(shift, since=shift.since.replace(hour=0))))),
        covers=("C5", "C9"), tags=("audio",))


def _hours(facts: Facts) -> RoundDraft:
    def answer(count: Callable[[str], int]) -> dict[str, Any]:
        return {name: {"hoechster_rohwert_cm": facts.highest(name).level, "zeitpunkt": told(facts.highest(name).at),
                       "stunden_stufe_2": count(name)} for name in GAUGES}

    def counted(shift: Shift | None, stage: int = 2, offsets: Mapping[str, int] = facts.old.offsets) -> dict[str, Any]:
        return answer(lambda name: facts.hours_at(name, stage, offsets[name], shift))

    failed = sum(value is None for value in facts.raw[OURS])
    right = counted(facts.shift)
    return RoundDraft("r4", texts.QUESTIONS["r4"], right, (
        Wrong("the shift left out", counted(None)),
        Wrong("the shift of the old sheet, from round 3", counted(facts.dated), from_=OLD_SHEET, built_on="r3"),
        Wrong("raw values against the stage", counted(facts.shift, offsets=dict.fromkeys(GAUGES, 0))),
        Wrong("hours of stage I", counted(facts.shift, stage=1)),
        Wrong("hours without a value counted", right | {OURS: right[OURS] | {
            "stunden_stufe_2": right[OURS]["stunden_stufe_2"] + failed}})),
        covers=("C6", "C8:r3"), tags=("workflow", "pipeline"), overlap=3)


def _recalibrated(facts: Facts) -> RoundDraft:
    def answer(one: Calibration) -> dict[str, Any]:
        return {name: facts.highest(name).level + one.offsets[name] for name in GAUGES if name != OURS} \
            | {"versatz_kolkwehr_cm": one.offsets[OURS], "geprueft_neu": facts.new.examiner,
               "geprueft_bisher": facts.old.examiner, "pruefgeraet_bisher": facts.old.device}

    right = answer(facts.new)
    return RoundDraft("r5", texts.QUESTIONS["r5"], right, (
        Wrong("the offsets of the former calibration", answer(facts.old), stale_of="u1"),
        Wrong("the new examiner and device twice", {**right, "geprueft_bisher": facts.new.examiner,
                                                    "pruefgeraet_bisher": facts.new.device}),
        Wrong("the calibration of 2019 taken for the former one", {
            **right, "geprueft_bisher": "Hartwig Bölsche", "pruefgeraet_bisher": "Nivellier NA-31"},
            from_=OLD_CALIBRATION)),
        covers=("C2", "C7:r1"), tags=("update", "session"), update_ids=("u1",),
        only_in_session=(facts.old.examiner, facts.old.device))


def _reported(facts: Facts) -> RoundDraft:
    def wrong(why: str, one: Report, **links: str) -> Wrong:
        return Wrong(why, concluded(one), {PARAMETERS: filled(one)}, **links)

    right = report(facts)
    old = facts.old.offsets[OURS]
    return RoundDraft("r6", texts.QUESTIONS["r6"], concluded(right), (
        wrong("the crest that the machine reads, from round 2", report(facts, crest=facts.misread),
              from_=READ_BY_MACHINE, built_on="r2"),
        wrong("the shift of the old sheet, from round 3", replace(right, shift=facts.dated.by), from_=OLD_SHEET,
              built_on="r3"),
        wrong("the former offset, from round 5", replace(right, offset=old), stale_of="u1", built_on="r5"),
        wrong("hours from the gauge two above, from round 1", report(facts, FARTHER), built_on="r1"),
        wrong("the shift left out", replace(right, shift=0)),
        Wrong("the parameters not filled in", concluded(right)),
        Wrong("the parameters with the former offset", concluded(right), {
            PARAMETERS: filled(replace(right, offset=old))})),
        covers=("C3", "C8:r1", "C8:r2", "C8:r3", "C8:r5"), tags=("chain", "edit", "program"),
        files={PARAMETERS: filled(right)},
        before=Before(f"python3 -I ${{workspace}}/auswertung/abfluss.py ${{workspace}}/{PARAMETERS}", printed(right)))


def concluded(one: Report) -> dict[str, Any]:
    """The answer of round 6."""
    return {"wasserstand_cm": one.level, "hoehe_m_nhn": (ZEROS[OURS] + one.level) / 100,
            "abfluss_m3_s": discharge(one.level) / 10, "meldestufe": stage_of(one.level), "laufzeit_h": one.hours}


def filled(one: Report) -> str:
    """The parameters with the values of a report."""
    text = texts.PARAMETERS
    for value in (one.crest.level, one.offset, one.shift, f"{ZEROS[OURS] // 100},{ZEROS[OURS] % 100:02}"):
        text = text.replace("?", str(value), 1)
    return text


def printed(one: Report) -> str:
    """What the program says to these parameters."""
    height, flow = ZEROS[OURS] + one.level, discharge(one.level)
    return (f"Wasserstand: {one.level} cm\nHoehe: {height // 100}.{height % 100:02} m NHN\n"
            f"Abfluss: {flow // 10}.{flow % 10} m3/s\n")
