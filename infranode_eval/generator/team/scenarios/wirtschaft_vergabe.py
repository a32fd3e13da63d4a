"""Vergabe Kita-Sanierung: a municipality checks three offers, loses a bidder, changes the works, and awards them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any

from infranode_eval.generator.team.draft import Asset, Before, Change, Draft, RoundDraft, Wrong
from infranode_eval.generator.team.leak import Secret
from infranode_eval.generator.team.number import MONTHS, german_date, grouped, in_words
from infranode_eval.generator.team.picture import GREY, PALE, Plot, Sheet
from infranode_eval.generator.team.sound import speak
from infranode_eval.generator.team.tender import Offer, Position, points, rounded, updated
from infranode_eval.generator.team.texts import wirtschaft_vergabe as texts

SEED = "wirtschaft_vergabe 1"
BIDDERS = ("dornkamp", "fennhagen", "osterluettich")
PUBLISHED, QUESTIONS_UNTIL, OPENED = date(2026, 7, 13), date(2026, 8, 12), date(2026, 8, 27)
BINDING, LONGER, AWARD = date(2026, 9, 30), date(2026, 10, 30), date(2026, 10, 22)
QUARTERS = ("III/2024", "IV/2024", "I/2025", "II/2025", "III/2025", "IV/2025", "I/2026", "II/2026", "III/2026")
BASE, OURS = 1, 8                                   # in QUARTERS: of the estimate, and of the opening
AUTHORS = {"old": "Wiebke Hallensleben", "new": "Jannis Rehbohm", "2021": "Gesa Quistorp"}
NOTE, SUMMARY = "archiv/telefonnotiz.txt", "ki_zusammenfassung/angebote.txt"
INDEX_SUMMARY, OLD_SPECIFICATION = "ki_zusammenfassung/preisindex.txt", "archiv/leistungsverzeichnis_2021.txt"
SPECIFICATION, MEMO = "vergabe/leistungsverzeichnis.txt", "entwurf/vergabevermerk.txt"
DROPPED, ADDED = 12, 15                             # numbers of the positions that the update takes out and brings
FORGOTTEN = 11                                      # the position that osterluettich left out when adding up
LEVELS = {"dornkamp": Fraction(100, 100), "fennhagen": Fraction(96, 100), "osterluettich": Fraction(104, 100)}


@dataclass(frozen=True, slots=True)
class Call:
    """What the call says, or what was noted of it: whose offer holds until when, and the sign of the file."""

    bidder: str
    until: date
    sign: int


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that is drawn. works, changed: positions before and after the update. index: tenths for QUARTERS;
    believed: what the wrong summary reads for BASE and OURS. estimate: Euro net."""

    works: Sequence[Position]
    changed: Sequence[Position]
    offers: Mapping[str, Offer]
    index: Sequence[int]
    believed: tuple[int, int]
    estimate: int
    call: Call
    noted: Call

    @property
    def read(self) -> tuple[int, int]:
        """The two values of the curve that count."""
        return self.index[BASE], self.index[OURS]

    def sums(self, works: Sequence[Position]) -> dict[str, int]:
        return {name: offer.total(works) for name, offer in self.offers.items()}


@dataclass(frozen=True, slots=True)
class Award:
    """The decision. out: bidders that do not count; limit: Euro; points: in hundredths."""

    limit: int
    out: tuple[str, ...]
    winner: str
    total: int
    points: int


def awarded(facts: Facts, works: Sequence[Position], call: Call, read: tuple[int, int]) -> Award:
    """The decision for these works, this call and these values of the curve."""
    limit, sums = rounded(Fraction(updated(facts.estimate, read) * 11, 10)), facts.sums(works)
    out = {name for name, total in sums.items() if total > 100 * limit or (name == call.bidder and call.until < AWARD)}
    left = {name: total for name, total in sums.items() if name not in out}
    found = points(left, {name: offer.weeks for name, offer in facts.offers.items()})
    winner = max(found, key=lambda name: found[name])
    return Award(limit, tuple(sorted(out)), winner, left[winner], found[winner])


