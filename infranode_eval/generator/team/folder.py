"""The folder of a scenario: every file of it from a draft, and the comparison with one that lies there."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from infranode_eval.generator.team import picture, sound, verdict
from infranode_eval.generator.team.draft import Asset, Draft, RoundDraft, Wrong, source_of
from infranode_eval.generator.team.leak import Leak, leaks
from lm_eval_task.errors import DataError, UsageError

TOOLS = "golden/tools.json"         # what drew and spoke: the bytes of the assets depend on it
_VERSIONS = {"image": picture.versions, "audio": sound.versions}


def files(draft: Draft, taken: Mapping[str, bytes] | None = None) -> dict[str, bytes]:
    """Every file of the scenario's folder, path → bytes, sorted.

    taken: bytes of assets that are not made anew. Raise DataError if a text tells what only an asset may tell, and
    UsageError where a tool that makes an asset is missing.
    """
    made = {path: (taken or {}).get(path) or asset.make() for path, asset in draft.assets.items()}
    found = dict(_material(draft, made))
    told = told_by(draft, found)
    if told:
        raise DataError("; ".join(map(str, told)), draft.scenario_id)
    found["manifest.json"] = _json(_manifest(draft))
    found["rounds.json"] = _json([_round(r) for r in draft.rounds])
    found["checks/check.py"] = Path(verdict.__file__).read_bytes()
    found["checks/expected.json"] = _json({r.id: _expected(r) for r in draft.rounds})
    found |= dict(_golden(draft))
    found["golden/facts.json"] = _json({hashlib.sha256(made[path]).hexdigest(): {"modality": a.modality, "text": a.text}
                                        for path, a in draft.assets.items()})
    found["golden/runs.jsonl"] = "".join(json.dumps(event) + "\n" for event in _runs(draft)).encode()
    found["golden/lint.json"] = _json({r.id: {"only_in_session": list(r.only_in_session)}
                                       for r in draft.rounds if r.only_in_session})
    return dict(sorted(found.items()))


def told_by(draft: Draft, material: Mapping[str, bytes]) -> list[Leak]:
    """Where the files of workspace and updates, their names, the title or a question tell a secret of an asset."""
    said = {"manifest.json": draft.title} | {f"rounds.json, {r.id}": "\n".join((r.question, *r.feedback))
                                             for r in draft.rounds}
    return leaks({**material, **{where: text.encode() for where, text in said.items()}},
                 [secret for secrets in draft.secrets.values() for secret in secrets])


def tools(draft: Draft) -> bytes:
    """The file TOOLS: modality → versions of what made its assets. Raise UsageError where one is missing."""
    return _json({kind: _VERSIONS[kind]() for kind in sorted({a.modality for a in draft.assets.values()})})


def write(draft: Draft, folder: Path) -> int:
    """Write the scenario into `folder`; what lay there before is removed. Return its size in bytes."""
    found = files(draft) | {TOOLS: tools(draft)}
    if folder.exists():
        if not (folder / "manifest.json").is_file():
            raise UsageError(f"{folder.name} holds no scenario: nothing is removed")
        shutil.rmtree(folder)
    for path, content in found.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return sum(map(len, found.values()))


def differences(draft: Draft, folder: Path) -> tuple[list[str], list[str]]:
    """What lies in `folder` against a draft: faults, and assets that could not be compared (other tool versions).

    Texts are compared byte by byte. An asset is made anew only where the versions of its tools are those recorded;
    else the stored one is taken, and only what is told about it is compared.
    """
    stored = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*"))
              if path.is_file() and "__pycache__" not in path.parts}
    recorded = json.loads(stored.pop(TOOLS, b"{}"))
    unlike = {kind for kind in {a.modality for a in draft.assets.values()} if _versions(kind) != recorded.get(kind)}
    taken = {path: stored[path] for path, a in draft.assets.items() if a.modality in unlike and path in stored}
    made = files(draft, taken)
    faults = [f"{path}: is missing" for path in made if path not in stored]
    faults += [f"{path}: no draft writes it" for path in stored if path not in made]
    faults += [f"{path}: differs" for path in made if path in stored and stored[path] != made[path]]
    return faults, sorted(taken)


def _versions(kind: str) -> dict[str, str] | None:
    try:
        return _VERSIONS[kind]()
    except UsageError:
        return None


def _material(draft: Draft, made: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    for path, content in draft.workspace.items():
        yield f"workspace/{path}", _bytes(content, f"workspace/{path}", made)
    for name, changes in draft.updates.items():
        for change in changes:
            path = source_of(name, change)
            yield path, _bytes(change.content, path, made)


def _manifest(draft: Draft) -> dict[str, Any]:
    updates = {name: {"files": [{"op": c.op, "src": source_of(name, c), "dst": c.dst} for c in changes]}
               for name, changes in draft.updates.items()}
    return {"scenario_id": draft.scenario_id, "title": draft.title, "domain": draft.domain, "version": draft.version,
            "workspace_template": "workspace", "scripts": "checks", "rounds": "rounds.json", "needs": list(draft.needs),
            "accessible": list(draft.accessible), "delegable": list(draft.delegable), "decoys": list(draft.decoys),
            "updates": updates}


def answer_path(round_id: str) -> str:
    """Where a round's answer stands, relative to the workspace."""
    return f"ausgabe/{round_id}.json"


