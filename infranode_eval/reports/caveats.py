"""What a reader must know before believing a run's numbers: the likely cause of odd ones, and what to do about it.

Pure. Limits: specification, scoring, Aggregates. A baseline is a program, so its habits are no news.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from infranode_eval.reports.archive import UNKNOWN, Row, Run
from infranode_eval.reports.plays import SUITE as PLAYED
from infranode_eval.reports.team_caveats import team_caveats
from infranode_eval.reports.team_rows import SUITE as TEAM
from infranode_eval.serving import budget_note, lost_note
from lm_eval_task.formats import FORMATS
from lm_eval_task.metrics import SCORER_VERSION
from lm_eval_task.records import FAILURES
from lm_eval_task.tools import Toolset

FEW_PARSED, MANY_RECOVERED, MANY_TRUNCATED = 0.5, 0.2, 0.02
FEW_PLAYS, MANY_UNANSWERED = 10, 0.25

_FAILURE_CAUSES = {
    "auth_error": "the key is missing, wrong or not allowed to use the model: check it",
    "context_overflow": "the server's context is shorter than the prompt: start it with a longer one",
    "infra_error": "the endpoint or the way to it, not the model: check the server, raise --timeout or lower "
                   "--concurrency",
    "empty_reply": "the server's template or tool parser swallows replies, or the model ends at once: see its log",
    "not_run": "the run ended early",
}


def caveats_of(run: Run, shares: Mapping[str, float | None], tools: Toolset | None) -> list[str]:
    """The lines for one run. shares: recovered and truncated. tools: those that may have been offered."""
    found = list(run.notes)
    outcomes = Counter([row.score.outcome for row in run.rows])
    if run.failed:
        found.append(_failures(run, outcomes))
    elif not run.complete:
        found.append("the run is incomplete: run_eval.py --resume goes on")
    deviations = run.settings.get("deviations")
    if isinstance(deviations, list) and deviations:
        found.append("the endpoint was sent something else than asked for: " + "; ".join(map(str, deviations)))
    if run.scorer_version != SCORER_VERSION:
        again = "" if _from_lm_eval(run) else ": report.py --rescore reads the replies again"
        found.append(f"scored by version {run.scorer_version}, this report's scorer is {SCORER_VERSION}{again}")
    if run.suite == TEAM:
        found += team_caveats(run)
    elif not run.baseline:
        found += _serving(run, outcomes, shares, tools)
        found += _plays(run) if run.suite == PLAYED else []
    return found


def _plays(run: Run) -> list[str]:
    """What the serving may have done to plays of the suite chain."""
    answered = [row for row in run.rows if not row.score.failed]
    found = []
    if len(answered) >= FEW_PLAYS and not any(row.details.get("calls_made") for row in answered):
        found.append(f"no play holds a call; likely cause: {_silent_cause(run)}")
    without = [row for row in answered if row.score.outcome == "no_answer"]
    if len(without) > MANY_UNANSWERED * len(answered) and len(answered) >= FEW_PLAYS:
        prose = sum(row.details.get("answer_in_prose") is True for row in without)
        found.append(f"{len(without)} of {len(answered)} plays end without the answer object that the prompt asks for, "
                     f"{prose} of them with the right value in prose; likely cause: the model does not keep the form, "
                     "or the token budget of a reply: read some with report.py --task")
    return found


def _from_lm_eval(run: Run) -> bool:
    return run.harness.startswith("lm-eval")


def _failures(run: Run, outcomes: Mapping[str, int]) -> str:
    kinds = sorted((o for o in FAILURES if outcomes.get(o)), key=lambda o: -outcomes[o])
    causes = "; ".join(f"{outcomes[o]} {o}, likely cause: {_FAILURE_CAUSES[o]}" for o in kinds)
    again = "" if _from_lm_eval(run) else "; then run_eval.py --resume asks again"
    return (f"{run.failed} of {run.n} rows are failures without an answer, which strict numbers count as not solved"
            f"{f' ({causes})' if causes else ''}{again}")


def _serving(run: Run, outcomes: Mapping[str, int], shares: Mapping[str, float | None],
             tools: Toolset | None) -> list[str]:
    answered = [row for row in run.rows if row.score.call_match is not None]
    lost = _lost_tools(run, tools)
    found = [lost] if lost else []
    parsed = [row.score.parsed for row in answered].count(True)
    if answered and parsed < FEW_PARSED * len(answered):
        found.append(f"only {parsed / len(answered):.1%} of the answered rows could be read ({_unread(outcomes)}); "
                     f"likely cause: {_unread_cause(run, outcomes, lost)}")
    if (shares["recovered"] or 0.0) > MANY_RECOVERED:
        found.append(_recovered(run, answered))
    if (shares["truncated"] or 0.0) > MANY_TRUNCATED:
        found.append(f"{shares['truncated']:.1%} of the answered rows were cut by the token budget: budget-limited, no "
                     f"rank; likely cause: {_budget_cause(run)}")
    cut = [row.cut_in_reasoning for row in answered].count(True)
    if cut:
        found.append(budget_note(cut, *_budget(run)) + ", or switch reasoning off")
    return found + _one_outcome(run, outcomes, lost)


def _lost_tools(run: Run, tools: Toolset | None) -> str | None:
    """The endpoint's own count says that the prompt cannot have held the tools."""
    if tools is None or run.hashes.get("tools") != tools.fingerprint or run.arm is not None:
        return None
    return lost_note(run.mode, tools, [row.prompt_tokens for row in run.rows])


