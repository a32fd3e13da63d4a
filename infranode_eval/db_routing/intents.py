"""An intent: what a question asks of one database, in a small grammar, with its three phrasings.

Source of the rules: specification, db_routing_panel, section 4. SQL is generated from it (sqlgen), never typed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infranode_eval.db_routing.expressions import Expression, read_expression
from infranode_eval.db_routing.schema import Schema
from infranode_eval.db_routing.textfiles import read_lines
from lm_eval_task.errors import DataError

AGGREGATES = ("count", "count_distinct", "sum", "avg", "min", "max", "none")
OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "in", "between", "month", "year", "is", "like")
LEVELS = ("common", "paired", "own")
PHRASINGS = ("a", "b", "c")
MOST_ITEMS = 3
_KEYS = {"intent", "base", "select", "where", "group", "order", "limit", "level", "phrasings"}
_MAY = {"twin", "path"}


@dataclass(frozen=True, slots=True)
class Item:
    """One selected or ordering value. expression: None for a plain count of rows. digits: rounded to so many."""

    aggregate: str
    expression: Expression | None
    digits: int | None = None

    @classmethod
    def from_json(cls, value: Any) -> Item:
        if isinstance(value, str):
            return cls("none", read_expression(value))
        aggregate = value.get("agg") if isinstance(value, Mapping) else None
        if aggregate not in AGGREGATES or value.keys() - {"agg", "expr", "round"}:
            raise DataError(f'an item is "expression" or {{"agg": {"|".join(AGGREGATES)}, "expr": …}}, found {value!r}')
        if "expr" not in value and aggregate != "count":
            raise DataError(f'"{aggregate}" takes an "expr"')
        return cls(aggregate, read_expression(value["expr"]) if "expr" in value else None, value.get("round"))

    @property
    def columns(self) -> tuple[str, ...]:
        return self.expression.columns if self.expression else ()


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition: expression, operator and a literal, or another column (`other`)."""

    expression: Expression
    operator: str
    value: Any
    other: Expression | None = None

    @classmethod
    def from_json(cls, value: Any) -> Filter:
        if not isinstance(value, list) or len(value) != 3 or value[1] not in OPERATORS:
            raise DataError(f'a filter is [expression, {"|".join(OPERATORS)}, value], found {value!r}')
        left, operator, right = value
        if isinstance(right, Mapping):
            return cls(read_expression(left), operator, None, read_expression(right.get("expr", "")))
        _check_value(operator, right)
        return cls(read_expression(left), operator, right)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.expression.columns, *(self.other.columns if self.other else ()))

    @property
    def literals(self) -> tuple[str | int | float, ...]:
        """The literals that a question has to name; none of a comparison with nothing or with a column."""
        if self.operator == "is" or self.other is not None:
            return ()
        return tuple(self.value) if isinstance(self.value, list) else (self.value,)


def _check_value(operator: str, value: Any) -> None:
    plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    forms = {"in": isinstance(value, list) and len(value) > 1, "between": isinstance(value, list) and len(value) == 2,
             "is": value in (None, "not null"), "month": bool(re.fullmatch(r"\d{4}-\d\d", str(value))),
             "year": bool(re.fullmatch(r"\d{4}", str(value))), "like": isinstance(value, str)}
    if not forms.get(operator, plain):
        raise DataError(f'the operator "{operator}" does not take {value!r}')


