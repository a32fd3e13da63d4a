"""Any responder as a real HTTP server on loopback: threads, keep-alive, GET and the refusal of everything else."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from infranode_eval.infranode.routes import PREFIX
from lm_eval_task.errors import UsageError

if TYPE_CHECKING:
    from infranode_eval.infranode.snapshot import Responder

HOST = "127.0.0.1"
_BODY_LIMIT = 1_000_000     # a longer request body closes the connection instead of being read


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "infranode-snapshot"
    wbufsize = -1                   # headers and body leave in one write
    disable_nagle_algorithm = True
    timeout = 60
    server: LoopbackServer

    def _answer(self) -> None:
        self._skip_body()
        found = self.server.responder.respond(self.command, self.path, dict(self.headers.items()))
        self.send_response(found.status)
        for name, value in found.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(found.body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _answer

    def _skip_body(self) -> None:
        """Read the request's body away, or the next request on this connection would start inside it."""
        text = self.headers.get("content-length", "0")
        if text.isdigit() and int(text) <= _BODY_LIMIT and "transfer-encoding" not in self.headers:
            self.rfile.read(int(text))
        else:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing for each request."""


class LoopbackServer(ThreadingHTTPServer):
    """Serves one responder on 127.0.0.1. Raises UsageError where the port cannot be had."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, responder: Responder, port: int = 0) -> None:
        self.responder = responder
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"port {port} on {HOST} cannot be used ({reason}); end the program that holds it "
                             "or choose another with --port, 0 picks a free one") from None

    @property
    def base_url(self) -> str:
        """Where clients point to, the API's prefix included."""
        return f"http://{HOST}:{self.server_address[1]}{PREFIX}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error of the server; anything else is shown."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


def serve(responder: Responder, port: int, announce: Callable[[str], Any]) -> None:
    """Announce the URL and serve until Ctrl-C or SIGTERM. Raise UsageError where the port cannot be had."""
    with LoopbackServer(responder, port) as server:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.default_int_handler)   # end as on Ctrl-C
        try:
            announce(server.base_url)
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            return