def _round(r: RoundDraft) -> dict[str, Any]:
    command = f"python3 -I ${{scripts}}/check.py {r.id} ${{workspace}}/{answer_path(r.id)} ${{scripts}}"
    command += " --runs ${runs}" if r.overlap else ""
    command += " --before ${before}" if r.before else ""
    correct, incorrect = r.feedback
    return {"id": r.id, "type": "exec_check", "question": r.question, "update_ids": list(r.update_ids),
            "covers": list(r.covers), "tags": list(r.tags),
            "eval": {"command": command, "expect_exit": 0, "stdout_contains": "OK", "timeout_s": 20,
                     "before": r.before.command if r.before else None},
            "feedback": {"correct": correct, "incorrect": incorrect}}


def _expected(r: RoundDraft) -> dict[str, Any]:
    return {"answer": r.answer, "accept": {path: list(values) for path, values in r.accept.items()},
            "overlap": r.overlap, "before": r.before.output if r.before else None}


def _golden(draft: Draft) -> Iterator[tuple[str, bytes]]:
    for r in draft.rounds:
        yield from _answer(f"golden/{r.id}", r.id, r.answer, r.files)
        for number, wrong in enumerate(r.wrongs, 1):
            folder = f"golden/{r.id}.wrong{number}"
            yield from _answer(folder, r.id, wrong.answer, wrong.files)
            yield f"{folder}/why.json", _json(_why(wrong))


def _answer(folder: str, round_id: str, answer: Mapping[str, Any], more: Mapping[str, str]) \
        -> Iterator[tuple[str, bytes]]:
    yield f"{folder}/{answer_path(round_id)}", _json(answer)
    for path, text in more.items():
        yield f"{folder}/{path}", text.encode()


def _runs(draft: Draft) -> Iterator[dict[str, str]]:
    """The least run log with which the checks of C6 pass, for who tries golden answers without a golden run."""
    for r in draft.rounds:
        for event in ("start", "end") if r.overlap else ():
            for number in range(1, r.overlap + 1):
                yield {"event": event, "run": f"w1.{number}", "subagent": f"lauf{number}", "session": f"w1.{number}",
                       "round": r.id}


def _why(wrong: Wrong) -> dict[str, Any]:
    return {"why": wrong.why, "from": wrong.from_, "stale_of": wrong.stale_of, "built_on": wrong.built_on}


def _bytes(content: str | Asset, path: str, made: Mapping[str, bytes]) -> bytes:
    return content.encode() if isinstance(content, str) else made[path]


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()
