"""Errors of SQL for a model: rebuilt from their class and the name at fault, so that nothing else gets through.

SQLite's own texts may hold a path or a name that the model was not told. A name is repeated only if it stands in the
model's own SQL. Source: specification, db_routing, section 6 and requirement 8.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from infranode_eval.db_routing.rows import SqlError
from infranode_eval.db_routing.sqlguard import MOST_SQL_BYTES
from infranode_eval.db_routing.statement import first_word, statements

_LONGEST_NAME = 80
_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


class _Form(NamedTuple):
    pattern: str
    kind: str
    status: str
    message: str        # {} is the name, in quotes
    nameless: str       # where the name must not be repeated


_FORMS = (
    _Form(r"no such table: (.+)", "no_such_table", "error", "Die Tabelle {} gibt es nicht.",
          "Eine Tabelle der Abfrage gibt es nicht."),
    _Form(r'no such column: "?(.+?)"?(?: - should .*)?$', "no_such_column", "error", "Die Spalte {} gibt es nicht.",
          "Eine Spalte der Abfrage gibt es nicht."),
    _Form(r"ambiguous column name: (.+)", "ambiguous_column", "error", "Die Spalte {} ist nicht eindeutig.",
          "Eine Spalte ist nicht eindeutig."),
    _Form(r'near "(.+)": syntax error', "syntax", "error", "Syntaxfehler bei {}.", "Syntaxfehler."),
    _Form(r'unrecognized token: "(.+)"', "syntax", "error", "Syntaxfehler bei {}.", "Syntaxfehler."),
    _Form(r"syntax error|incomplete input", "syntax", "error", "", "Syntaxfehler: Die Abfrage ist unvollständig."),
    _Form(r"not authorized to use function: (.+)", "forbidden", "refused", "Die Funktion {} ist nicht erlaubt.",
          "Eine Funktion der Abfrage ist nicht erlaubt."),
    _Form(r"access to (?:temp\.)?(.+)\.[^.]* is prohibited", "forbidden", "refused",
          "Der Zugriff auf {} ist nicht erlaubt.", "Dieser Zugriff ist nicht erlaubt."),
    _Form(r"vtable constructor failed: (.+)", "forbidden", "refused", "Der Zugriff auf {} ist nicht erlaubt.",
          "Dieser Zugriff ist nicht erlaubt."),
    _Form(r"not authorized|authorization denied|prohibited", "forbidden", "refused", "", "Das ist hier nicht erlaubt."),
    _Form(r"no such function: (.+)", "no_such_function", "error", "Die Funktion {} gibt es nicht.",
          "Eine Funktion der Abfrage gibt es nicht."),
    _Form(r"wrong number of arguments to function (.+)\(\)", "arguments", "error",
          "Die Funktion {} hat die falsche Zahl von Argumenten.",
          "Eine Funktion hat die falsche Zahl von Argumenten."),
    _Form(r"misuse of (?:aliased )?(?:aggregate|window function):? (.+?)(?:\(\))?$", "misuse", "error",
          "{} steht an einer Stelle, an der es nicht stehen darf.",
          "Eine Funktion steht an einer Stelle, an der sie nicht stehen darf."),
    _Form(r"(.+)\(\) may not be used as a window function", "misuse", "error", "{} ist keine Fensterfunktion.",
          "Eine Funktion ist keine Fensterfunktion."),
    _Form(r"one statement at a time", "several_statements", "error", "", "Es ist nur eine Anweisung erlaubt."),
    _Form(r"do not have the same number of result columns", "columns", "error", "",
          "Die verbundenen SELECT haben verschieden viele Spalten."),
    _Form(r"sub-select returns|row value misused|has \d+ values for", "columns", "error", "",
          "Eine Unterabfrage oder Werteliste hat die falsche Zahl von Spalten."),
    _Form(r"HAVING clause on a non-aggregate|GROUP BY clause is required", "grouping", "error", "",
          "HAVING braucht GROUP BY oder eine Aggregatfunktion."),
    _Form(r"term out of range", "grouping", "error", "",
          "ORDER BY oder GROUP BY nennt eine Spalte, die es nicht gibt."),
    _Form(r"binding", "parameters", "error", "", "Die Abfrage enthält einen Platzhalter ohne Wert."),
    _Form(r"no such collation sequence: (.+)", "collation", "error", "Die Sortierfolge {} gibt es nicht.",
          "Eine Sortierfolge gibt es nicht."),
    _Form(r"circular reference: (.+)", "recursion", "error", "{} verweist auf sich selbst.",
          "Ein WITH verweist auf sich selbst."),
    _Form(r"integer overflow", "overflow", "error", "", "Eine ganze Zahl ist zu groß."),
    _Form(r"too big|too large|too long|too many|too complex|at most \d+|overflow", "too_complex", "error", "",
          "Die Abfrage oder einer ihrer Werte ist zu groß."),
    _Form(r"out of memory", "memory", "error", "", "Die Abfrage braucht zu viel Speicher."),
)
_BROKEN = re.compile(r"unable to open|not a database|disk image is malformed|disk I/O|is locked|file is encrypted")
_OTHER = "Die Abfrage ist fehlerhaft."
_NO_SQL = SqlError("no_sql", "Die Abfrage enthält kein SQL.", "no_sql")


def refusal(sql: object) -> SqlError | None:
    """Why a text is not worth a worker; None if it is one statement that asks. `sql` is what the model wrote."""
    if not isinstance(sql, str):
        return _NO_SQL
    try:
        size = len(sql.encode("utf-8"))
    except UnicodeEncodeError:
        return SqlError("encoding", "Die Abfrage enthält Zeichen, die es nicht gibt.", "refused")
    if size > MOST_SQL_BYTES:
        return SqlError("too_long", f"Die Abfrage ist länger als {MOST_SQL_BYTES} Bytes.", "refused")
    if "\0" in sql:
        return SqlError("encoding", "Die Abfrage enthält ein Nullzeichen.", "refused")
    found = statements(sql)
    if not found:
        return _NO_SQL
    if len(found) > 1:
        return SqlError("several_statements", "Es ist nur eine Anweisung erlaubt.", "error")
    if first_word(found[0]) not in ("select", "with", "values"):
        return SqlError("forbidden", "Erlaubt ist nur eine SELECT-Abfrage.", "refused")
    return None


def timeout(limit_s: float, ms: float) -> SqlError:
    return SqlError("timeout", f"Die Abfrage wurde nach {limit_s:g} Sekunden abgebrochen.", "timeout", ms)


def is_broken(message: str) -> bool:
    """Whether the database, not the query, is at fault."""
    return bool(_BROKEN.search(message))


def rebuilt(error: str, message: str, sql: str, hidden: Collection[str], ms: float = 0.0) -> SqlError:
    """The error of a worker, for a model.

    error: class of the exception. message: SQLite's text. hidden: names that must not be shown.
    """
    if error == "TooLargeError":
        return SqlError("too_large", "Das Ergebnis ist zu groß.", "too_large", ms)
    for form in _FORMS:
        found = re.search(form.pattern, message, re.DOTALL)
        if found:
            name = _name(found.group(1), sql, hidden) if form.message else None
            return SqlError(form.kind, form.message.format(f"'{name}'") if name else form.nameless, form.status, ms)
    return SqlError("other", _OTHER, "error", ms)


def _name(name: str, sql: str, hidden: Collection[str]) -> str | None:
    """A name that may be repeated: short, on one line, no path, out of the model's own SQL, not one that is hidden."""
    folded = folded_name(name)
    bad = (not 0 < len(name) <= _LONGEST_NAME or not name.isprintable() or re.search(r"[/\\].", name)
           or name.lower() not in sql.lower() or any(h in folded for h in hidden))
    return None if bad else name


def folded_name(name: str) -> str:
    """As names are compared where they must not be seen: case-insensitive, umlauts written out."""
    return name.casefold().translate(_LETTERS)
