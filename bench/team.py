#!/usr/bin/env python3
"""Time the suite `team` against a stub endpoint: the scripted manager and workers of a scenario, behind HTTP.

usage: python3 bench/team.py [--repeats N] [--copies N] [--dry]

32 plays of recht_satzung, 16 at once, 200 ms latency, the stub in a process of its own. ideal: the critical path of a
play (replies of the manager, and of the longest run that it waits for) × two waves. CPU: of the command alone, and with
all the sandboxes and scripts that it starts. Writes the table into bench/README.md, --dry prints it only. With --serve
the file is the stub itself.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from endpoint import Connection, serve
from endpoint import Stub as Counts
from stage import ROOT, Stub, insert, table

sys.path.insert(0, str(ROOT))

LATENCY_S, SCENARIO, AT_ONCE = 0.2, "recht_satzung", 16
HEAD = ("plays", "requests a play", "ideal s", "sending s", "at most", "CPU ms/request, command", "at most",
        "with its children", "MB", "at most")
REPLIES: dict[str, bytes] = {}


class Player(Connection):
    """Answers as the programs of the suite do; equal requests of all plays are worked out once."""

    def request(self, line: bytes, body: bytes) -> None:
        self.asked = hashlib.sha256(body).hexdigest()
        if line.startswith(b"POST /v1") and self.asked not in REPLIES:
            REPLIES[self.asked] = reply(json.loads(body))
        super().request(line, body)

    def answer(self, content: str, fault: str | None) -> None:
        self.stub.in_flight -= 1
        self.stub.answered[content] += 1
        self.send(200, REPLIES[content])


def reply(body: Mapping[str, Any]) -> bytes:
    from infranode_eval.providers.protocol import Sampling

    answer = program(body["model"]).ask(list(map(with_media, body["messages"])), body.get("tools"), Sampling(1))
    usage = {"prompt_tokens": 3000, "completion_tokens": 30, "total_tokens": 3030}
    return json.dumps({"id": "stub", "object": "chat.completion", "model": body["model"], "usage": usage, "choices": [
        {"index": 0, "finish_reason": answer.finish_reason, "message": answer.message}]}).encode()


def program(model: str) -> Any:
    from infranode_eval.team.script_player import Manager
    from infranode_eval.team.scripted import Worker
    from infranode_eval.team.tasks import read_team_tasks

    task = read_team_tasks(None, [SCENARIO])[0]
    return (Manager(model) if model == "muster" else Worker(model)).for_task(task)


def with_media(message: dict[str, Any]) -> dict[str, Any]:
    """Attachments as the programs know them."""
    from infranode_eval.providers.media import Media

    if not isinstance(message["content"], list):
        return message
    parts, path = [], ""
    for part in message["content"]:
        if part["type"] == "text":
            path = next((word.rstrip(":") for word in part["text"].split() if word.startswith("/arbeit/")), path)
            parts.append(part)
            continue
        encoded = part["input_audio"]["data"] if part["type"] == "input_audio" else \
            part[part["type"]]["url"].partition(",")[2]
        data = base64.b64decode(encoded)
        mime = "audio/wav" if part["type"] == "input_audio" else "image/png"
        parts.append(Media(hashlib.sha256(data).hexdigest(), mime, path, data))
    return {**message, "content": parts}


def critical_path(transcript: Mapping[str, Any]) -> int:
    """How many replies follow one another in a play."""
    replies = {one["id"]: sum(m["role"] == "assistant" for m in one["messages"])
               for one in transcript["team"]["sessions"]}
    told: dict[str, int] = {}
    now = behind = 0
    started: list[str] = []
    for message in transcript["messages"]:
        if message["role"] == "assistant":
            now += 1
            started = [call["function"]["name"] for call in message.get("tool_calls") or ()]
            if "Workflow" in started:
                behind = now + max(count for name, count in replies.items() if name[0] == "w")
        elif message["role"] == "tool" and message["content"].startswith("session_id: "):
            session = message["content"].split()[1]
            runs = told.get(session, 0) + 1
            told[session] = runs
            if message is last_of_turn(transcript["messages"], message):
                now += 2
        elif message["role"] == "user" and "<task-notification" in str(message["content"]):
            now = max(now, behind)
    return now


def last_of_turn(messages: Sequence[Mapping[str, Any]], message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The last result of a run in the turn that a result belongs to; runs of one answer overlap."""
    place = next(i for i, one in enumerate(messages) if one is message)
    last = message
    for one in messages[place + 1:]:
        if one["role"] != "tool":
            break
        if one["content"].startswith("session_id: "):
            last = one
    return last


def command(url: str, out: Path, copies: int) -> list[str]:
    roles = {key: {"model_id": key, "api_base": url, "modalities": {"text": True, **media}}
             for key, media in (("llm", {}), ("vlm", {"image": 8}), ("omni", {"image": 8, "audio": 4}))}
    return [sys.executable, str(ROOT / "run_eval.py"), "--suite", "team", "--task", SCENARIO, "--base-url", url,
            "--model", "muster", "--model-json", json.dumps(roles), "--repeats", str(copies), "--out", str(out),
            "--force", "--concurrency", "64"]


def taken(command_line: Sequence[str], folder: Path) -> tuple[float, float, float]:
    """(CPU seconds of the command, with its children, highest MB of it)."""
    import subprocess

    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command_line, stdout=log, stderr=log)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit((folder / "log").read_text()[-2000:])
    return own, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measured(folder: Path, copies: int) -> Sequence[str]:
    with Stub("--serve", script="team.py") as stub:
        taken(command(stub.url, folder / "warm.json", 1), folder)
        stub.reset()
        own_s, all_s, mb = taken(command(stub.url, folder / "out.json", copies), folder)
        stats = stub.stats()
    rows = (folder / "warm.transcripts.jsonl").read_text("utf-8").splitlines()
    ideal_s = critical_path(json.loads(rows[0])) * LATENCY_S * -(-copies // AT_ONCE)
    requests = stats["requests"]
    return (str(copies), f"{requests / copies:.0f}", f"{ideal_s:.1f}", f"{stats['span_s'] + LATENCY_S:.2f}",
            f"{1.15 * ideal_s:.2f}", f"{1000 * own_s / requests:.2f}", "1.00", f"{1000 * all_s / requests:.2f}",
            f"{mb:.0f}", "150")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--copies", type=int, default=32)
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(Counts(LATENCY_S), 0, Player))
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = [measured(Path(folder), options.copies) for _ in range(options.repeats)]
    for row in rows:
        print(row, file=sys.stderr)
    text = table(HEAD, [sorted(rows, key=lambda row: float(row[3]))[len(rows) // 2]])
    print(text)
    if not options.dry:
        insert(text, "team.py")


if __name__ == "__main__":
    main()
