"""The arrows of the design: who may import whom, and who may import what is not in the standard library."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("lm_eval_task", "infranode_eval")
COMMANDS = ("generate", "selftest", "run_eval", "report", "measure")


class Import(NamedTuple):
    module: str
    late: bool   # inside a function: happens only when it is called; or for a type checker only


def module_files() -> dict[str, Path]:
    """Every module of the project by its dotted name; the root commands by their bare name."""
    files = [p for package in PACKAGES for p in sorted((ROOT / package).rglob("*.py"))]
    found = {".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p for p in files}
    return found | {name: ROOT / f"{name}.py" for name in COMMANDS if (ROOT / f"{name}.py").is_file()}


MODULES = module_files()


def imports_of(path: Path) -> Iterator[Import]:
    tree = ast.parse(path.read_text("utf-8"))
    late = {id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef) or _for_types(f)
            for n in ast.walk(f)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, id(node) in late)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            for alias in node.names:   # `from package import module` names a module, too
                whole = f"{node.module}.{alias.name}"
                yield Import(whole if whole in MODULES else str(node.module), id(node) in late)


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


IMPORTS = {name: tuple(imports_of(path)) for name, path in MODULES.items()}
OWN = {name: {i.module for i in imports if i.module in MODULES} for name, imports in IMPORTS.items()}


def within(name: str, *prefixes: str) -> bool:
    return any(name == p or name.startswith(p + ".") for p in prefixes)


def third_party(name: str) -> list[Import]:
    return [i for i in IMPORTS[name] if i.module.split(".")[0] not in (*sys.stdlib_module_names, *PACKAGES, *COMMANDS)]


# The scorer from the bottom up: a module imports only from those before it.
SCORER = ("errors", "records", "decode", "tools", "schema", "dataset", "cases", "prompt", "bench_prompt", "german",
          "shapes", "wording", "jsoncalls", "thoughts", "scan", "formats", "parse", "match", "datum", "metrics",
          "bench", "harness", "bench_harness", "hooks", "__main__")


@pytest.mark.parametrize("name", [n for n in MODULES if within(n, "lm_eval_task")])
def test_the_scorer_imports_from_lower_layers_only(name: str) -> None:
    own = {m for m in OWN[name] if m != "lm_eval_task"}
    assert not any(within(m, "infranode_eval", *COMMANDS) for m in own)
    if name == "lm_eval_task":
        assert not own, "the package itself imports nothing"
        return
    short = name.removeprefix("lm_eval_task.")
    assert short in SCORER, f"give {short} its place in SCORER"
    lower = {f"lm_eval_task.{m}" for m in SCORER[:SCORER.index(short)]}
    assert own <= lower, f"{short} reaches up to {sorted(own - lower)}"


def test_imports_make_no_circle() -> None:
    packages = {name for name in MODULES if any(n.startswith(name + ".") for n in MODULES)}
    graph = {n: {i.module for i in IMPORTS[n] if i.module in MODULES and i.module not in packages and not i.late}
             for n in MODULES if n not in packages}
    list(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("name", MODULES)
def test_nothing_imports_a_command(name: str) -> None:
    assert not OWN[name] & set(COMMANDS)


BACKENDS = tuple(f"infranode_eval.providers.{name}" for name in (
    "endpoint", "openai_chat", "responses", "anthropic", "gemini", "baselines"))
FORBIDDEN = [
    # (who, may not know, why)
    (("infranode_eval.statistics", "infranode_eval.tables"), ("infranode_eval.providers", "infranode_eval.runner",
     "infranode_eval.infranode"), "numbers and tables know nothing of providers"),
    (("infranode_eval.infranode",), ("infranode_eval.providers", "infranode_eval.runner", "infranode_eval.suites",
     "infranode_eval.generator"), "the API knows nothing of models"),
    (("infranode_eval.runner",), ("infranode_eval.suites.single", "infranode_eval.suites.bench", *BACKENDS,
     "lm_eval_task.metrics", "lm_eval_task.bench"),
     "the runner knows no suite and no vendor by name"),
    (("infranode_eval.suites",), ("infranode_eval.runner", *BACKENDS), "a suite talks to any provider"),
    (("infranode_eval.chain",), ("infranode_eval.runner", "infranode_eval.run", "infranode_eval.suites",
     "infranode_eval.generator", *BACKENDS[:-1]), "a play knows neither the run nor a vendor"),
    (("infranode_eval.db_routing",), ("infranode_eval.runner", "infranode_eval.run", "infranode_eval.suites",
     "infranode_eval.generator", *BACKENDS[:-1]), "a play of the routing suite knows neither the run nor a vendor"),
    (("infranode_eval.team.metrics", "infranode_eval.team.leaderboard"),
     ("infranode_eval.team", "infranode_eval.reports", "infranode_eval.providers"),
     "the numbers of a team know nothing of its plays"),
    (("infranode_eval.reports",), tuple(f"infranode_eval.team.{name}" for name in (
        "play", "staff", "sandbox", "workflow", "background", "toolbox", "pool", "managers", "golden")),
     "a report reads what a team did, and plays nothing"),
    (("infranode_eval.chain.inbox", "infranode_eval.chain.moves", "infranode_eval.chain.oracles",
      "infranode_eval.chain.weak", "infranode_eval.chain.variants"),
     ("infranode_eval.chain.answers", "infranode_eval.chain.scoring", "infranode_eval.chain.evidence",
      "infranode_eval.chain.known", "infranode_eval.chain.worlds", "lm_eval_task.match", "lm_eval_task.parse"),
     "what proves the scorer does not use it, and asks no world"),
    (("infranode_eval.providers",), ("infranode_eval.runner", "infranode_eval.suites", "lm_eval_task.metrics",
     "lm_eval_task.match", "lm_eval_task.parse"), "a provider answers, it does not judge"),
    (("infranode_eval.exports.rewards",), ("infranode_eval",), "what a verdict earns depends on the verdict only"),
    (("infranode_eval.mutations", "infranode_eval.equivalences", "infranode_eval.bench_variants"),
     ("lm_eval_task.match", "lm_eval_task.metrics", "lm_eval_task.parse", "lm_eval_task.german", "lm_eval_task.bench"),
     "what checks the scorer does not use it"),
    (("infranode_eval.results", "infranode_eval.run", "infranode_eval.destination"),
     ("infranode_eval.suites.single", "infranode_eval.suites.bench", "lm_eval_task.bench", "lm_eval_task.cases"),
     "a run knows no suite by name"),
]


@pytest.mark.parametrize(("who", "what", "why"), FORBIDDEN, ids=[f[2] for f in FORBIDDEN])
def test_arrow(who: tuple[str, ...], what: tuple[str, ...], why: str) -> None:
    subjects = [n for n in MODULES if within(n, *who)]
    assert subjects
    for name in subjects:
        assert not [m for m in OWN[name] if within(m, *what)], (name, why)


TEAM_COMMANDS = ("infranode_eval.team.__main__", "infranode_eval.team.packing", *(
    f"infranode_eval.team.{name}_command" for name in ("check", "resume", "stats", "compare", "pack")))


@pytest.mark.parametrize("name", [n for n in MODULES if within(n, "infranode_eval.team") and n not in TEAM_COMMANDS])
def test_a_play_of_a_team_knows_neither_the_run_nor_a_report_nor_a_vendor(name: str) -> None:
    """Its commands do: they stand in the package, and nothing in it imports one."""
    beyond = ("infranode_eval.runner", "infranode_eval.run", "infranode_eval.suites", "infranode_eval.generator",
              "infranode_eval.reports", "infranode_eval.console", *BACKENDS[:-1], *TEAM_COMMANDS)
    assert not [m for m in OWN[name] if within(m, *beyond)], name


def test_providers_of_endpoints_know_records_and_errors_only() -> None:
    """protocol names the toolset in its options; baselines are programs over the tools, not endpoints."""
    allowed = ("infranode_eval.providers", "lm_eval_task.records", "lm_eval_task.errors")
    for name in (n for n in MODULES if within(n, "infranode_eval.providers")):
        more = {"infranode_eval.providers.protocol": ("lm_eval_task.tools",),
                "infranode_eval.providers.baselines": ("lm_eval_task.tools", "lm_eval_task.prompt",
                                                       "infranode_eval.retrieval")}.get(name, ())
        assert not [m for m in OWN[name] if not within(m, *allowed, *more)], name


# Packages outside the standard library: who may import them, and whether only inside a function.
THIRD_PARTY = {
    "httpx": (("infranode_eval.infranode", "infranode_eval.chain.worlds", "generate"), "talks to InfraNode"),
    "jsonschema": (("infranode_eval.generator", "infranode_eval.reports.conformance", "generate"), "checks data files"),
    "datasets": (("lm_eval_task.harness", "lm_eval_task.bench_harness"), "lm-eval wants its documents in one"),
    "transformers": (("infranode_eval.tokens",), "counts tokens"),
    "tokenizers": (("infranode_eval.tokens",), "counts tokens"),
    "tiktoken": (("infranode_eval.tokens",), "counts tokens"),
    "gguf": (("infranode_eval.tokens",), "counts tokens"),
    "jinja2": (("infranode_eval.reports.page",), "lays out the page"),
    "markupsafe": (("infranode_eval.reports.page", "infranode_eval.reports.words"), "comes with jinja2 and escapes"),
    "matplotlib": (("infranode_eval.reports.plots",), "draws pictures"),
    "sklearn": (("infranode_eval.db_routing.hardness", "infranode_eval.db_routing.candidates"),
                "finds neighbours of questions and clusters of databases when a panel is built"),
    "sentence_transformers": (("infranode_eval.db_routing.embeddings",), "embeds questions and paragraphs"),
    "PIL": (("infranode_eval.generator.team.picture",), "draws the pictures of scenarios"),
    "inspect_ai": (("infranode_eval.data.exports", "infranode_eval.inspect_bridge", "infranode_eval.inspection",
                    "infranode_eval.reports.inspect_logs"), "runs tasks with its models, shows what was said"),
    "anyio": (("infranode_eval.inspect_bridge", "infranode_eval.inspection"), "comes with inspect_ai, runs threads"),
}


@pytest.mark.parametrize("name", MODULES)
def test_packages_are_imported_only_where_they_are_needed(name: str) -> None:
    for imported in third_party(name):
        package = imported.module.split(".")[0]
        assert package in THIRD_PARTY, f"{name} imports {package}"
        assert within(name, *THIRD_PARTY[package][0]), f"{name} imports {package}, which {THIRD_PARTY[package][1]}"
        if within(name, "lm_eval_task"):
            assert imported.late, f"{name} imports {package} on loading"


def reachable(start: str) -> set[str]:
    """Modules that are loaded, or may be loaded by name, when a command starts; late imports included."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        waiting += OWN[name]
        if name in ("infranode_eval.providers", "infranode_eval.suites"):   # their modules are imported by name
            waiting += [m for m in MODULES if m.startswith(name + ".")]
    return seen


# What a run needs packages for only where the user asks for it: counted tokens, the API over the network, the
# neighbours of questions that a user's own folder holds, and a router by sentence embeddings.
ON_DEMAND = ("infranode_eval.tokens", "infranode_eval.infranode", "infranode_eval.chain.worlds",
             "infranode_eval.db_routing.hardness", "infranode_eval.db_routing.embeddings")


@pytest.mark.parametrize("command", [c for c in ("run_eval", "selftest") if c in MODULES])
def test_a_run_needs_the_standard_library_only(command: str) -> None:
    path = reachable(command)
    assert "lm_eval_task.metrics" in path
    for name in path:
        needed = [i for i in third_party(name) if not (i.late and within(name, *ON_DEMAND))]
        assert not needed, f"{command} reaches {name}, which imports {needed[0].module}"


def test_every_module_opens_with_one_sentence() -> None:
    for name, path in MODULES.items():
        text = ast.get_docstring(ast.parse(path.read_text("utf-8")))
        if path.read_text("utf-8").strip():
            opening = (text or "").split("\n\n")[0].rstrip()
            assert opening.endswith((".", ":", "?")), f"{name} does not say what it is for"