@dataclass(frozen=True, slots=True)
class Intent:
    """order: (item, "ASC" | "DESC"). twin: the intent of a sister that asks alike. path: foreign keys to join by."""

    name: str
    database: str
    base: str
    select: tuple[Item, ...]
    where: tuple[Filter, ...]
    group: tuple[Expression, ...]
    order: tuple[tuple[Item, str], ...]
    limit: int | None
    level: str
    phrasings: Mapping[str, str]
    twin: str | None = None
    path: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, database: str, value: Any) -> Intent:
        """Raise DataError for what breaks the grammar, whatever the schema."""
        if not isinstance(value, Mapping) or not _KEYS <= value.keys() <= _KEYS | _MAY:
            keys = set(value) if isinstance(value, Mapping) else value
            raise DataError(f"an intent has the keys {', '.join(sorted(_KEYS))}, found {keys}")
        order = tuple((Item.from_json(item), direction.upper()) for item, direction in value["order"])
        intent = cls(value["intent"], database, value["base"], tuple(map(Item.from_json, value["select"])),
                     tuple(map(Filter.from_json, value["where"])), tuple(map(read_expression, value["group"])),
                     order, value["limit"], value["level"], value["phrasings"], value.get("twin"),
                     tuple(value.get("path", ())))
        for problem in _problems(intent):
            raise DataError(f"{intent.name}: {problem}")
        return intent

    def items(self) -> Iterator[Item]:
        """What is selected and what orders."""
        yield from self.select
        yield from (item for item, _ in self.order)

    def columns(self) -> tuple[str, ...]:
        """Every column that is selected, filtered, grouped or ordered by, each once."""
        parts = [*self.items(), *self.where, *self.group]
        return tuple(dict.fromkeys(column for part in parts for column in part.columns))

    def concepts(self, schema: Schema) -> list[str]:
        """Of all columns and of the base table, sorted; tables that only connect add nothing."""
        return sorted({schema.by_name[self.base].concept, *(schema.columns[name].concept for name in self.columns())})

    @property
    def aggregate(self) -> str:
        """The aggregate that is selected or decides the order; "none" for a list."""
        return next((item.aggregate for item in self.items() if item.aggregate != "none"), "none")

    @property
    def frame(self) -> tuple[str, bool, bool]:
        """What twins share: the aggregate, whether it is grouped, whether it is limited."""
        return self.aggregate, bool(self.group), self.limit is not None

    @property
    def is_ordered(self) -> bool:
        return bool(self.order)

    @property
    def shape(self) -> str:
        """Everything but the literals: two intents of one shape differ in nothing that matters."""
        parts = [self.base, [[i.aggregate, i.expression.text if i.expression else ""] for i in self.select],
                 [[f.expression.text, f.operator, f.other.text if f.other else ""] for f in self.where],
                 [e.text for e in self.group], [[i.aggregate, i.columns, d] for i, d in self.order],
                 self.limit is not None]
        return json.dumps(parts)


def _problems(intent: Intent) -> Iterator[str]:
    if not re.fullmatch(rf"{intent.database}-\d{{3}}", intent.name):
        yield f'an intent of {intent.database} is called "{intent.database}-NNN"'
    if not 1 <= len(intent.select) <= MOST_ITEMS or sum(i.aggregate != "none" for i in intent.select) > 1:
        yield f"selects one aggregate at most, and {MOST_ITEMS} items at most"
    grouped = {expression.text for expression in intent.group}
    plain = {i.expression.text for i in intent.select if i.aggregate == "none" and i.expression}
    aggregated = any(i.aggregate != "none" for i in intent.select)
    if plain - grouped and (grouped or aggregated):
        yield f"selects {min(plain - grouped)} beside a group or an aggregate, but does not group by it"
    if intent.limit is not None and not intent.order:
        yield "has a limit without an order"
    if len(intent.order) == 1 or any(direction not in ("ASC", "DESC") for _, direction in intent.order):
        yield 'orders by two keys at least, each with "asc" or "desc"'
    if intent.level not in LEVELS:
        yield f'has the level {intent.level!r}; known: {", ".join(LEVELS)}'
    if set(intent.phrasings) != set(PHRASINGS) or not all(t and t == t.strip() for t in intent.phrasings.values()):
        yield "has the phrasings a, b and c, without blanks around them"


def read_intents(path: Path, schema: Schema) -> tuple[Intent, ...]:
    """The intents of one database in the order of their ids. Raise DataError with the line."""
    found: dict[str, Intent] = {}
    for number, value in read_lines(path):
        try:
            intent = Intent.from_json(schema.database, value)
        except (DataError, AttributeError, TypeError, ValueError) as error:
            raise DataError(str(error), path, number) from None
        for name in (f"{intent.base}.id", *intent.columns()):
            if name not in schema.columns:
                raise DataError(f"{intent.name}: there is no {name}", path, number)
        if intent.name in found:
            raise DataError(f"{intent.name} comes twice", path, number)
        found[intent.name] = intent
    return tuple(found[name] for name in sorted(found))