def draw_facts(seed: str = SEED) -> Facts:
    """Facts in which each slip gives another decision, and no rounding hangs on the order of steps."""
    rng = random.Random(seed)
    while True:
        facts = _drawn(rng)
        sums = facts.sums(facts.changed)
        low, high = (rounded(Fraction(updated(facts.estimate, read) * 11, 10)) * 100
                     for read in (facts.believed, facts.read))
        if not sums["fennhagen"] < sums["dornkamp"] < low < sums["osterluettich"] < high:
            continue
        right = awarded(facts, facts.changed, facts.call, facts.read)
        unlike = awarded(facts, facts.changed, replace(facts.call, until=LONGER), facts.read)
        exact = Fraction(facts.estimate * facts.read[1] * 11, facts.read[0] * 10)
        if (right.winner, unlike.winner) == ("osterluettich", "fennhagen") and right.points % 10 \
                and rounded(exact) == right.limit and summed_wrong(facts) != facts.sums(facts.works):
            return facts


def _drawn(rng: random.Random) -> Facts:
    facade, floors, windows = rng.randrange(590, 660, 5), rng.randrange(380, 430, 5), rng.randint(34, 42)
    works = _works(facade, floors, windows)
    changed = [p for p in _works(facade + 35, floors - 25, windows) if p.number != DROPPED]
    changed.append(Position(ADDED, "Außenraffstores mit Windwächter", False, rng.randint(12, 18), "Stk", 1180))
    offers = {name: Offer({p.number: _price(rng, p.price, LEVELS[name]) for p in (*works, changed[-1])}, percent, plain,
                          weeks)
              for name, percent, plain, weeks in (("dornkamp", 2, True, rng.randint(25, 28)),
                                                  ("fennhagen", 3, False, rng.randint(21, 23)),
                                                  ("osterluettich", 2, False, rng.randint(17, 19)))}
    index = [rng.randint(1243, 1262)]
    for _ in QUARTERS[1:]:
        index.append(index[-1] + rng.randint(6, 21))
    sign = rng.randint(3100, 8900)
    call = Call("fennhagen", date(2026, 10, rng.choice((7, 8, 9))), sign)
    noted = Call("osterluettich", date(2026, 10, call.until.day + 10), sign + 90)
    return Facts(works, changed, offers, index, (index[BASE] + 6, index[OURS] - 70),
                 rng.randrange(300_000, 340_000, 500), call, noted)


def _price(rng: random.Random, price: int, level: Fraction) -> int:
    """Cents, never full tens: no price looks like a value of the curve."""
    return 10 * rounded(level * price * rng.randint(92, 108) / 10) + rng.randint(1, 9)


def _works(facade: int, floors: int, windows: int) -> list[Position]:
    rows = (("Baustelle einrichten, vorhalten und räumen", False, 1, "psch", 14800),
            ("Holzfenster ausbauen und entsorgen", False, windows, "Stk", 92),
            ("Holz-Aluminium-Fenster, zweiflügelig", False, windows, "Stk", 1480),
            ("Oberlichter mit Sicherheitsglas", False, 12, "Stk", 960),
            ("Außentüren mit Klemmschutz", False, 5, "Stk", 3350),
            ("Altputz abschlagen", False, facade, "m²", 24),
            ("Fassade dämmen, Holzfaser 160 mm", False, facade, "m²", 148),
            ("Mineralischer Oberputz", False, facade, "m²", 46),
            ("Linoleum in Gruppenräumen", False, floors, "m²", 68),
            ("Akustikdecken", False, floors, "m²", 94),
            ("Waschrinnen in Kinderhöhe", False, 4, "Stk", 2150),
            ("Sonnensegel mit Edelstahlmasten", False, 3, "Stk", 6900),
            ("Schimmel fachgerecht entfernen", True, 60, "m²", 75),
            ("Arbeiten am Wochenende", True, 120, "Std", 62))
    return [Position(number, *row) for number, row in enumerate(rows, 1)]


