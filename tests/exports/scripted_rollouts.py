"""Lets the `verifiers` library ask for scripted replies: python scripted_rollouts.py SCRIPT, a JSON list on stdout.

The replies come over HTTP from a server on loopback, so that the library's own client asks for them.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import verifiers as vf
from verifiers.types import ClientConfig


def question_of(messages: list[dict[str, Any]]) -> str:
    """The last line of the first user message; before it the tools stand in prompted mode."""
    return next(m["content"] for m in messages if m["role"] == "user").rpartition("\n")[2]


def endpoint(script: dict[str, list[dict[str, Any]]]) -> ThreadingHTTPServer:
    """Chat completions by question: the next reply at each request, 400 where there is none."""
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"]
            replies = script.get(question_of(asked), [])
            said = sum(message["role"] == "assistant" for message in asked)
            status, body = (200, completion(replies[said])) if said < len(replies) else (400, {"error": "over"})
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def completion(message: dict[str, Any]) -> dict[str, Any]:
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    return {"id": "x", "object": "chat.completion", "created": 0, "model": "script",
            "choices": [{"index": 0, "finish_reason": finish, "message": message}]}


async def main(path: Path) -> None:
    told = json.loads(path.read_text("utf-8"))
    environment = vf.load_environment("infranode-tools-de", **told["arguments"])
    server = endpoint(told["replies"])
    client = ClientConfig(api_base_url=f"http://127.0.0.1:{server.server_address[1]}/v1", max_retries=0)
    options = {"max_concurrent": 4, "state_columns": ["tool_defs", "trajectory"]}
    if told["evaluate"]:
        outputs = await environment.evaluate(client, "script", **options)
    else:
        inputs = [row for row in environment.get_dataset() if question_of(row["prompt"]) in told["replies"]]
        outputs = await environment.generate(inputs, client, "script", **options)
    rows = [{"question": question_of(out["prompt"]), "reward": out["reward"], "metrics": out["metrics"],
             "prompt": plain(out["prompt"]), "completion": plain(out["completion"]), "tools": len(out["tool_defs"]),
             "turns": len(out["trajectory"])} for out in sorted(outputs["outputs"], key=lambda o: o["example_id"])]
    print(json.dumps(rows))


def plain(messages: Any) -> list[dict[str, Any]]:
    found = [m.model_dump(exclude_none=True) if hasattr(m, "model_dump") else dict(m) for m in messages or ()]
    return [{"role": m["role"], "content": m.get("content")} for m in found]


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
