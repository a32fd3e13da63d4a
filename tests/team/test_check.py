"""Every broken copy of the good scenario is refused with a message of its own; the good one is not."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infranode_eval.team.check import check_collection, check_scenario
from infranode_eval.team.finding import Findings
from infranode_eval.team.sandbox import open_sandbox
from infranode_eval.team.scenario import read_scenario
from lm_eval_task.errors import DataError
from tests.needs import need_program
from tests.team.bare_sandbox import BareSandbox
from tests.team.probe import GOLD, ROUNDS, write, write_collection, write_json, write_probe

Break = Callable[[Path], object]


def manifest(change: Callable[[dict[str, Any]], object]) -> Break:
    """A copy whose manifest was changed."""
    return lambda folder: edit(folder / "manifest.json", change)


def rounds(change: Callable[[list[Any]], object]) -> Break:
    return lambda folder: edit(folder / "rounds.json", change)


def edit(path: Path, change: Callable[[Any], object]) -> None:
    value = json.loads(path.read_text("utf-8"))
    change(value)
    write_json(path, value)


def without(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda value: value.pop(key)


def with_(**values: Any) -> Callable[[dict[str, Any]], object]:
    return lambda value: value.update(values)


def evaluated(**values: Any) -> Break:
    """A copy whose first round is decided otherwise."""
    return rounds(lambda rows: rows[0]["eval"].update(values))


def linked(name: str, target: str) -> Break:
    return lambda folder: os.symlink(target, folder / name)


def written(name: str, value: Any) -> Break:
    return lambda folder: write_json(folder / name, value)


def through_a_link(folder: Path) -> None:
    """The workspace lies outside of the scenario, and a link in it leads there."""
    (folder / "workspace").rename(folder.parent / "workspace")
    (folder / "b").symlink_to("..")
    edit(folder / "manifest.json", with_(workspace_template="b/workspace"))


M, R, G = "probe_klein/manifest.json", "probe_klein/rounds.json", "probe_klein/golden"
FORM: list[tuple[str, Break, str]] = [
    ("no manifest", lambda f: (f / "manifest.json").unlink(),
     f"{M}: cannot be read (No such file or directory), expected a JSON file"),
    ("manifest is no JSON", lambda f: write(f / "manifest.json", "{\n\"a\": }"),
     f"{M}: line 2: is not JSON (Expecting value), expected one JSON value"),
    ("manifest is not UTF-8", lambda f: (f / "manifest.json").write_bytes(b'{"a": "\xff"}'),
     f"{M}: is not UTF-8 (byte 7), expected a JSON file in UTF-8"),
    ("a key twice", lambda f: write(f / "manifest.json", '{"title": "a", "title": "b"}'),
     f'{M}: is not JSON (the key "title" stands twice in one object), expected one JSON value'),
    ("half a character", lambda f: write(f / "manifest.json", '{"title": "\\ud800"}'),
     f'{M}: found the text "\\ud800", expected text without NUL and half characters'),
    ("a FIFO as manifest", lambda f: ((f / "manifest.json").unlink(), os.mkfifo(f / "manifest.json")),
     f"{M}: is no regular file, expected a JSON file"),
    ("manifest is a list", written("manifest.json", []), f"{M}: found [], expected an object"),
    ("no rounds", lambda f: (f / "rounds.json").unlink(),
     f"{R}: cannot be read (No such file or directory), expected a JSON file"),
    ("an empty list of rounds", written("rounds.json", []), f"{R}: found [], expected a list of at least one round"),
    ("id is not the folder", manifest(with_(scenario_id="anders")),
     f'{M}: scenario_id: found "anders", expected "probe_klein", the name of the folder'),
    ("unknown key", manifest(with_(farbe="rot")),
     f"{M}: farbe: is an unknown key, expected one of scenario_id, title,"),
    ("unknown key of a round", rounds(lambda r: r[1].update(punkte=2)),
     f"{R}: [1].punkte: is an unknown key, expected one of id, type,"),
    ("unknown key of eval", evaluated(shell="sh"),
     f"{R}: [0].eval.shell: is an unknown key, expected one of command, expect_exit,"),
    ("unknown key of a file", manifest(lambda m: m["updates"]["u1"]["files"][0].update(mode=1)),
     f"{M}: updates.u1.files[0].mode: is an unknown key, expected one of op, src, dst"),
    ("required key missing", manifest(without("accessible")),
     f"{M}: accessible: is missing, expected a list with at least one entry"),
    ("required key of eval missing", rounds(lambda r: r[0]["eval"].pop("command")),
     f"{R}: [0].eval.command: is missing, expected a text that is not blank"),
    ("required key of feedback missing", rounds(lambda r: r[0]["feedback"].pop("correct")),
     f"{R}: [0].feedback.correct: is missing, expected a text that is not blank"),
    ("bool for a number", manifest(with_(version=True)),
     f"{M}: version: found true, expected a whole number from 1"),
    ("bool for an exit code", evaluated(expect_exit=False),
     f"{R}: [0].eval.expect_exit: found false, expected a whole number from 0 to 255"),
    ("a text for a list", manifest(with_(accessible="aufgaben")),
     f'{M}: accessible: found "aufgaben", expected a list with at least one entry'),
    ("unknown domain", manifest(with_(domain="sport")), f'{M}: domain: found "sport", expected one of law, medicine,'),
    ("unknown type", rounds(lambda r: r[0].update(type="judge")),
     f'{R}: [0].type: found "judge", expected one of exec_check'),
    ("accessible absolute", manifest(with_(accessible=["/aufgaben"])),
     f"{M}: accessible: found [\"/aufgaben\"], expected each entry to be a relative path, not an absolute one"),
    ("accessible with ..", manifest(with_(accessible=["aufgaben/../akten"])),
     f'{M}: accessible: found ["aufgaben/../akten"], expected each entry to be a path without ".."'),
    ("accessible is the root", manifest(with_(accessible=["."])),
     f'{M}: accessible: found ["."], expected each entry to be a plain path like akten/satzung.txt'),
    ("accessible twice", manifest(with_(accessible=["aufgaben", "aufgaben"])),
     f'{M}: accessible: found ["aufgaben", "aufgaben"], expected each entry once'),
    ("dst with ..", manifest(lambda m: m["updates"]["u1"]["files"][0].update(dst="akten/../../x")),
     f'{M}: updates.u1.files[0].dst: found "akten/../../x", expected a path without ".."'),
    ("src outside of updates", manifest(lambda m: m["updates"]["u1"]["files"][0].update(src="golden/facts.json")),
     f'{M}: updates.u1.files[0].src: found "golden/facts.json", expected a file below updates/'),
    ("the workspace holds the answers", manifest(with_(workspace_template="golden")),
     f'{M}: workspace_template: found "golden", expected a folder apart from golden, updates'),
    ("checks in the workspace", manifest(with_(scripts="workspace/akten")),
     f'{M}: scripts: found "workspace/akten", expected a folder apart from golden, updates, workspace'),
    ("delegable overlaps accessible", manifest(lambda m: m["delegable"].append("ausgabe/alt")),
     f'{M}: delegable[5]: found "ausgabe/alt", expected a path apart from "ausgabe" in accessible'),
    ("duplicate round id", rounds(lambda r: r[1].update(id="r1")),
     f'{R}: [1].id: found "r1", expected an id that no other round has'),
    ("unknown update", rounds(lambda r: r[0].update(update_ids=["u9"])),
     f'{R}: [0].update_ids: found "u9", expected an update of the manifest (u1)'),
    ("unused update", rounds(lambda r: r[1].update(update_ids=[])),
     f"{M}: updates.u1: is used by no round, expected exactly one"),
    ("update used twice", rounds(lambda r: r[0].update(update_ids=["u1"])),
     f'{R}: [1].update_ids: found "u1", expected an update that no other round uses (r1 does)'),
    ("update twice in a round", rounds(lambda r: r[1].update(update_ids=["u1", "u1"])),
     f'{R}: [1].update_ids: found ["u1", "u1"], expected each entry once'),
    ("update without a file", manifest(lambda m: m["updates"]["u1"].update(files=[])),
     f"{M}: updates.u1.files: found [], expected at least one file"),
    ("unknown operation", manifest(lambda m: m["updates"]["u1"]["files"][0].update(op="delete")),
     f'{M}: updates.u1.files[0].op: found "delete", expected one of new, replace'),
    ("unknown placeholder", rounds(lambda r: r[0].update(question="Was steht in ${ordner}?")),
     f'{R}: [0].question: found "${{ordner}}", expected a known placeholder: ${{workspace}}, ${{scripts}},'),
    ("unknown placeholder of a command", evaluated(command="cat ${HOME}/x"),
     f'{R}: [0].eval.command: found "${{HOME}}", expected a known placeholder'),
    ("before without before", evaluated(command="cat ${before}"),
     f'{R}: [0].eval.command: found "${{before}}", expected a placeholder that has a value here'),
    ("before wants the checks", evaluated(before="cat ${scripts}/soll.json"),
     f'{R}: [0].eval.before: found "${{scripts}}", expected a placeholder that has a value here: ${{workspace}},'),
    ("placeholder in quotes", evaluated(command='cat "${workspace}/x"'),
     f'{R}: [0].eval.command: found "${{workspace}}", expected a placeholder outside of quotes'),
    ("bad regex", evaluated(stdout_matches="("),
     f'{R}: [0].eval.stdout_matches: found "(", expected a regular expression that Python\'s re can read'),
    ("timeout 0", evaluated(timeout_s=0),
     f"{R}: [0].eval.timeout_s: found 0, expected a number of seconds above 0, at most 120"),
    ("timeout 121", evaluated(timeout_s=121), f"{R}: [0].eval.timeout_s: found 121, expected a number of seconds"),
    ("timeout true", evaluated(timeout_s=True), f"{R}: [0].eval.timeout_s: found true, expected a number of seconds"),
    ("unknown covers", rounds(lambda r: r[0].update(covers=["C11"])),
     f'{R}: [0].covers: found "C11", expected one of C1, C2,'),
    ("C7 of a later round", rounds(lambda r: r[0].update(covers=["C7:r2"])),
     f'{R}: [0].covers: found "C7:r2", expected C7:<round>, an earlier one (none is)'),
    ("C1 of a round", rounds(lambda r: r[1].update(covers=["C1:r1"])),
     f'{R}: [1].covers: found "C1:r1", expected C1 alone'),
]
FILES: list[tuple[str, Break, str]] = [
    ("a workspace by way of a link", through_a_link,
     f'{M}: workspace_template: found "b/workspace", expected a folder that is there, not by way of a link'),
    ("workspace missing", lambda f: shutil.rmtree(f / "workspace"),
     f'{M}: workspace_template: found "workspace", expected a folder that is there, not by way of a link'),
    ("checks missing", lambda f: shutil.rmtree(f / "checks"),
     f'{M}: scripts: found "checks", expected a folder that is there, not by way of a link'),
    ("accessible not there", manifest(with_(accessible=["aufgaben", "ablage"])),
     f'{M}: accessible[1]: found "ablage", expected a file or folder of the workspace'),
    ("delegable not there", manifest(lambda m: m["delegable"].append("keller")),
     f'{M}: delegable[5]: found "keller", expected a file or folder of the workspace'),
    ("main can read everything", lambda f: edit(f / "manifest.json", with_(
        accessible=sorted(p.name for p in (f / "workspace").iterdir()), delegable=[], decoys=["archiv"])),
     f"{M}: accessible: found [\"akten\", \"altes\", \"archiv\", \"aufgaben\", \"ausgabe\", \"entwurf\", \"notizen\", "
     '"register"], expected at least one file that main cannot read'),
    ("link to an absolute path", linked("workspace/akten/x", "/etc/passwd"),
     'probe_klein/workspace/akten/x: found "link to /etc/passwd", expected a link with a relative target'),
    ("link that leaves the workspace", linked("workspace/akten/x", "../../checks/soll.json"),
     'probe_klein/workspace/akten/x: found "link to ../../checks/soll.json", '
     "expected a link that stays in the workspace"),
    ("link among the checks", linked("checks/x", "check.py"),
     "probe_klein/checks/x: found a link, expected a regular file"),
    ("a grant that is a link", lambda f: (linked("workspace/zweitakten", "akten")(f), manifest(
        lambda m: m["delegable"].append("zweitakten"))(f)),
     f'{M}: delegable[5]: found "zweitakten", expected a path without a link in it'),
    ("FIFO in the workspace", lambda f: os.mkfifo(f / "workspace/akten/rohr"),
     "probe_klein/workspace/akten/rohr: found neither file nor folder, expected a regular file"),
    ("a file name of two lines", lambda f: write(f / "workspace/akten/a\nb", ""),
     'probe_klein/workspace: found "akten/a\\nb", expected a file name in UTF-8, on one line'),
    ("new on existing", manifest(lambda m: m["updates"]["u1"]["files"][0].update(op="new")),
     f'{M}: updates.u1.files[0].dst: found "akten/satzung.txt", expected a path that does not exist yet'),
    ("replace on missing", manifest(lambda m: m["updates"]["u1"]["files"][1].update(op="replace")),
     f'{M}: updates.u1.files[1].dst: found "aufgaben/hinweis.txt", expected a file to replace, but nothing is there'),
    ("replace on a folder", manifest(lambda m: m["updates"]["u1"]["files"][0].update(dst="akten")),
     f'{M}: updates.u1.files[0].dst: found "akten", expected a file to replace, but a folder is there'),
    ("new twice over all rounds", manifest(lambda m: m["updates"]["u1"]["files"].append(
        {"op": "new", "src": "updates/u1/hinweis.txt", "dst": "aufgaben/hinweis.txt"})),
     f'{M}: updates.u1.files[2].dst: found "aufgaben/hinweis.txt", expected a path that does not exist yet'),
    ("new below a file", manifest(lambda m: m["updates"]["u1"]["files"][1].update(dst="akten/satzung.txt/x")),
     f'{M}: updates.u1.files[1].dst: found "akten/satzung.txt/x", expected only folders above it, '
     'but "akten/satzung.txt" is a file'),
    ("src missing", lambda f: (f / "updates/u1/hinweis.txt").unlink(),
     f'{M}: updates.u1.files[1].src: found "updates/u1/hinweis.txt", expected a file that is there'),
    ("script in a command missing", evaluated(command="python3 -I ${scripts}/fehlt.py"),
     f'{R}: [0].eval.command: found "${{scripts}}/fehlt.py", expected a file of the scripts folder'),
    ("script beside the checks", evaluated(command="cat ${scripts}/../golden/facts.json"),
     f'{R}: [0].eval.command: found "${{scripts}}/../golden/facts.json", expected a file of the scripts folder'),
]
GOLDEN: list[tuple[str, Break, str]] = [
    ("golden missing", lambda f: shutil.rmtree(f / "golden"),
     f"{G}: is missing, expected a folder with an answer for each round"),
    ("golden of a round missing", lambda f: shutil.rmtree(f / "golden/r2"),
     f"{G}/r2: is missing, expected the files that pass the round"),
    ("golden of no round", written("golden/r9/ausgabe/r9.json", {}),
     f'{G}: found "r9", expected folders <round> and <round>.wrong<number>, or facts.json,'),
    ("a link as golden answer", linked("golden/r1/ausgabe/y", "r1.json"),
     f"{G}/r1/ausgabe/y: found no regular file, expected one"),
    ("an answer where nobody writes", written("golden/r1/frei/r1.json", {}),
     f'{G}/r1: found "frei/r1.json", expected a file within accessible or delegable'),
    ("facts.json hash of no file", written("golden/facts.json", {"0" * 64: {"modality": "image", "text": "x"}}),
     f'{G}/facts.json: found "{"0" * 64}", expected the sha256 of a file of workspace or updates'),
    ("a fact of a text", written("golden/facts.json", {"0" * 64: {"modality": "text", "text": "x"}}),
     f'{G}/facts.json: {"0" * 64}.modality: found "text", expected one of image, audio, video'),
    ("a hash that is none", written("golden/facts.json", {"abc": {"modality": "image", "text": "x"}}),
     f'{G}/facts.json: found "abc", expected a sha256 as 64 hex digits'),
    ("wrong without why", lambda f: (f / "golden/r1.wrong1/why.json").unlink(),
     f"{G}/r1.wrong1/why.json: cannot be read (No such file or directory), expected a JSON file"),
    ("wrong without an answer", lambda f: shutil.rmtree(f / "golden/r1.wrong1/ausgabe"),
     f"{G}/r1.wrong1: holds no answer, expected the files that must fail the round"),
    ("wrong from no decoy", written("golden/r1.wrong1/why.json", {"why": "x", "from": "akten/satzung.txt"}),
     f'{G}/r1.wrong1/why.json: from: found "akten/satzung.txt", expected a file below one of the decoys'),
    ("stale before the update", written("golden/r1.wrong1/why.json", {"why": "x", "stale_of": "u1"}),
     f'{G}/r1.wrong1/why.json: stale_of: found "u1", expected an update that is laid in by then'),
    ("built on itself", written("golden/r2.wrong2/why.json", {"why": "x", "built_on": "r2"}),
     f'{G}/r2.wrong2/why.json: built_on: found "r2", expected an earlier round (r1)'),
    ("lint of no round", written("golden/lint.json", {"r9": {"only_in_session": []}}),
     f"{G}/lint.json: r9: is an unknown key, expected one of r1, r2"),
    ("lint that holds no texts", written("golden/lint.json", {"r1": {"only_in_session": [1]}}),
     f"{G}/lint.json: r1.only_in_session: found [1], expected a text"),
    ("a play of no round", written("golden/play.json", [{"round": "r9", "answers": []}]),
     f'{G}/play.json: [0].round: found "r9", expected one of r1, r2'),
    ("a call without a name", written("golden/play.json", [
        {"round": "r1", "answers": [{"calls": [{"arguments": {}}]}]}]),
     f"{G}/play.json: [0].answers[0].calls[0].name: is missing, expected a text"),
    ("an event of no round", lambda f: write(f / "golden/runs.jsonl", '{"event": "start", "round": "r9"}\n'),
     f'{G}/runs.jsonl: line 1: found no event with the "round" of one of r1, r2'),
]
TRIED: list[tuple[str, Break, str]] = [
    ("golden fails", written("golden/r1/ausgabe/r1.json", {"frist_tage": 99}),
     f"{G}/r1: r1: found exit 1, falsch: frist_tage, expected the check to pass"),
    ("a wrong answer passes", written("golden/r2.wrong1/ausgabe/r2.json", GOLD["r2"]),
     f"{G}/r2.wrong1: r2: found exit 0, OK, expected the check to fail (die Fassung vor der Änderung)"),
    ("no answer passes", evaluated(command="echo OK"),
     f"{R}: r1: found exit 0, OK, expected the check to fail without an answer"),
    ("the check takes too long", evaluated(command="sleep 3", timeout_s=0.2),
     f"{G}/r1: r1: found timeout, expected the check to pass"),
    ("needs not in the sandbox", manifest(with_(needs=["python3", "gibtsnicht"])),
     f'{M}: needs: found "gibtsnicht", expected a program that the sandbox has'),
    ("a check that is no program", evaluated(command="echo two lines >&2; echo the last one >&2; exit 3"),
     f"{G}/r1: r1: found exit 3, the last one, expected the check to pass"),
    ("expects another text", evaluated(stdout_contains="FERTIG"),
     f"{G}/r1: r1: found exit 0, OK, expected the check to pass"),
]
BROKEN = [*FORM, *FILES, *GOLDEN, *TRIED]


def lines(folder: Path, **options: Any) -> list[str]:
    return [str(finding) for finding in check_scenario(folder, sandbox=BareSandbox(), **options).errors]


def test_the_good_scenario_has_no_finding(tmp_path: Path) -> None:
    found = check_scenario(write_probe(tmp_path), strict=True, sandbox=BareSandbox())
    assert (found.errors, found.warnings, found.exit_code) == ((), (), 0)


@pytest.mark.parametrize(("broken", "message"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_a_broken_copy_is_refused_with_its_own_message(tmp_path: Path, broken: Break, message: str) -> None:
    folder = write_probe(tmp_path)
    broken(folder)
    found = lines(folder)
    assert any(line.startswith(message) for line in found), found


def test_every_broken_copy_has_a_message_of_its_own() -> None:
    assert len({message for _, _, message in BROKEN}) == len(BROKEN) >= 25


@pytest.mark.parametrize(("broken", "message"), [row[1:] for row in (*FORM, *FILES)],
                         ids=[row[0] for row in (*FORM, *FILES)])
def test_what_is_broken_by_form_or_files_is_not_read_for_a_run(tmp_path: Path, broken: Break, message: str) -> None:
    folder = write_probe(tmp_path)
    broken(folder)
    with pytest.raises(DataError) as caught:
        read_scenario(folder)
    assert str(caught.value) in lines(folder)


def test_faults_are_collected(tmp_path: Path) -> None:
    folder = write_probe(tmp_path)
    manifest(with_(version=0, domain="sport"))(folder)
    evaluated(timeout_s=0)(folder)
    assert [line.split(": ")[1] for line in lines(folder)] == ["domain", "version", "[0].eval.timeout_s"]


ODD = (None, True, -1, 1.5, "", "x", "../x", "/", [], ["x"], [[]], [1], {}, {"x": {}}, "${x}", "\n")
JSON_FILES = ("manifest.json", "rounds.json", "golden/facts.json", "golden/r1.wrong1/why.json", "golden/lint.json",
              "golden/play.json")


def variants(value: Any) -> Iterator[Any]:
    """The value with an odd one in the place of each of its parts, one at a time, or without the part."""
    yield from ODD
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        rest = [item for place, item in enumerate(value) if place != key] if isinstance(value, list) else {
            name: item for name, item in value.items() if name != key}
        yield rest
        for inner in variants(value[key]):
            copy = value.copy()
            copy[key] = inner
            yield copy


@pytest.mark.parametrize("file", JSON_FILES)
def test_no_value_breaks_the_check_and_what_it_accepts_is_read(tmp_path: Path, file: str) -> None:
    folder = write_probe(tmp_path)
    picture = b"\x89PNG\r\n\x1a\n"
    (folder / "workspace/akten/a.png").write_bytes(picture)
    write_json(folder / "golden/facts.json", {hashlib.sha256(picture).hexdigest(): {"modality": "image", "text": "x"}})
    write_json(folder / "golden/lint.json", {"r1": {"only_in_session": ["x"]}})
    write_json(folder / "golden/play.json", [{"round": "r1", "answers": [{"calls": [{"name": "x", "arguments": {}}]}]}])
    accepted = refused = 0
    for value in list(variants(json.loads((folder / file).read_text("utf-8")))):
        write_json(folder / file, value)
        if check_scenario(folder).errors:
            refused += 1
        else:
            assert read_scenario(folder).scenario_id == "probe_klein"
            accepted += 1
    assert accepted and refused


WARNED: list[tuple[str, Break, str]] = [
    ("decoys missing", manifest(without("decoys")), f"{M}: decoys: is missing, expected a list"),
    ("covers missing", rounds(lambda r: r[0].pop("covers")), f"{R}: [0].covers: is missing, expected a list"),
    ("a decoy that nobody can be given", manifest(lambda m: m["delegable"].remove("altes")),
     f'{M}: decoys[1]: found "altes", expected a path within accessible or delegable'),
    ("a link to nothing", linked("workspace/akten/x", "nichts.txt"),
     'probe_klein/workspace/akten/x: found "link to nichts.txt", expected a link to something that is there'),
    ("no wrong answer", lambda f: [shutil.rmtree(f / f"golden/r1.wrong{n}") for n in (1, 2)],
     f"{G}/r1.wrong1: is missing, expected at least one answer that must fail"),
    ("a picture without a fact", lambda f: (f / "workspace/akten/a.png").write_bytes(b"\x89PNG\r\n\x1a\n"),
     "probe_klein/workspace/akten/a.png: has no entry in golden/facts.json, expected one for each picture and sound"),
]


@pytest.mark.parametrize(("broken", "message"), [row[1:] for row in WARNED], ids=[row[0] for row in WARNED])
def test_a_warning_counts_only_if_strict(tmp_path: Path, broken: Break, message: str) -> None:
    folder = write_probe(tmp_path)
    broken(folder)
    if "decoys: is missing" in message:
        edit(folder / "golden/r1.wrong1/why.json", with_(**{"from": None}))
    found = check_scenario(folder, sandbox=BareSandbox())
    assert (found.errors, [str(warning) for warning in found.warnings]) == ((), [message])
    assert (found.exit_code, Findings.of(found.warnings, strict=True).exit_code) == (0, 1)


def test_without_a_sandbox_it_says_that_nothing_was_tried(tmp_path: Path) -> None:
    found = check_scenario(write_probe(tmp_path), strict=True)
    assert [str(w) for w in found.warnings] == [
        f"{R}: no check was run, expected a sandbox to try the golden and the wrong answers in"]
    assert found.exit_code == 1


def test_a_collection_is_checked_scenario_by_scenario(tmp_path: Path) -> None:
    folder = write_collection(tmp_path)
    write_json(folder / "tests.json", {"scenarios": ["probe_klein", "fehlt"]})
    found = check_collection(folder, sandbox=BareSandbox())
    assert [finding.file for finding in found.errors] == ["fehlt/manifest.json"] and found.exit_code == 2


# --- what the checks are run on ---------------------------------------------------------------------------------------

def decided_by(script: str, **values: Any) -> Break:
    """A copy in which both rounds are decided by a shell command over the workspace."""
    def change(folder: Path) -> None:
        rows = json.loads(json.dumps(ROUNDS))
        for row in rows:
            row["eval"] = {"command": script.replace("ROUND", row["id"]), **values}
        write_json(folder / "rounds.json", rows)
        for path in (folder / "golden").glob("r?.wrong?"):
            shutil.rmtree(path)
    return change


SEQUENCE = [
    ("r1 sees no update", "test -e ${workspace}/ausgabe/ROUND.json && "
     "if [ ROUND = r1 ]; then ! test -e ${workspace}/aufgaben/hinweis.txt; "
     "else test -e ${workspace}/aufgaben/hinweis.txt; fi"),
    ("r2 stands on the answer of r1",
     "test -e ${workspace}/ausgabe/ROUND.json && test -e ${workspace}/ausgabe/r1.json"),
    ("the replaced file is the new one", "test -e ${workspace}/ausgabe/ROUND.json && "
     "if [ ROUND = r2 ]; then grep -q 30 ${workspace}/akten/satzung.txt; fi"),
    ("the checks lie beside", "test -e ${workspace}/ausgabe/ROUND.json && test -e ${scripts}/check.py"),
    ("no golden folder", "test -e ${workspace}/ausgabe/ROUND.json && ! ls ${workspace} ${scripts} | grep golden"),
    ("the scenario's name", "test -e ${workspace}/ausgabe/ROUND.json && test ${scenario_id} = probe_klein"),
]


@pytest.mark.parametrize("script", [row[1] for row in SEQUENCE], ids=[row[0] for row in SEQUENCE])
@pytest.mark.parametrize("kind", ["bwrap", "none"])
def test_a_check_finds_the_workspace_as_its_round_would(tmp_path: Path, script: str, kind: str) -> None:
    folder = write_probe(tmp_path)
    decided_by(script)(folder)
    assert check_scenario(folder, sandbox=BareSandbox(kind)).errors == ()


def test_a_folder_name_with_a_blank_works(tmp_path: Path) -> None:
    folder = write_probe(tmp_path / "mit Leerzeichen")
    assert check_scenario(folder, sandbox=BareSandbox("none")).errors == ()


def test_checks_are_given_the_run_log_of_the_golden_run(tmp_path: Path) -> None:
    folder = write_probe(tmp_path)
    decided_by("test -e ${workspace}/ausgabe/ROUND.json && grep -q ROUND ${runs}")(folder)
    assert len(lines(folder)) == 2, "without a log no round passes"
    assert lines(folder, runs_of=lambda round_id: f'{{"round": "{round_id}"}}\n') == []


def test_a_recorded_run_log_ends_with_the_round(tmp_path: Path) -> None:
    folder = write_probe(tmp_path)
    write(folder / "golden/runs.jsonl", '{"event": "start", "round": "r1"}\n{"event": "start", "round": "r2"}\n')
    decided_by("test -e ${workspace}/ausgabe/ROUND.json && grep -q r1 ${runs} && "
               "if [ ROUND = r1 ]; then ! grep -q r2 ${runs}; else grep -q r2 ${runs}; fi")(folder)
    assert lines(folder) == []


def test_before_runs_among_main_s_files_and_the_check_reads_its_output(tmp_path: Path) -> None:
    folder = write_probe(tmp_path)
    decided_by("grep -q frist ${before} && grep -q Ende ${before}",
               before="cat ${workspace}/ausgabe/r?.json; echo Ende >&2")(folder)
    sandbox = BareSandbox()
    assert [str(e) for e in check_scenario(folder, sandbox=sandbox).errors] == [
        f"{R}: r2: found exit 0, expected the check to fail without an answer"], "r1.json is still there in r2"
    before = next(m for c, m in zip(sandbox.commands, sandbox.mounts, strict=True) if "Ende" in c and "grep" not in c)
    assert [(mount.virtual, mount.writable) for mount in before] == [
        ("/arbeit/aufgaben", True), ("/arbeit/ausgabe", True), ("/arbeit/entwurf", True)]
    check = next(m for c, m in zip(sandbox.commands, sandbox.mounts, strict=True) if "grep" in c)
    assert [(mount.virtual, mount.writable) for mount in check] == [
        ("/arbeit", False), ("/pruefung", False), ("/lauf", False)]


def test_before_is_not_run_without_a_wall(tmp_path: Path) -> None:
    folder = write_probe(tmp_path)
    decided_by("grep -q frist ${before}", before="touch ${workspace}/ausgabe/spur; cat ${workspace}/ausgabe/r*")(folder)
    sandbox = BareSandbox("none")
    found = check_scenario(folder, sandbox=sandbox)
    assert not any("spur" in command for command in sandbox.commands)
    assert "was not tried, expected a sandbox" in str(found.warnings[-1]) and found.errors == ()


def test_a_check_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = write_probe(tmp_path / "daten")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert lines(folder) == []
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_the_good_scenario_passes_in_the_real_sandbox(tmp_path: Path) -> None:
    need_program("bubblewrap", shutil.which("bwrap"))
    found = check_scenario(write_probe(tmp_path), strict=True, sandbox=open_sandbox())
    assert (found.errors, found.warnings) == ((), ())