def draft() -> Draft:
    facts = draw_facts()
    supplements = tuple(Change("new", f"angebote/{name}/nachtrag.txt", texts.SUPPLEMENT.format(
        f"{ADDED};{euros(offer.prices[ADDED])}")) for name, offer in facts.offers.items())
    return Draft(
        "wirtschaft_vergabe", "Vergabe Kita-Sanierung: drei Angebote, Preisindex, Rückzug", "business",
        accessible=("aufgaben", "ausgabe", "entwurf"),
        delegable=("vergabe", "angebote", "bilder", "toene", "archiv", "ki_zusammenfassung"),
        decoys=("archiv", "ki_zusammenfassung"),
        workspace=workspace(facts),
        updates={"u1": (Change("replace", SPECIFICATION, specification("Fassung 2", AUTHORS["new"], facts.changed)),
                        Change("new", "aufgaben/mitteilung_bauleitung.txt", texts.NOTE), *supplements)},
        rounds=rounds(facts),
        secrets={"bilder/preisindex.png": tuple(Secret(f"index {QUARTERS[place]}", (tenths(facts.index[place]),))
                                                for place in (BASE, OURS)),
                 "toene/anruf.wav": (Secret("gilt_bis", (facts.call.until,)), Secret("zeichen", (facts.call.sign,)),
                                     Secret("bieter", ("Fennhagen", "Bindefrist")))})


def workspace(facts: Facts) -> dict[str, str | Asset]:
    """Path → content, in the state before round 1."""
    offers = {f"angebote/{name}/{file}": content for name, offer in facts.offers.items() for file, content in (
        ("preise.csv", price_list(facts.works, offer)), ("anschreiben.txt", letter(facts, name)))}
    old = [replace(p, amount=p.amount + 3 * (p.unit != "psch")) for p in facts.works
           if p.number not in (4, 11, DROPPED)]
    return {
        "aufgaben/lies_mich.txt": texts.README, "aufgaben/aktenplan.txt": texts.INDEX,
        "aufgaben/vorgang.txt": texts.CASE.format(binding=german_date(BINDING), longer=german_date(LONGER),
                                                  award=german_date(AWARD)),
        "aufgaben/wertungsregel.txt": texts.RULES,
        "ausgabe/lies_mich.txt": "Ergebnisse: je Aufgabe eine JSON-Datei in UTF-8.\n",
        "entwurf/wertung.py": texts.PROGRAM, MEMO: texts.NOTICE,
        SPECIFICATION: specification("Fassung 1", AUTHORS["old"], facts.works),
        "vergabe/kostenschaetzung.txt": estimate(facts),
        "vergabe/bekanntmachung.txt": texts.ANNOUNCEMENT.format(
            published=german_date(PUBLISHED), questions=german_date(QUESTIONS_UNTIL), opened=german_date(OPENED),
            binding=german_date(BINDING)),
        "vergabe/bieterfragen.txt": texts.QUESTIONS_OF_BIDDERS, **offers,
        "bilder/preisindex.png": Asset("image", curve_report(facts), lambda: curve(facts)),
        "bilder/ansicht.png": Asset("image", "Ansicht der Südfassade der Kindertagesstätte Bachstelze mit sechs "
                                    "Fenstern und einer Tür.", facade),
        "toene/anruf.wav": Asset("audio", texts.HEARD.format(until=german_date(facts.call.until), sign=facts.call.sign),
                                 lambda: speak(spoken(facts.call))),
        "toene/aufnahme.txt": texts.RECORDING,
        NOTE: texts.PHONE_NOTE.format(until=german_date(facts.noted.until), sign=facts.noted.sign),
        OLD_SPECIFICATION: specification("Verfahren 2021, aufgehoben", AUTHORS["2021"], old),
        SUMMARY: texts.SUMMARY_OF_OFFERS.format(**{n: euros(c) for n, c in summed_wrong(facts).items()}),
        INDEX_SUMMARY: texts.SUMMARY_OF_INDEX.format("\n".join(
            f"{QUARTERS[place]}: {tenths(value)}" for place, value in zip((BASE, OURS), facts.believed, strict=True))),
    }


