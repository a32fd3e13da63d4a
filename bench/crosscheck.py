#!/usr/bin/env python3
"""Whether this project's reader and the tool-call parsers of two serving frameworks read the same calls.

usage: python3 bench/crosscheck.py [--random N] [--family PREFIX] [--examples N]

A development check, not a test: bench/README.md says what to install and why the readers differ where they do. Every
family of tests/test_formats.py that a framework has a parser for is written out and read by both. The frameworks are
imported without their servers: only their parser modules run, what those merely mention is replaced by empty modules.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import random
import signal
import string
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import metadata, util
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from lm_eval_task.parse import calls_from_message  # noqa: E402
from lm_eval_task.records import Call  # noqa: E402
from lm_eval_task.tools import Tool, Toolset  # noqa: E402

INSTALL = ("sglang", "vllm", "pydantic", "openai", "orjson", "msgspec", "regex", "partial-json-parser", "pytest",
           "numpy")
SECONDS = 0.25   # for one reply read by a parser of theirs; some of their patterns backtrack without end
Calls = list[tuple[str, Any]]
Parser = Callable[[str], Calls]

# family of tests/test_formats.py -> (framework, its name of the parser)
PARSERS: tuple[tuple[str, str, str], ...] = (
    ("1-hermes", "sglang", "qwen25"),
    ("1-hermes", "sglang", "hermes"),
    ("2-qwen3-coder", "sglang", "qwen3_coder"),
    ("2-two-in-one-block", "sglang", "qwen3_coder"),
    ("3-llama-json", "sglang", "llama3"),
    ("5-pythonic", "sglang", "pythonic"),
    ("5-llama4", "sglang", "pythonic"),
    ("5-llama4", "vllm", "llama4_pythonic.Llama4PythonicToolParser"),
    ("5b-olmo", "vllm", "olmo3.Olmo3PythonicToolParser"),
    ("6-lfm2", "sglang", "lfm2"),
    ("6-lfm2-json", "sglang", "lfm2"),
    ("7-mistral-list", "sglang", "mistral"),
    ("8-mistral-args", "sglang", "mistral"),
    ("8-mistral-id", "sglang", "mistral"),
    ("9-deepseek-v3", "sglang", "deepseekv3"),
    ("10-deepseek-v31", "sglang", "deepseekv31"),
    ("11-dsml", "sglang", "deepseekv32"),
    ("11-dsml-v4", "sglang", "deepseekv4"),
    ("11-dsml-v41", "sglang", "deepseekv41"),
    ("11-dsml-v41-spaced", "sglang", "deepseekv41"),
    ("12-glm45", "sglang", "glm45"),
    ("13-glm47", "sglang", "glm47"),
    ("14-hunyuan", "sglang", "hunyuan"),
    ("14-hunyuan", "vllm", "hy_v3.HYV3ToolParser"),
    ("15-kimi-k2", "sglang", "kimi_k2"),
    ("16-kimi-k3", "sglang", "kimi_k3"),
    ("17-minimax-m2", "sglang", "minimax-m2"),
    ("18-minimax-m3", "sglang", "minimax-m3"),
    ("19-harmony-after", "sglang", "gpt-oss"),
    ("19-harmony-before", "sglang", "gpt-oss"),
    ("21-functiongemma", "vllm", "functiongemma.FunctionGemmaToolParser"),
    ("22-gemma4", "sglang", "gemma4"),
    ("23-phi4", "vllm", "phi4mini.Phi4MiniJsonToolParser"),
    ("25-cohere", "sglang", "cohere_command4"),
    ("26-apertus", "sglang", "apertus2509"),
    ("27-internlm", "sglang", "interns1"),
    ("28-step3", "sglang", "step3"),
    ("29-longcat", "vllm", "longcat.LongcatFlashToolParser"),
)


# --- the frameworks, without their servers ----------------------------------------------------------------------------

class Blank:
    """Stands for a class that a parser module imports: keeps what it is given."""

    def __init__(self, *args: Any, **values: Any) -> None:
        self.__dict__.update(values)

    def __class_getitem__(cls, item: Any) -> type[Blank]:
        return cls

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


class Stub(types.ModuleType):
    """An empty module that has every name: classes are Blank, functions do nothing."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = type(name, (Blank,), {}) if name[0].isupper() else lambda *args, **values: None
        setattr(self, name, value)
        return value


