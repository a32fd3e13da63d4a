"""Debian's chromium over its DevTools pipe, with the standard library only: what tests need to look at a page."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe")
PATIENCE = 60           # seconds for one answer; a machine without a free core is slow


def chromium_path() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page in a browser. events: what the browser told so far, oldest first."""

    def __init__(self, reader: int, writer: int) -> None:
        self._reader, self._writer, self._buffer, self._number = reader, writer, b"", 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to one command. Raise AssertionError if the browser refuses or stays silent."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(method)
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def _receive(self, waiting_for: str) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._reader], [], [], max(0.0, end - time.monotonic()))
            piece = os.read(self._reader, 1 << 20) if ready else b""
            assert piece, f"chromium said nothing to {waiting_for}"
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(line)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, path: Path, *, width: int = 1280, height: int = 900, dark: bool = False, language: str = "en",
             script: bool = True) -> None:
        """Load a file, as a reader with this screen, theme and language sees it, and wait until it has loaded."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.send("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.send("Emulation.setUserAgentOverride", userAgent="test", acceptLanguage=language)
        self.send("Emulation.setScriptExecutionDisabled", value=not script)
        self.events.clear()
        self.send("Page.navigate", url=path.resolve().as_uri())
        while not any(e["method"] == "Page.loadEventFired" for e in self.events):
            self._receive("Page.navigate")

    def value(self, expression: str) -> Any:
        """What a JavaScript expression gives in the page."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """One key, as from a keyboard."""
        codes = {"Tab": 9, "Enter": 13, " ": 32}
        text = {"Enter": "\r", " ": " "}.get(key)
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key if key != " " else "Space",
                      windowsVirtualKeyCode=codes[key], **({"text": text} if text and kind == "keyDown" else {}))

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        picture = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(picture["data"]))

    def requests(self) -> list[str]:
        """Every address that the page asked for since `open`, the page itself left out."""
        asked = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return asked[1:]

    def complaints(self) -> list[str]:
        """Console messages, exceptions and violations of the policy since `open`."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(e["params"]) for e in self.events if e["method"] in kinds]


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """A browser with a fresh profile in the folder; it ends with the block."""
    there_in, there_out, here_in, here_out = _pipes()
    command = " ".join([f"exec {chromium_path()}", *FLAGS, f"'--user-data-dir={profile}'", f"3<&{there_in}",
                        f"4>&{there_out}"])
    process = subprocess.Popen(["bash", "-c", command], pass_fds=(there_in, there_out), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(profile)})
    os.close(there_in)
    os.close(there_out)
    try:
        yield Browser(here_in, here_out)
    finally:
        os.close(here_out)          # chromium ends when its pipe does
        os.close(here_in)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _pipes() -> tuple[int, int, int, int]:
    """(theirs to read, theirs to write, ours to read, ours to write).

    Theirs lie far from 3 and 4, which bash sets; dash would take numbers of one digit only.
    """
    there_in, here_out = os.pipe()
    here_in, there_out = os.pipe()
    far = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (there_in, there_out)]
    os.close(there_in)
    os.close(there_out)
    return far[0], far[1], here_in, here_out