def specification(edition: str, author: str, works: Sequence[Position]) -> str:
    lines = "\n".join(f"{p.number};{p.title};{'B' if p.optional else 'N'};{p.amount};{p.unit}" for p in works)
    return texts.SPECIFICATION.format(edition=edition, author=author, lines=lines)


def price_list(works: Sequence[Position], offer: Offer) -> str:
    return "\n".join(("Pos;Einheitspreis_EUR", *(f"{p.number};{euros(offer.prices[p.number])}" for p in works))) + "\n"


def letter(facts: Facts, name: str) -> str:
    offer = facts.offers[name]
    return texts.LETTERS[name].format(claimed=euros(claimed(facts)[name]), percent=offer.percent, weeks=offer.weeks)


def claimed(facts: Facts) -> dict[str, int]:
    """Cents as the bidders tell them: before the discount; optional positions counted; a position forgotten."""
    dornkamp, fennhagen, osterluettich = (facts.offers[name] for name in BIDDERS)
    return {"dornkamp": dornkamp.total(facts.works, discount=False),
            "fennhagen": fennhagen.total(facts.works, optional=True, discount=False),
            "osterluettich": osterluettich.total([p for p in facts.works if p.number != FORGOTTEN])}


def summed_wrong(facts: Facts) -> dict[str, int]:
    """Cents as the summary tells them: one sum with two digits exchanged."""
    sums = facts.sums(facts.works)
    digits = str(sums["osterluettich"])
    return sums | {"osterluettich": int(digits[0] + digits[2] + digits[1] + digits[3:])}