def package_folder(name: str) -> Path:
    spec = util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"No module named {name!r}")
    return Path(spec.submodule_search_locations[0])


def bare_package(name: str, folder: Path) -> None:
    """Let the submodules of a package be imported without running its own __init__."""
    module = types.ModuleType(name)
    module.__path__ = [str(folder)]
    sys.modules[name] = module


def stub(*names: str) -> None:
    for name in names:
        if name not in sys.modules:
            sys.modules[name] = Stub(name)


def open_sglang(tools: Toolset) -> Callable[[str], Parser]:
    folder = package_folder("sglang")
    bare_package("sglang", folder)
    bare_package("sglang.srt", folder / "srt")
    stub("sglang.utils", "xgrammar", "xgrammar.structural_tag")
    sys.modules["xgrammar"].StructuralTag = Any     # pydantic asks for it in a field
    protocol = importlib.import_module("sglang.srt.entrypoints.openai.protocol")
    parsers = importlib.import_module("sglang.srt.function_call.function_call_parser")
    offered = [protocol.Tool(**tool) for tool in tools.to_json()]

    def parser(name: str) -> Parser:
        def read(text: str) -> Calls:
            found = parsers.FunctionCallParser(offered, name).parse_non_stream(text)[1]
            return [(call.name, json.loads(call.parameters)) for call in found]
        return read
    return parser


VLLM_STUBS = (
    "vllm.envs", "vllm.exceptions", "vllm.logger", "vllm.renderers", "vllm.renderers.chat_utils",
    "vllm.sampling_params", "vllm.tokenizers", "vllm.utils.import_utils", "vllm.entrypoints.generate",
    "vllm.entrypoints.generate.base",
    "vllm.entrypoints.generate.base.protocol", "vllm.entrypoints.openai.chat_completion",
    "vllm.entrypoints.openai.chat_completion.protocol", "vllm.entrypoints.openai.responses",
    "vllm.entrypoints.openai.responses.protocol", "transformers", "xgrammar", "xgrammar.structural_tag", "torch",
    "torch.nn", "vllm.utils.torch_utils", "vllm.utils.mistral")


def open_vllm(tools: Toolset) -> Callable[[str], Parser]:
    folder = package_folder("vllm")
    for name in ("vllm", "vllm.entrypoints", "vllm.entrypoints.openai", "vllm.utils", "vllm.tool_parsers"):
        bare_package(name, folder.joinpath(*name.split(".")[1:]))
    stub(*VLLM_STUBS)
    sys.modules["vllm.envs"].VLLM_TOOL_PARSE_REGEX_TIMEOUT_SECONDS = SECONDS
    sys.modules["vllm.logger"].init_logger = logging.getLogger
    sys.modules["vllm.exceptions"].VLLMValidationError = type("VLLMValidationError", (Exception,), {})
    abstract = importlib.import_module("vllm.tool_parsers.abstract_tool_parser")
    sys.modules["vllm.tool_parsers"].ToolParser = abstract.ToolParser
    chat = sys.modules["vllm.entrypoints.openai.chat_completion.protocol"]
    offered = [chat.ChatCompletionToolsParam(type="function", function=Blank(**tool["function"]))
               for tool in tools.to_json()]
    request = chat.ChatCompletionRequest(tools=offered, tool_choice="auto")

    class Vocabulary(dict[str, int]):
        """Every token has a number: the parsers ask only whether their own tokens exist."""

        def __missing__(self, token: str) -> int:
            return 1

        def get(self, token: str, default: Any = None) -> int:
            return 1

    tokenizer = Blank()
    tokenizer.get_vocab = Vocabulary

    def parser(name: str) -> Parser:
        module, _, class_name = name.partition(".")
        make = getattr(importlib.import_module(f"vllm.tool_parsers.{module}_tool_parser"), class_name)

        def read(text: str) -> Calls:
            found = make(tokenizer, offered).extract_tool_calls(text, request).tool_calls
            return [(call.function.name, json.loads(call.function.arguments)) for call in found]
        return read
    return parser


FRAMEWORKS: dict[str, Callable[[Toolset], Callable[[str], Parser]]] = {"sglang": open_sglang, "vllm": open_vllm}


