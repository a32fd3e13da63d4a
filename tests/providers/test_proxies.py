"""Which proxy, if any; and requests that really go through one: whole for http, through a tunnel for https."""

from __future__ import annotations

import base64
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from infranode_eval.providers import open_provider
from infranode_eval.providers.connections import Connections
from infranode_eval.providers.protocol import ProviderOptions, Sampling
from infranode_eval.providers.proxies import Proxy, proxy_for
from lm_eval_task.errors import InfraError, UsageError
from lm_eval_task.tools import read_tools
from tests.providers.test_connections import TlsEndpoint
from tests.stub_endpoint import StubEndpoint, StubProxy

P, Q = "http://p:3128", "http://q:8080"
CHOSEN = [
    ("https", "h", {"HTTPS_PROXY": P, "HTTP_PROXY": Q}, "p", "by scheme"),
    ("http", "h", {"HTTPS_PROXY": P, "HTTP_PROXY": Q}, "q", "by scheme"),
    ("https", "h", {"HTTP_PROXY": Q}, None, "http's is not for https"),
    ("https", "h", {"https_proxy": P}, "p", "small letters"),
    ("https", "h", {"ALL_PROXY": P}, "p", "for all"),
    ("https", "h", {"HTTPS_PROXY": "p:3128"}, "p", "without a scheme"),
    ("https", "h", {"HTTPS_PROXY": ""}, None, "empty"),
    ("https", "h", {}, None, "none"),
    ("https", "api.h.de", {"HTTPS_PROXY": P, "NO_PROXY": "h.de"}, None, "a subdomain"),
    ("https", "api.h.de", {"HTTPS_PROXY": P, "NO_PROXY": ".h.de"}, None, "with a dot"),
    ("https", "api.h.de", {"HTTPS_PROXY": P, "NO_PROXY": "*.h.de"}, None, "with a star"),
    ("https", "nh.de", {"HTTPS_PROXY": P, "NO_PROXY": "h.de"}, "p", "another name with the same end"),
    ("https", "h.de", {"HTTPS_PROXY": P, "no_proxy": "x, H.DE ,y"}, None, "a list with blanks"),
    ("https", "h.de", {"HTTPS_PROXY": P, "NO_PROXY": "*"}, None, "everything"),
    ("https", "h.de", {"HTTPS_PROXY": P, "NO_PROXY": "h.de:8443"}, "p", "another port"),
    ("https", "h.de", {"HTTPS_PROXY": P, "NO_PROXY": "h.de:443"}, None, "this port"),
    ("https", "10.1.2.3", {"HTTPS_PROXY": P, "NO_PROXY": "10.0.0.0/8"}, None, "a network"),
    ("https", "11.1.2.3", {"HTTPS_PROXY": P, "NO_PROXY": "10.0.0.0/8"}, "p", "outside of it"),
    ("http", "127.0.0.1", {"HTTP_PROXY": P}, None, "loopback is here"),
    ("http", "localhost", {"HTTP_PROXY": P}, None, "loopback by name"),
    ("http", "::1", {"HTTP_PROXY": P}, None, "loopback in IPv6"),
]


@pytest.mark.parametrize(("scheme", "host", "environ", "expected", "reason"), CHOSEN)
def test_which_proxy(scheme: str, host: str, environ: dict[str, str], expected: str | None, reason: str) -> None:
    chosen = proxy_for(scheme, host, 443 if scheme == "https" else 80, environ)
    assert (chosen.host if chosen else None) == expected, reason


@pytest.mark.parametrize("url", ["socks5://p:1", "https://p:1", "http://", "http://p:x"])
def test_a_proxy_that_cannot_be_used_is_named_and_never_quoted(url: str) -> None:
    with pytest.raises(UsageError, match="HTTPS_PROXY") as caught:
        proxy_for("https", "h", 443, {"HTTPS_PROXY": url.replace("p:", "u:geheim@p:")})
    assert "geheim" not in str(caught.value)


def test_user_and_password_are_decoded() -> None:
    proxy = proxy_for("http", "h", 80, {"HTTP_PROXY": "http://u%40x:ge%2Fheim@p:1"})
    assert base64.b64decode(proxy.authorization.removeprefix("Basic ")) == b"u@x:ge/heim"
    assert "ge/heim" in proxy.secrets


def test_http_requests_are_handed_over_whole() -> None:
    with StubEndpoint() as endpoint, StubProxy("127.0.0.1", urlsplit(endpoint.url).port) as proxy:
        provider = open_provider("openai", ProviderOptions(
            "m", read_tools(), "http://llm.example/v1", timeout_s=5,
            environ={"HTTP_PROXY": f"http://u:geheim@{proxy.address}"}))
        for _ in range(2):
            answer = provider.ask([{"role": "user", "content": "x"}], None, Sampling(9))
        provider.close()
    assert answer.message["content"] == "Hallo."
    request = endpoint.requests[0]
    assert request.line == "POST http://llm.example:80/v1/chat/completions HTTP/1.1"
    assert request.headers["host"] == "llm.example:80"
    assert "proxy-authorization" in request.headers and len(proxy.heads) == 1, "one connection for both"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("needs the openssl command to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    files = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=stub",
                    "-addext", "subjectAltName=DNS:llm.example", "-out", files[0], "-keyout", files[1]],
                   check=True, capture_output=True)
    return files


def through(proxy: StubProxy, timeout_s: float = 5, authorization: str | None = None) -> Connections:
    host, _, port = proxy.address.partition(":")
    return Connections("https", "llm.example", 443, timeout_s, Proxy(host, int(port), authorization))


def test_https_goes_through_a_tunnel_and_checks_the_endpoints_certificate(
        certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = TlsEndpoint(*certificate)
    with StubProxy("127.0.0.1", endpoint.port) as proxy:
        with pytest.raises(InfraError, match="certificate verify failed"):
            through(proxy).post("/x", b"ende", {})
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        connections = through(proxy, authorization="Basic abc")
        for _ in range(2):
            assert connections.post("/x", b"ende", {"X-Key": "geheim"}).body == b"{}"
    assert proxy.heads[1] == ("CONNECT llm.example:443 HTTP/1.1\r\nHost: llm.example:443\r\n"
                              "Proxy-Authorization: Basic abc")
    assert len(proxy.heads) == 2, "one tunnel for both requests"
    assert b"POST /x HTTP/1.1" in endpoint.received and b"Proxy-Authorization" not in endpoint.received


@pytest.mark.parametrize(("status", "shown"), [(407, "HTTP 407"), (502, "HTTP 502")])
def test_a_proxy_that_refuses_is_named(status: int, shown: str) -> None:
    with StubProxy("127.0.0.1", 9, status) as proxy, pytest.raises(InfraError, match=shown) as caught:
        through(proxy).post("/x", b"ende", {})
    assert caught.value.sub == "unreachable" and proxy.address in str(caught.value)


def test_a_proxy_that_never_answers_ends_at_the_deadline() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        connections = Connections("https", "llm.example", 443, 0.3, Proxy("127.0.0.1", silent.getsockname()[1]))
        with pytest.raises(InfraError) as caught:
            connections.post("/x", b"ende", {})
    assert caught.value.sub == "timeout"
