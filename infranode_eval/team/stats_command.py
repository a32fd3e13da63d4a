"""How much there is in scenarios: rounds, updates, bytes and estimated tokens by modality.

    python -m infranode_eval.team stats [-d DIR] [--json]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from infranode_eval.team.scenario import read_collection
from infranode_eval.team.stats import Amount, Stats, scenario_stats, total_stats
from infranode_eval.terminal import Parser, complain, show
from lm_eval_task.errors import BenchError

PROG, ALL = "stats", "together"


def main(arguments: Sequence[str]) -> int:
    parser = Parser("python -m infranode_eval.team stats", __doc__)
    parser.add_argument("-d", "--tasks", type=Path, metavar="DIR", help="default: the project's own scenarios")
    parser.add_argument("--json", action="store_true", help="for programs")
    try:
        chosen = parser.parse_args(arguments)
        scenarios = read_collection(chosen.tasks)
    except BenchError as error:
        complain(PROG, str(error))
        return error.exit_code
    each = {scenario.scenario_id: scenario_stats(scenario) for scenario in scenarios}
    if len(each) > 1:
        each[ALL] = total_stats(scenarios)
    if chosen.json:
        show(json.dumps({name: stats.to_json() for name, stats in each.items()}, ensure_ascii=False, indent=1) + "\n")
    else:
        show("\n".join(_lines(each)) + "\n")
    return 0


def _lines(each: Mapping[str, Stats]) -> Iterator[str]:
    width = max(map(len, each))
    yield f"{'':{width}}  rounds  updates  files new+replaced  replaced"
    for name, stats in each.items():
        share = "—" if stats.replace_share is None else f"{100 * stats.replace_share:.0f} %"
        yield (f"{name:{width}}  {stats.rounds:6}  {stats.update_groups:7}  "
               f"{f'{stats.update_new}+{stats.update_replace}':>18}  {share:>8}")
    yield ""
    yield f"{'':{width}}  modality   files       bytes  tokens (estimated)"
    for name, stats in each.items():
        for modality, amount in stats.amounts.items():
            if amount.files:
                yield f"{name:{width}}  {modality:8}  {amount.files:6}  {amount.bytes:10,}  {_tokens(amount):>18}"


def _tokens(amount: Amount) -> str:
    return "—" if amount.tokens is None else f"{amount.tokens:,}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