def spaced(text: str) -> str:
    """The V4.1 tags as sglang expects them: a blank in every tag name, not only in the block's."""
    for tag in ("invoke", "parameter"):
        text = text.replace(f"｜DSML｜{tag}", f"｜DSML｜ {tag}")
    return text


# --- the cases --------------------------------------------------------------------------------------------------------

class Case(NamedTuple):
    """A reply, the calls that it was written from, and what it tries."""

    kind: str
    text: str
    written: Calls


EXAMPLE = Call("wetter_vorhersage", {"stadt": "köln", "tage": 3})
EXAMPLE_TOOL = Tool.from_json({"type": "function", "function": {
    "name": "wetter_vorhersage", "description": "Wetter der nächsten Tage", "parameters": {
        "type": "object", "required": ["stadt"],
        "properties": {"stadt": {"type": "string"}, "tage": {"type": "integer"}}}}})
PLAIN = Call("nearby", {"slug": "koeln", "limit": 3, "radius_km": 2.5, "open_only": True, "tags": ["a", "b, c"]})
FOREIGN = Call("nearby", {"slug": "münchen", "note": "Größe ½ – „Straße“ 東京", "tags": ["ä", "ß"]})


def cases(formats: types.ModuleType, family: Any, count: int) -> Iterator[Case]:
    """The named cases of a family, then `count` seeded random ones of one to three calls."""
    closer = Call("nearby", {"slug": "koeln", "note": f"was heißt {family.closer} hier?", "limit": 2})
    named: tuple[tuple[str, str, list[Call]], ...] = (
        ("example", "", [EXAMPLE]),
        ("all types", "", [PLAIN]),
        ("two calls", "", [PLAIN, EXAMPLE]),
        ("no arguments", "", [Call("list_cities", {})]),
        ("umlauts", "", [FOREIGN]),
        ("prose before", "Gern, ich sehe nach.\n", [EXAMPLE]),
        ("closer inside", "", [closer]),
    )
    for kind, before, calls in named:
        yield Case(kind, before + family.write(calls), as_pairs(calls))
    rng = random.Random(f"crosscheck {family.complete} {family.closer}")
    while count:
        calls = [formats.random_call(rng, family.kind) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        if len({str(call) for call in calls}) == len(calls):
            count -= 1
            hard = any(set(text) - EASY for call in calls for text in texts_in(dict(call.arguments)))
            yield Case("random, hard text" if hard else "random", family.write(calls), as_pairs(calls))


# What the texts of easy random calls consist of; in a hard one stands something that a format may have a meaning for.
EASY = frozenset(string.ascii_letters + " äöüß-.")


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_in(item)


def as_pairs(calls: Any) -> Calls:
    return [(call.name, dict(call.arguments)) for call in calls]


def ours(text: str, tools: Toolset) -> Calls | None:
    """What this project reads in native mode; None if it says that a call is unreadable."""
    reading = calls_from_message({"role": "assistant", "content": text}, tools, "native", "stop")
    return None if reading.broken else as_pairs(reading.calls or ())


# --- what differs -----------------------------------------------------------------------------------------------------

def text_of(calls: Calls | None) -> str:
    """Calls as one line: equal lines are equal calls, JSON types included."""
    return "unreadable" if calls is None else json.dumps(calls, ensure_ascii=False, sort_keys=True) if calls else "none"


def difference(mine: Calls | None, theirs: Calls) -> str:
    """Where two readings differ first, in a few words."""
    if mine is None or not theirs or len(mine) != len(theirs):
        return f"calls: ours {'unreadable' if mine is None else len(mine)}, theirs {len(theirs)}"
    for (name, arguments), (their_name, their_arguments) in zip(mine, theirs, strict=True):
        if name != their_name:
            return "name"
        if not isinstance(their_arguments, dict):
            return f"their arguments are a {type(their_arguments).__name__}"
        if arguments.keys() != their_arguments.keys():
            return "keys"
        for key, value in arguments.items():
            if text_of([value]) != text_of([their_arguments[key]]):
                return value_difference(value, their_arguments[key])
    return "none"


def value_difference(mine: Any, theirs: Any) -> str:
    if type(mine) is not type(theirs):
        return f"type: ours {type(mine).__name__}, theirs {type(theirs).__name__}"
    if isinstance(mine, str):
        if mine.strip() == theirs.strip():
            return "blanks at the edge of a text"
        if mine.startswith(theirs):
            return "theirs is cut"
    return f"another {type(mine).__name__}"


class Result(NamedTuple):
    """One family read by one parser of theirs."""

    equal: int
    differs: list[tuple[str, Case, Calls | None, Calls]]
    raised: list[tuple[Case, str]]
    as_written: tuple[int, int]   # replies that ours, theirs read as they were written


class Slow(BaseException):
    """Their parser was still busy after SECONDS."""


def stop_waiting(*_: Any) -> None:
    raise Slow(f"no answer within {SECONDS} s")


def compare(all_cases: list[Case], parser: Parser, tools: Toolset) -> Result:
    equal, differs, raised, mine_right, theirs_right = 0, [], [], 0, 0
    for case in all_cases:
        mine, written = ours(case.text, tools), text_of(case.written)
        mine_right += text_of(mine) == written
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            theirs = parser(case.text)
        except (Exception, Slow) as error:   # another project's parser may raise anything; that is what is counted
            raised.append((case, f"{type(error).__name__}: {error}"))
            continue
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        theirs_right += text_of(theirs) == written
        if text_of(mine) == text_of(theirs):
            equal += 1
        else:
            differs.append((difference(mine, theirs), case, mine, theirs))
    return Result(equal, differs, raised, (mine_right, theirs_right))


def print_differences(name: str, result: Result, examples: int) -> None:
    kinds = Counter((why, case.kind) for why, case, _, _ in result.differs)
    if kinds or result.raised:
        print(f"\n{name}")
    for (why, kind), count in kinds.most_common():
        print(f"  {count:4} x {why}  [{kind}]")
        shown = sorted((d for d in result.differs if (d[0], d[1].kind) == (why, kind)), key=lambda d: len(d[1].text))
        for _, case, mine, theirs in shown[:examples]:
            print(f"         text   {json.dumps(case.text, ensure_ascii=False)[:400]}\n"
                  f"         ours   {text_of(mine)[:300]}\n         theirs {text_of(theirs)[:300]}")
    for case, error in result.raised[:examples]:
        print(f"  raises {error[:120]}  [{case.kind}]\n"
              f"         text   {json.dumps(case.text, ensure_ascii=False)[:400]}")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--random", type=int, default=200, metavar="N", help="seeded random replies a family")
    options.add_argument("--family", default="", metavar="PREFIX", help="only families whose name starts so")
    options.add_argument("--examples", type=int, default=0, metavar="N", help="differing replies to show of each kind")
    chosen = options.parse_args()
    try:
        formats = importlib.import_module("test_formats")
        tools = Toolset.of((*formats.TOOLS.by_name.values(), EXAMPLE_TOOL))
        logging.disable(logging.CRITICAL)
        signal.signal(signal.SIGALRM, stop_waiting)
        opened = {name: start(tools) for name, start in FRAMEWORKS.items()}
    except ImportError as error:
        print(f"crosscheck: {error}. Install in an environment of its own, without dependencies for the first two: "
              f"pip install --no-deps {' '.join(INSTALL[:2])}; pip install {' '.join(INSTALL[2:])}", file=sys.stderr)
        return 2
    print(", ".join(f"{name} {metadata.version(name)}" for name in FRAMEWORKS))
    print(f"\n{'family':20} {'their parser':24} {'cases':>5} {'equal':>5} {'differs':>7} {'theirs raises':>13} "
          f"{'ours as written':>15} {'theirs':>6}")
    results: dict[str, Result] = {}
    for family, framework, name in PARSERS:
        if not family.startswith(chosen.family):
            continue
        written = formats.FAMILIES[family.removesuffix("-spaced")]
        if family.endswith("-spaced"):
            write = written.write
            written = written._replace(write=lambda calls, write=write: spaced(write(calls)))
        all_cases = list(cases(formats, written, chosen.random))
        result = compare(all_cases, opened[framework](name), tools)
        shown = f"{framework} {name.partition('.')[0]}"
        results[f"{family}: {shown}"] = result
        print(f"{family:20} {shown:24} {len(all_cases):5} {result.equal:5} {len(result.differs):7} "
              f"{len(result.raised):13} {result.as_written[0]:15} {result.as_written[1]:6}")
    for name, result in results.items():
        print_differences(name, result, chosen.examples)
    return 0


if __name__ == "__main__":
    sys.exit(main())