# --- likely causes ----------------------------------------------------------------------------------------------------

_UNREAD = ("no_call", "malformed_call", "truncated")


def _unread(outcomes: Mapping[str, int]) -> str:
    return ", ".join(f"{o} {outcomes[o]}" for o in _UNREAD if outcomes.get(o)) or "outcomes unknown"


def _unread_cause(run: Run, outcomes: Mapping[str, int], lost: str | None) -> str:
    """By what most of the unread rows were."""
    most = max(_UNREAD, key=lambda o: outcomes.get(o, 0))
    if not outcomes.get(most):
        return f"server or template; look at some replies in {run.path}"
    if most == "truncated":
        return "the token budget, see there"
    if most == "no_call" and lost:
        return "the tools were not in the prompt, see there"
    return _silent_cause(run) if most == "no_call" else _garbled_cause(run)


def _silent_cause(run: Run) -> str:
    if run.harness == "lm-eval":
        return "no chat template (--apply_chat_template), or a model without instruction tuning"
    if _from_lm_eval(run):
        return "wrong mode, or the model does not follow the prompt: compare with run_eval.py --mode native"
    if run.mode == "native":
        return ("the chat template renders no tools, or the server passes no calls on: check template and tool parser, "
                "compare with --mode prompt")
    return ("wrong mode or chat template, or a model without instruction tuning: read some replies, compare with "
            "--mode native")


def _garbled_cause(run: Run) -> str:
    if run.mode == "native":
        return ("the server's tool parser or chat template garbles calls: start it with the parser of this model, "
                "compare with --mode prompt")
    return ("wrong mode or chat template, since replies start like calls that nobody can read: read some, compare with "
            "--mode native")


def _budget_cause(run: Run) -> str:
    tokens, flag = _budget(run)
    budget = f"the token budget{f' of {tokens}' if tokens else ''}"
    cut = [row for row in run.rows if row.score.outcome == "truncated"]
    loops = sum(row.cut_repeating for row in cut)
    if 2 * loops > len(cut):
        return (f"{loops} of the {len(cut)} cut replies repeat themselves until {budget} ends, so more tokens will not "
                "help: a chat template that does not fit the model, a missing end token, or a weak model")
    return f"{budget}: raise {flag}"


def _budget(run: Run) -> tuple[object, str]:
    """(budget as stored, the flag that sets it)."""
    if _from_lm_eval(run):
        return run.settings.get("max_gen_toks"), "--gen_kwargs max_gen_toks"
    return run.settings.get("max_tokens"), "--max-tokens"


_FORMAT_LABELS = frozenset(label for label, _ in FORMATS.values())


def _recovered(run: Run, answered: Sequence[Row]) -> str:
    """Which rules were needed says what the server left unread."""
    known = [row for row in answered if row.recovered is not None]
    rows = [row for row in known if row.recovered]
    often = Counter(label for row in rows for label in row.score.labels)
    rules = ", ".join(f"{label} {count}" for label, count in often.most_common(2))
    formats = sum(count for label, count in often.items() if label in _FORMAT_LABELS)
    if run.mode == "native":
        cause = "the server's tool parser: calls arrive as text, start it with the parser of this model"
    elif 2 * formats >= len(rows):
        cause = "wrong mode or chat template: the model writes calls in a format of its own, compare with --mode native"
    else:
        cause = "sampling settings or chat template, since the JSON has small faults: read some replies"
    return (f"{len(rows)} of {len(known)} readable calls needed a recovery rule"
            f"{f' ({rules})' if rules else ''}; likely cause: {cause}")


def _one_outcome(run: Run, outcomes: Mapping[str, int], lost: str | None) -> list[str]:
    """A run in which everything ends alike is rather a broken set-up than a model."""
    if len(outcomes) != 1 or UNKNOWN in outcomes or run.n < 2:
        return []
    outcome = next(iter(outcomes))
    if outcome in _UNREAD:
        cause = _unread_cause(run, outcomes, lost)
    else:
        cause = (_FAILURE_CAUSES | _ALIKE_CAUSES).get(outcome, "one fault in the set-up that meets every task alike")
    return [f"every row has the outcome {outcome}: look at some replies before believing the number; likely cause: "
            f"{cause}"]


_ALIKE_CAUSES = {
    "ok": "few or easy tasks, or an endpoint that knows the answers",
    "ok_recovered": "the server's tool parser or the wrong mode, since no call arrived as it should",
    "no_answer": "no reply holds the answer object that the prompt asks for: a text in its place, or a cut reply",
    "no_evidence": "answers that are known without a call: the model saw the golds",
    "abstain_ok": "a text that never changes: compare with run_eval.py --backend baseline --model constant",
}
