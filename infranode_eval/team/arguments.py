"""The arguments of a tool call as the values that a tool works with; whatever else a model sent is a ToolError.

An optional parameter that is null counts as not given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infranode_eval.team.workspace import ToolError


def only(arguments: Any, *names: str) -> Mapping[str, Any]:
    """The arguments, if they are an object that holds no other parameter than these."""
    if not isinstance(arguments, Mapping):
        raise ToolError("die Argumente müssen ein JSON-Objekt sein")
    for name in arguments:
        if name not in names:
            raise ToolError(f"einen Parameter {shown(name)} gibt es nicht; es gibt: {', '.join(names) or 'keinen'}")
    return arguments


def text(arguments: Mapping[str, Any], name: str, default: str | None = None, empty: bool = False) -> str:
    """A text without NUL and half surrogate pairs. default None: required. empty: "" is welcome."""
    value = _given(arguments, name, default)
    if not isinstance(value, str):
        raise ToolError(f"{name} muss ein Text sein, nicht {shown(value)}")
    return _clean(name, value, empty)


def whole(arguments: Mapping[str, Any], name: str, default: int | None = None, low: int = 0,
          high: int = 10 ** 9) -> int:
    """A whole number from low to high; 5.0 is one, true is none. default None: required."""
    value = _given(arguments, name, default)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ToolError(f"{name} muss eine ganze Zahl sein, nicht {shown(value)}")
    if not low <= value <= high:
        raise ToolError(f"{name} muss eine Zahl von {low} bis {high} sein")
    return value


def flag(arguments: Mapping[str, Any], name: str, default: bool = False) -> bool:
    value = _given(arguments, name, default)
    if not isinstance(value, bool):
        raise ToolError(f"{name} muss true oder false sein, nicht {shown(value)}")
    return value


def choice(arguments: Mapping[str, Any], name: str, choices: Sequence[str], default: str | None = None) -> str:
    """One of the choices. default None: required."""
    value = _given(arguments, name, default)
    if not isinstance(value, str) or value not in choices:
        raise ToolError(f"{name} muss eines von {', '.join(choices)} sein, nicht {shown(value)}")
    return value


def texts(arguments: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A list of texts, none of them empty; the list may be. Required."""
    value = _given(arguments, name, None)
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise ToolError(f"{name} muss eine Liste von Texten sein, nicht {shown(value)}")
    return tuple(_clean(name, item, False) for item in value)


def given(arguments: Mapping[str, Any], name: str) -> bool:
    return arguments.get(name) is not None


def shown(value: Any) -> str:
    """A short form of any value that can stand in a message."""
    if isinstance(value, str):
        part = value[:60].encode("utf-8", "replace").decode("utf-8").replace("\0", "?")
        return f'"{part}…"' if len(value) > 60 else f'"{part}"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return repr(value) if isinstance(value, float) or abs(value) < 10 ** 15 else "eine sehr große Zahl"
    return "eine Liste" if isinstance(value, (list, tuple)) else "ein Objekt"


def _given(arguments: Mapping[str, Any], name: str, default: Any) -> Any:
    value = arguments.get(name)
    if value is not None:
        return value
    if default is None:
        raise ToolError(f"der Parameter {name} fehlt")
    return default


def _clean(name: str, value: str, empty: bool) -> str:
    if not value and not empty:
        raise ToolError(f"{name} darf nicht leer sein")
    if "\0" in value:
        raise ToolError(f"{name} enthält das Zeichen NUL")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ToolError(f"{name} enthält ein halbes Ersatzzeichenpaar und ist damit kein Text") from None
    return value
