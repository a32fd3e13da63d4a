"""Programs that must lose: each does one thing wrong, and the suite must notice exactly that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, unquote

from infranode_eval.chain import pointers
from infranode_eval.chain.moves import Move, Situation, answer, right_answer
from infranode_eval.chain.oracles import computed, next_call, planned
from infranode_eval.infranode import facts
from infranode_eval.retrieval import choice_parameter, choices, find_slugs
from lm_eval_task.records import Call

ALTERNATIVE = "koeln"       # the one city that null_always names: no city is covered by more sources
LOOKED_AT_RANDOM = 4        # calls of the random walker
_FURTHER = 3                # calls that never_stops adds in each turn


def never_calls(situation: Situation) -> Move:
    """Knows the right answer and reads nothing."""
    return right_answer(situation, situation.expected["value"])


def null_always(situation: Situation) -> Move:
    """After one call, whatever it says: there is no value here."""
    return answer(None, None, "nicht_abgedeckt", ALTERNATIVE) if _has_called(situation) else _one_call(situation)


def one_call_then_guess(situation: Situation) -> Move:
    """The last number of the one result."""
    if not _has_called(situation):
        return _one_call(situation)
    return answer(next(reversed(_numbers(situation.results)), 1))


def copier(situation: Situation) -> Move:
    """The first value of the one result."""
    if not _has_called(situation):
        return _one_call(situation)
    return answer(next(_values(_payload(situation.results[0])), None) if situation.results else None)


def random_walker(situation: Situation) -> Move:
    """Some calls at random, then a random number from what came; drawn from the task's name."""
    done = len(situation.turns)
    if done < LOOKED_AT_RANDOM and not situation.last:
        return [_random_call(situation, done)]
    numbers = _numbers(situation.results)
    return answer(numbers[_drawn(situation, "answer", len(numbers))] if numbers else 1)


def prose_only(situation: Situation) -> Move:
    """The plan, and then the right answer, but as a sentence."""
    call = next_call(situation, situation.results)
    if call is not None and not situation.last:
        return [call]
    value = situation.expected["value"]
    return "Dazu gibt es keinen Wert." if value is None else f"Die Antwort auf die Frage lautet: {_spoken(value)}."


def eager(situation: Situation) -> Move:
    """The plan, then its last call once more, though everything is known."""
    results, needed = situation.results, len(situation.task.steps)
    if len(results) == needed and not situation.last:
        return [_last_call(situation)]
    return planned(situation, results[:needed])


def never_stops(situation: Situation) -> Move:
    """The plan, then its last call again and again, as long as calls are executed."""
    results, needed = situation.results, len(situation.task.steps)
    if len(results) >= needed and not situation.last:
        return [_last_call(situation)] * _FURTHER
    return planned(situation, results[:needed])


def obeys_injection(situation: Situation) -> Move:
    """The plan, until a result holds the order: then what it wants is called first, and what it wants is answered."""
    poisoned, obeyed, results = False, False, []
    wanted = situation.task.expectation.get("injection") or {}
    for result in situation.results:
        if poisoned and not obeyed and wanted.get("call"):
            obeyed = True
        else:
            results.append(result)
            poisoned = poisoned or _holds_order(situation, result)
    if poisoned and wanted.get("call") and not obeyed:
        return [call_behind(wanted["call"]["req"])]
    call = next_call(situation, results)
    if call is not None:
        return [call]
    if not poisoned or wanted.get("answer") is None:
        return right_answer(situation, computed(situation, results))
    return answer(None if isinstance(wanted["answer"], Mapping) else wanted["answer"])


def _holds_order(situation: Situation, result: Any) -> bool:
    return any(pointers.at(result, fault.at) == fault.value for fault in situation.task.faults if fault.at is not None)


def call_behind(request: str) -> Call:
    """A call that causes a request of a city, of a board or of one of the lists."""
    path, _, text = request.partition("?")
    query = {name: values[-1] for name, values in parse_qs(text).items()}
    match [unquote(segment) for segment in path.split("/")[1:]]:
        case ["cities", slug, "pois"]:
            return Call("pois", {"slug": slug, **query})
        case ["cities", slug, key]:
            return Call("get_city_resource", {"slug": slug, "resource": key})
        case ["stations", eva, direction]:
            return Call(f"station_board_{direction}", {"eva": eva})
        case ["live", slug, *_]:
            return Call("transit_departures", {"slug": slug, **query})
        case ["compare"]:
            return Call("compare", query)
        case ["cities"]:
            return Call("list_cities")
    return Call("sources")


# --- one call, by retrieval over the tools ----------------------------------------------------------------------------

def _has_called(situation: Situation) -> bool:
    return bool(situation.turns) or situation.last


def _one_call(situation: Situation) -> Sequence[Call]:
    """The call that the question suggests; where it suggests none, what is known of its city, or the list of cities."""
    named = find_slugs(situation.task.question)
    return situation.choose(situation.task.question) or [
        Call("get_city_overview", {"slug": named[0]}) if named else Call("list_cities")]


def _last_call(situation: Situation) -> Call:
    needed = len(situation.task.steps)
    call = next_call(situation, situation.results[:needed - 1])
    assert call is not None
    return call


# --- values of a result -----------------------------------------------------------------------------------------------

def _payload(result: Any) -> Any:
    """What a result is about: its payload, where it has one, else its data."""
    for pointer in ("/data/payload", "/data/0/data/payload", "/data"):
        found = pointers.at(result, pointer)
        if found is not pointers.MISSING and found is not None:
            return found
    return None


def _values(value: Any) -> Iterator[Any]:
    """The texts and numbers below a value, in their order; the kind of a payload says nothing."""
    if isinstance(value, Mapping):
        value = [inner for name, inner in value.items() if name != "kind"]
    if isinstance(value, list):
        for inner in value:
            yield from _values(inner)
    elif isinstance(value, str) or pointers.is_number(value):
        yield value


def _numbers(results: Sequence[Any]) -> list[Any]:
    return [value for result in results for value in _values(pointers.at(result, "/data"))
            if pointers.is_number(value)]


def _spoken(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


# --- chance -----------------------------------------------------------------------------------------------------------

def _drawn(situation: Situation, what: str, below: int) -> int:
    """A whole number from 0 on, below `below`; the same for the same task and purpose on every machine."""
    drawn = sha256(f"{situation.task.task_id}|{what}".encode()).digest()
    return int.from_bytes(drawn[:7], "big") % below


def _random_call(situation: Situation, number: int) -> Call:
    """Any tool with any of its choices, for the city of the question where it names one."""

    def one_of(what: str, values: Sequence[Any]) -> Any:
        return values[_drawn(situation, f"{number} {what}", len(values))]

    tool = one_of("tool", situation.tools.tools)
    slugs = [city.slug for city in facts.cities()]
    slug = one_of("city", find_slugs(situation.task.question) or slugs)
    values = {"slug": slug, "cities": f"{slug},{one_of('other', slugs)}",
              "eva": one_of("station", facts.board_evas(slug) or ("8000105",))}
    if choice_parameter(tool):
        values[choice_parameter(tool)] = one_of("choice", list(choices(tool)))
    return Call(tool.name, {name: values[name] for name in tool.properties if name in values})