def estimate(facts: Facts) -> str:
    net = 100 * facts.estimate
    return texts.ESTIMATE.format(quarter=QUARTERS[BASE], net=euros(net), tax=euros(net * 19 // 100),
                                 gross=euros(net * 119 // 100))


def euros(cents: int) -> str:
    """1.234,56"""
    return f"{grouped(cents // 100)},{cents % 100:02}"


def tenths(value: int) -> str:
    """137,4"""
    return f"{value // 10},{value % 10}"


def curve_report(facts: Facts) -> str:
    """What someone who sees the curve reports."""
    return texts.SEEN.format("; ".join(f"{quarter}: {tenths(value)}" for quarter, value
                                       in zip(QUARTERS, facts.index, strict=True)))


def curve(facts: Facts) -> bytes:
    """The curve as PNG: nine quarters, a value at each point."""
    sheet, plot = Sheet(1150, 680), Plot(110, 120, 1090, 580, 120, 145)
    sheet.text(575, 24, "Preisindex für Bauarbeiten an Nichtwohngebäuden", 32, bold=True, anchor="ma")
    sheet.text(575, 70, "vierteljährlich, 2021 = 100", 24, anchor="ma", ink=GREY)
    sheet.axes(plot, (120, 125, 130, 135, 140, 145))
    points_ = sheet.curve(_narrower(plot, 60), [value / 10 for value in facts.index])
    for (x, y), quarter, value in zip(points_, QUARTERS, facts.index, strict=True):
        sheet.frame(x - 6, y - 6, x + 6, y + 6, width=3, fill=255)
        sheet.text(x, y - 16, tenths(value), 26, bold=True, anchor="mb")
        sheet.text(x, plot.bottom + 14, quarter, 22, anchor="ma")
    sheet.text(575, 640, "Quartal", 22, anchor="ma", ink=GREY)
    return sheet.png()


def _narrower(plot: Plot, by: int) -> Plot:
    """The same plot, narrower by some pixels on the left and on the right."""
    return replace(plot, left=plot.left + by, right=plot.right - by)


def facade() -> bytes:
    """The southern side of the house as PNG."""
    sheet = Sheet(640, 400)
    sheet.text(320, 16, "Ansicht Süd", 26, bold=True, anchor="ma")
    sheet.polygon([(60, 160), (320, 60), (580, 160)], fill=PALE)
    sheet.frame(80, 160, 560, 360)
    for n in range(6):
        left = 100 + 150 * (n % 3)
        top = 180 + 90 * (n // 3)
        sheet.frame(left, top, left + 70, top + 60, width=2)
        sheet.rule(left + 35, top, left + 35, top + 60, width=1)
    sheet.frame(490, 250, 545, 360, width=3, fill=PALE)
    return sheet.png()


def spoken(call: Call) -> str:
    return texts.SPOKEN.format(day=texts.ORDINALS[call.until.day], month=MONTHS[call.until.month - 1],
                               year=in_words(call.until.year), sign=", ".join(in_words(int(d)) for d in str(call.sign)))


def rounds(facts: Facts) -> tuple[RoundDraft, ...]:
    """The six rounds, each with the slips that must not pass."""
    return tuple(make(facts) for make in (_works_told, _index, _offers, _withdrawal, _changed, _decision))


def _works_told(facts: Facts) -> RoundDraft:
    optional = sum(p.optional for p in facts.works)
    answer = {"normalpositionen": len(facts.works) - optional, "bedarfspositionen": optional,
              "schaetzung_euro": facts.estimate, "preisstand": QUARTERS[BASE], "angebotsoeffnung": OPENED.isoformat()}
    return RoundDraft("r1", texts.QUESTIONS["r1"], answer, (
        Wrong("optional positions counted as normal ones", {**answer, "normalpositionen": len(facts.works)}),
        Wrong("the works of 2021", {**answer, "normalpositionen": len(facts.works) - optional - 3},
              from_=OLD_SPECIFICATION),
        Wrong("the estimate with tax", {**answer, "schaetzung_euro": facts.estimate * 119 // 100}),
        Wrong("the day of the announcement", {**answer, "angebotsoeffnung": PUBLISHED.isoformat()})),
        covers=("C1", "C4", "C10"), tags=("text",))


def _index(facts: Facts) -> RoundDraft:
    def answer(read: tuple[int, int]) -> dict[str, Any]:
        return {"index_preisstand": read[0] / 10, "index_oeffnung": read[1] / 10,
                "fortgeschrieben_euro": updated(facts.estimate, read)}

    gross = answer(facts.read) | {"fortgeschrieben_euro": updated(facts.estimate * 119 // 100, facts.read)}
    return RoundDraft("r2", texts.QUESTIONS["r2"], answer(facts.read), (
        Wrong("the values that the summary reads", answer(facts.believed), from_=INDEX_SUMMARY),
        Wrong("the quarter before the opening", answer((facts.index[BASE], facts.index[OURS - 1]))),
        Wrong("the first point of the curve instead of the quarter of the estimate",
              answer((facts.index[0], facts.index[OURS]))),
        Wrong("the estimate with tax, from round 1", gross, built_on="r1")),
        covers=("C5", "C9", "C8:r1"), tags=("image",))


def _offers(facts: Facts) -> RoundDraft:
    def answer(sums: Mapping[str, int]) -> dict[str, Any]:
        return {name: {"summe_cent": sums[name], "wochen": facts.offers[name].weeks} for name in BIDDERS} \
            | {"niedrigste": min(sums, key=lambda name: sums[name])}

    sums = facts.sums(facts.works)
    return RoundDraft("r3", texts.QUESTIONS["r3"], answer(sums), (
        Wrong("the sums that the bidders tell", answer(claimed(facts))),
        Wrong("the sums of the summary", answer(summed_wrong(facts)), from_=SUMMARY),
        Wrong("optional positions counted", answer({n: o.total(facts.works, optional=True)
                                                    for n, o in facts.offers.items()})),
        Wrong("discounts with a condition taken", answer({n: o.total(facts.works, discount=True)
                                                          for n, o in facts.offers.items()}))),
        covers=("C6",), tags=("parallel",), overlap=2)


def _withdrawal(facts: Facts) -> RoundDraft:
    def answer(call: Call) -> dict[str, Any]:
        return {"bieter": call.bidder, "gilt_bis": call.until.isoformat(), "geschaeftszeichen": call.sign,
                "gilt_am_zuschlag": call.until >= AWARD}

    call = facts.call
    return RoundDraft("r4", texts.QUESTIONS["r4"], answer(call), (
        Wrong("the note that was taken by ear", answer(facts.noted), from_=NOTE),
        Wrong("the bidder of the note with the day of the call", answer(replace(call, bidder=facts.noted.bidder)),
              from_=NOTE),
        Wrong("digits of the sign in another order", answer(replace(call, sign=int(str(call.sign)[::-1])))),
        Wrong("the end of the longer period", answer(replace(call, until=LONGER)))),
        covers=("C5", "C9"), tags=("audio",))


def _changed(facts: Facts) -> RoundDraft:
    dropped = next(p.title for p in facts.works if p.number == DROPPED)
    answer = {**facts.sums(facts.changed), "entfallen": dropped, "aufgestellt_neu": AUTHORS["new"],
              "aufgestellt_bisher": AUTHORS["old"]}
    without = [p for p in facts.changed if p.number != ADDED]
    return RoundDraft("r5", texts.QUESTIONS["r5"], answer, (
        Wrong("the sums for the former works", {**answer, **facts.sums(facts.works)}, stale_of="u1", built_on="r3"),
        Wrong("the new position forgotten", {**answer, **facts.sums(without)}),
        Wrong("the author of the new version twice", {**answer, "aufgestellt_bisher": AUTHORS["new"]}),
        Wrong("the author of 2021", {**answer, "aufgestellt_bisher": AUTHORS["2021"]}, from_=OLD_SPECIFICATION)),
        covers=("C2", "C7:r1"), tags=("update", "session", "workflow"), update_ids=("u1",),
        only_in_session=(AUTHORS["old"], dropped))


def _decision(facts: Facts) -> RoundDraft:
    def found(works: Sequence[Position] = facts.changed, call: Call = facts.call,
              read: tuple[int, int] = facts.read) -> dict[str, Any]:
        return decided(awarded(facts, works, call, read))

    def wrong(why: str, answer: Mapping[str, Any], **links: str) -> Wrong:
        return Wrong(why, answer, {MEMO: filled(answer)}, **links)

    answer, cheapest = found(), decided(_cheapest(facts))
    return RoundDraft("r6", texts.QUESTIONS["r6"], answer, (
        wrong("the note of the call, from round 4", found(call=facts.noted), from_=NOTE, built_on="r4"),
        wrong("the index of the summary, from round 2", found(read=facts.believed), from_=INDEX_SUMMARY, built_on="r2"),
        wrong("the sums for the former works, from round 5", found(works=facts.works), stale_of="u1", built_on="r5"),
        wrong("the call not heeded", found(call=replace(facts.call, until=LONGER)), built_on="r4"),
        wrong("the lowest sum instead of the points", cheapest),
        Wrong("the form left blank", answer)),
        covers=("C3", "C8:r2", "C8:r4", "C8:r5"), tags=("chain", "edit"), files={MEMO: filled(answer)},
        before=Before(f"cat ${{workspace}}/{MEMO}", filled(answer)))


def _cheapest(facts: Facts) -> Award:
    right, sums = awarded(facts, facts.changed, facts.call, facts.read), facts.sums(facts.changed)
    left = {name: total for name, total in sums.items() if name not in right.out}
    winner = min(left, key=lambda name: left[name])
    return replace(right, winner=winner, total=left[winner], points=points(
        left, {name: offer.weeks for name, offer in facts.offers.items()})[winner])


def decided(award: Award) -> dict[str, Any]:
    """The answer of round 6."""
    return {"hoechstbetrag_euro": award.limit, "nicht_gewertet": ", ".join(award.out), "zuschlag": award.winner,
            "summe_cent": award.total, "punkte": award.points / 100}


def filled(answer: Mapping[str, Any]) -> str:
    """The form with the values of an answer."""
    text = texts.NOTICE
    for name, value in answer.items():
        text = text.replace(f"[{name}]", str(value))
    return text
