"""What the README says is so: commands alike in both languages, numbers from files, every module named, links alive."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from infranode_eval.generator.robust import WRITTEN

ROOT = Path(__file__).resolve().parent.parent
READMES = {name: (ROOT / name).read_text("utf-8") for name in ("README.md", "README.de.md")}
META = json.loads((ROOT / "tasks.meta.json").read_text("utf-8"))
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def test_both_languages_show_the_same_commands():
    english, german = (BLOCK.findall(text) for text in READMES.values())
    assert english == german
    assert len(english) >= 5


@pytest.mark.parametrize("name", READMES)
def test_the_setup_is_two_commands_and_ci_runs_them(name):
    first, second = BLOCK.findall(READMES[name])[:2]
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    for block in (first, second):
        command, = block.splitlines()[1:-1]
        assert re.search(rf"^[^#\n]*{re.escape(command)}", script, re.MULTILINE), command


@pytest.mark.parametrize("name", READMES)
def test_counts_of_the_categories_are_those_of_the_data(name):
    rows = dict(re.findall(r"^\| (\w+) \| ((?:\d+|–) \| (?:\d+|–)) \|", READMES[name], re.MULTILINE))
    for category in META["counts"]["extended"]:
        if category != "all":
            core = META["counts"]["core"].get(category, "–")
            assert rows[category] == f"{core} | {META['counts']['extended'][category]}"
    assert len(rows) == len(META["counts"]["extended"]) - 1


@pytest.mark.parametrize("name", READMES)
def test_sizes_readings_and_leakage_are_those_of_the_data(name):
    text = READMES[name]
    counts, leakage = META["counts"], META["leakage"]
    assert counts["core"]["all"] == 91
    sizes = {which: counts[which]["all"] for which in ("extended", "robust", "abstain")}
    rewritten = sum(not task_id.startswith("robust-original") for task_id in META["tasks"]
                    if task_id.startswith("robust-"))
    for which, size in (*sizes.items(), ("in other wordings", rewritten)):
        shown = f"{size:,}"
        assert (shown if name == "README.md" else shown.replace(",", ".")) in text, which
    assert (META["review"]["agree"], META["review"]["by_several"]) == (91, 91)
    percent = {f"{100 * leakage[s]['resource_key'][how]:.1f}" for s in ("core", "extended")
               for how in ("labels", "descriptions")}
    german = {p.replace(".", ",") for p in percent}
    assert all(p in text for p in (percent if name == "README.md" else german))
    worst = f"{100 * max(row['key_name'] for part in leakage.values() for row in part.values()):.2f} %"
    assert (worst if name == "README.md" else worst.replace(".", ",")) in text


def test_the_example_task_is_a_row_of_the_file():
    block = next(b for b in BLOCK.findall(READMES["README.md"]) if '"task_id"' in b)
    task_id = re.search(r'"task_id": "([^"]+)"', block)[1]
    row = next(r for r in map(json.loads, (ROOT / "tasks.jsonl").read_text("utf-8").splitlines())
               if r["task_id"] == task_id)
    shown = json.loads(block.split("\n", 1)[1].rsplit("\n", 1)[0])
    assert row["canary"].startswith(shown.pop("canary").removesuffix(" …"))
    assert shown == {key: row[key] for key in row if key != "canary"}


@pytest.mark.parametrize("name", READMES)
def test_as_many_tasks_accept_further_answers_as_it_says(name):
    rows = [json.loads(line) for line in (ROOT / "tasks.jsonl").read_text("utf-8").splitlines()]
    count = sum(bool(row.get("accept")) for row in rows if row["set"] in ("core", "extended"))
    assert re.search(rf"^\| `accept` .*[;(] ?{count} (tasks|Aufgaben)", READMES[name], re.MULTILINE)


@pytest.mark.parametrize("name", READMES)
def test_the_towns_nobody_can_know_are_counted(name):
    """Readers called directly for all of them, so the README says that they count in no number."""
    outside = [task_id for task_id in META["tasks"] if task_id.startswith("abstain-city_outside")]
    assert re.search(rf"\b{len(outside)} (towns|Orten)\b", READMES[name])
    read = [bool(answer) for task_id in outside for review in META["tasks"][task_id].get("review", ())
            for answer in review["calls"][:1]]
    assert all(read) and len(read) >= 1.5 * len(outside)


@pytest.mark.parametrize("name", READMES)
def test_result_rows_are_those_of_the_report(name):
    listed = subprocess.run(["git", "ls-files", "results"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0 or not listed.stdout:
        pytest.skip("only in a git checkout is it known which results are the project's own")
    files = [name for name in listed.stdout.split() if name.endswith(".json")]
    done = subprocess.run([sys.executable, "report.py", "--format", "markdown", *files], cwd=ROOT, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    wanted = {row for section in re.split(r"^### ", done.stdout, flags=re.MULTILINE) if section.startswith("Results")
              for row in numbers_of(section)}
    block = re.search(r"<!-- results -->(.*)<!-- /results -->", READMES[name], re.DOTALL)[1]
    shown = numbers_of(block)
    if name == "README.de.md":
        shown = {tuple(cell.replace(",", ".") for cell in row) for row in shown}
    assert wanted and shown == wanted


def numbers_of(text):
    """(model, ability, call_match, n, failed) of each row of the Markdown table in `text`."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    places = [head.index(column) for column in ("model", "ability", "call_match", "n", "failed")]
    return {tuple(row[place] for place in places) for row in rows}


@pytest.mark.parametrize("name", READMES)
def test_every_module_is_named(name):
    text = READMES[name]
    for path in [*ROOT.glob("*.py"), *(ROOT / "lm_eval_task").glob("*.py"), *(ROOT / "infranode_eval").rglob("*.py")]:
        if path.name != "__init__.py":
            assert f"`{path.name}`" in text or f"`{path.stem}`" in text, path.relative_to(ROOT)


@pytest.mark.parametrize("name", [*READMES, "lm_eval_task/README.md"])
def test_links_lead_to_files(name):
    path = ROOT / name
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", path.read_text("utf-8")):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("name", READMES)
def test_what_was_read_is_counted(name):
    rows = [json.loads(line) for line in (ROOT / "tasks.jsonl").read_text("utf-8").splitlines()]
    read = {row["task_id"]: len(META["tasks"][row["task_id"]].get("review", ())) for row in rows}
    by_set = {which: [row for row in rows if row["set"] == which] for which in META["counts"]}
    extended = sum(bool(read[row["task_id"]]) for row in by_set["extended"])
    twice = sum(read[row["task_id"]] >= 2 for row in by_set["abstain"])
    assert f"{extended} " in READMES[name]
    assert re.search(rf"\b{twice} (of|von) {len(by_set['abstain'])} ", READMES[name])
    assert min(read[row["task_id"]] for row in by_set["core"]) == 2
    assert min(read[row["task_id"]] for row in by_set["abstain"]) >= 1
    assert all(read[row["task_id"]] for row in by_set["robust"] if row["variant"] in WRITTEN)
    worded = {row["phrasing"] for row in rows if row["set"] in ("core", "extended")}
    assert worded == {row["phrasing"] for row in rows if row["set"] in ("core", "extended") and read[row["task_id"]]}
    readers = {review["reader"] for note in META["tasks"].values() for review in note.get("review", ())}
    assert len(readers) == 11 and re.search("in eleven separate|in elf getrennten", READMES[name])
