"""SQL of an intent: joins along the tree of foreign keys from the base table up to its parents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from infranode_eval.db_routing.intents import Filter, Intent, Item
from infranode_eval.db_routing.schema import KEY, Schema
from lm_eval_task.errors import DataError

Edge = tuple[str, str, str]     # table, its foreign-key column, the table it points to


def sql_of(intent: Intent, schema: Schema) -> str:
    """The one SELECT that answers the intent. Raise DataError if no path, or more than one, leads to a table."""
    parts = [f"SELECT {', '.join(map(_item, intent.select))}", from_clause(intent, schema), _where(intent.where)]
    if intent.group:
        parts.append(f"GROUP BY {', '.join(expression.sql for expression in intent.group)}")
    if intent.order:
        parts.append(f"ORDER BY {', '.join(f'{_item(item)} {direction}' for item, direction in intent.order)}")
    if intent.limit is not None:
        parts.append(f"LIMIT {intent.limit}")
    return " ".join(filter(None, parts))


def without_filter(intent: Intent, place: int) -> Intent:
    return replace(intent, where=intent.where[:place] + intent.where[place + 1:])


def order_key_sql(intent: Intent, schema: Schema) -> str:
    """The first order key of the rows 1 to limit + 1, for an intent with a limit."""
    assert intent.limit is not None
    return sql_of(replace(intent, select=(intent.order[0][0],), limit=intent.limit + 1), schema)


def selected_sql(intent: Intent, schema: Schema) -> str:
    """The ids of the base table's rows that the filters let through."""
    return f"SELECT {intent.base}.{KEY} {from_clause(intent, schema)} {_where(intent.where)}".rstrip()


def from_clause(intent: Intent, schema: Schema) -> str:
    joins = [f"JOIN {target} ON {table}.{column} = {target}.{KEY}" for table, column, target in joined(intent, schema)]
    return " ".join([f"FROM {intent.base}", *joins])


def joined(intent: Intent, schema: Schema) -> list[Edge]:
    """The edges to join by, from the base on upwards; a filter on a foreign key needs no join."""
    ways = _ways(intent.base, schema)
    edges: dict[Edge, None] = {}
    for table in sorted({name.partition(".")[0] for name in intent.columns()} - {intent.base}):
        edges |= dict.fromkeys(_way(ways.get(table, []), table, intent))
    taken = [edge[2] for edge in edges]
    if len(set(taken)) != len(taken):
        raise DataError(f"{intent.name}: its paths lead to one table twice; name one path")
    return list(edges)


def _ways(base: str, schema: Schema) -> Mapping[str, list[tuple[Edge, ...]]]:
    """Every path from the base to each table that can be reached, shortest first."""
    ways: dict[str, list[tuple[Edge, ...]]] = {base: [()]}
    front: list[tuple[str, tuple[Edge, ...]]] = [(base, ())]
    while front:
        table, way = front.pop(0)
        for column in schema.by_name[table].references():
            target = str(column.references)
            if target != base and target not in {edge[2] for edge in way}:
                longer = (*way, (table, column.name, target))
                ways.setdefault(target, []).append(longer)
                front.append((target, longer))
    return ways


def _way(ways: Sequence[tuple[Edge, ...]], table: str, intent: Intent) -> tuple[Edge, ...]:
    if not ways:
        raise DataError(f"{intent.name}: no foreign keys lead from {intent.base} to {table}")
    asked = set(intent.path)
    if asked:
        named = [way for way in ways if any(f"{edge[0]}.{edge[1]}" in asked for edge in way)]
        ways = named or ways
    shortest = [way for way in ways if len(way) == len(ways[0])]
    if len(shortest) > 1:
        different = [edge for way in shortest for edge in way if not all(edge in other for other in shortest)]
        choice = sorted({f"{table}.{column}" for table, column, _ in different})
        raise DataError(f'{intent.name}: {table} is reached by {" and ".join(choice)}; name one in "path"')
    return shortest[0]


def _item(item: Item) -> str:
    forms = {"count": "COUNT({})", "count_distinct": "COUNT(DISTINCT {})", "sum": "SUM({})", "avg": "AVG({})",
             "min": "MIN({})", "max": "MAX({})", "none": "{}"}
    sql = forms[item.aggregate].format(item.expression.sql if item.expression else "*")
    return sql if item.digits is None else f"ROUND({sql}, {item.digits})"


def _where(filters: Iterable[Filter]) -> str:
    conditions = [_condition(condition) for condition in filters]
    return f"WHERE {' AND '.join(conditions)}" if conditions else ""


def _condition(condition: Filter) -> str:
    left, operator, value = condition.expression.sql, condition.operator, condition.value
    if condition.other is not None:
        return f"{left} {operator} {condition.other.sql}"
    if operator == "is":
        return f"{left} IS {'NULL' if value is None else 'NOT NULL'}"
    if operator in ("month", "year"):
        return f"{left} LIKE {_literal(f'{value}%')}"
    if operator == "in":
        return f"{left} IN ({', '.join(map(_literal, value))})"
    if operator == "between":
        return f"{left} BETWEEN {_literal(value[0])} AND {_literal(value[1])}"
    return f"{left} {operator.upper()} {_literal(value)}"


def _literal(value: str | int | float) -> str:
    quoted = "'" + str(value).replace("'", "''") + "'"
    return quoted if isinstance(value, str) else repr(value)
