"""What a failed HTTP exchange means: from status, headers and error body to one of the project's errors."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from lm_eval_task.errors import (
    AuthError,
    ContextOverflowError,
    InfraError,
    ProviderError,
    RateLimitedError,
    RefusedRequestError,
)

_PASSING = frozenset((408, 409, 425))   # refused now, not for good
_OVERFLOW = re.compile(
    r"context[ _-]?(?:length|window|size)|maximum context|max_model_len|too many (?:input )?tokens|"
    r"(?:prompt|input) is too long|input token count|reduce the length|max_new_tokens`? must be", re.IGNORECASE)
_BAD_KEY = re.compile(r"\bAPI key (?:not valid|expired|not found)", re.IGNORECASE)   # Gemini says so with status 400
_STATUS_OF = {"authentication_error": 401, "invalid_api_key": 401, "permission_error": 403, "not_found_error": 404,
              "model_not_found": 404, "rate_limit_error": 429, "rate_limit_exceeded": 429, "overloaded_error": 529}
_SHOWN = 200


def failure_of(status: int, headers: Mapping[str, str], error: Any, shown: str | None = None) -> ProviderError:
    """The error that an HTTP status stands for.

    error: the decoded body, or its `error` object, or text. shown: how the message starts (default "HTTP <status>").
    """
    text = error_text(error)
    message = f"{shown or f'HTTP {status}'}: {text}" if text else shown or f"HTTP {status}"
    if status in (401, 403) or (status == 400 and _BAD_KEY.search(text)):
        return AuthError(f"{message}; check the API key and its rights", status=status)
    if status == 429:
        if "insufficient_quota" in _codes(error):
            return RefusedRequestError(message, status=status, sub="insufficient_quota")
        after = retry_after_s(headers.get("Retry-After"), time.time())
        return RateLimitedError(message, retry_after=retry_delay_s(error) if after is None else after)
    if status >= 500 or status in _PASSING:
        return InfraError(message, status=status)
    if status == 413 or _OVERFLOW.search(" ".join((text, *_codes(error)))):
        return ContextOverflowError(message, status=status)
    if 300 <= status < 400:
        return RefusedRequestError(f"{message} redirects to {headers.get('Location')}; give that as --base-url",
                                   status=status)
    unknown = status == 404 and "model_not_found" in _codes(error)
    return RefusedRequestError(message, status=status, sub="model_not_found" if unknown else None)


def failure_in_body(error: Any) -> ProviderError:
    """The failure that a response with status 200 reports in an `error` object."""
    code = error.get("code") if isinstance(error, dict) else None
    code = int(code) if isinstance(code, str) and code.isdecimal() and len(code) == 3 else code
    if not isinstance(code, int) or isinstance(code, bool):
        code = next((_STATUS_OF[name] for name in _codes(error) if name in _STATUS_OF), None)
    shown = "an error inside HTTP 200"
    if code is not None and 400 <= code < 600:
        return failure_of(code, {}, error, f"{shown} (code {code})")
    if _OVERFLOW.search(" ".join((error_text(error), *_codes(error)))):
        return failure_of(413, {}, error, shown)
    return failure_of(500, {}, error, shown)


def error_text(error: Any) -> str:
    """The readable part of an error body, on one line of at most 200 characters."""
    while isinstance(error, dict):
        error = next((error[k] for k in ("error", "message", "detail", "type") if error.get(k)), "")
    if isinstance(error, list):
        error = error_text(error[0]) if error else ""
    text = re.sub(r"\s+", " ", "".join(c if c.isprintable() else " " for c in str(error or ""))).strip()
    return text if len(text) <= _SHOWN else text[:_SHOWN - 1] + "…"


def _codes(error: Any) -> tuple[str, ...]:
    inner = error.get("error", error) if isinstance(error, dict) else None
    return tuple(str(inner.get(k)) for k in ("code", "type")) if isinstance(inner, dict) else ()


def retry_delay_s(error: Any) -> float | None:
    """Seconds that a Google error asks for in its details ("retryDelay": "34s"); None if it says nothing."""
    inner = error.get("error", error) if isinstance(error, dict) else None
    details = inner.get("details") if isinstance(inner, dict) else None
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and re.fullmatch(r"\d{1,9}(?:\.\d+)?s", delay):
            return float(delay[:-1])
    return None


def retry_after_s(value: str | None, now: float) -> float | None:
    """Seconds that a Retry-After header asks for (RFC 9110, 10.2.3: a number or a date); None if it says nothing.

    now: seconds since the epoch.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - now
        except (TypeError, ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
