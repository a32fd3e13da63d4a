"""Which HTTP proxy a request goes through, as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from lm_eval_task.errors import UsageError

VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy")


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy's address. authorization: the value of Proxy-Authorization; secrets: what must never be shown."""

    host: str
    port: int
    authorization: str | None = None
    secrets: tuple[str, ...] = ()

    @property
    def headers(self) -> dict[str, str]:
        return {"Proxy-Authorization": self.authorization} if self.authorization else {}


def proxy_for(scheme: str, host: str, port: int, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy for an endpoint; None: direct. Loopback is always direct: a proxy's loopback is another machine.

    Raise UsageError for a proxy that this program cannot use.
    """
    if _is_loopback(host) or _excluded(host, port, _value(environ, "NO_PROXY")):
        return None
    name = f"{scheme.upper()}_PROXY"
    url = _value(environ, name) or _value(environ, "ALL_PROXY")
    return _parsed(url, name) if url else None


def _value(environ: Mapping[str, str], name: str) -> str:
    return (environ.get(name) or environ.get(name.lower()) or "").strip()


def _parsed(url: str, name: str) -> Proxy:
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{name} is no URL ({error}); expected http://host:port") from None
    if parts.scheme != "http" or not parts.hostname:
        raise UsageError(f"{name} must look like http://host:port; other kinds of proxies are not supported")
    if parts.username is None:
        return Proxy(parts.hostname, port or 80)
    user, password = unquote(parts.username), unquote(parts.password or "")
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    return Proxy(parts.hostname, port or 80, f"Basic {token}", (password, token))


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _excluded(host: str, port: int, no_proxy: str) -> bool:
    """NO_PROXY: names with all their subdomains, addresses, networks (10.0.0.0/8), each with or without a port; or *"""
    host = host.lower().rstrip(".")
    for entry in no_proxy.lower().replace(" ", ",").split(","):
        if entry == "*":
            return True
        name, _, its_port = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
        if its_port and its_port != str(port):
            continue
        name = name.lstrip("*").lstrip(".").strip("[]")
        if name and (host == name or host.endswith(f".{name}") or _in_network(host, name)):
            return True
    return False


def _in_network(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
