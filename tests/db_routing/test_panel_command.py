"""The command that authors work with: what it shows, what it exits with."""

from __future__ import annotations

from pathlib import Path

import pytest

from infranode_eval.db_routing import panel_views
from infranode_eval.db_routing.build import pool_of
from infranode_eval.db_routing.panel_command import main
from lm_eval_task.errors import UsageError
from tests.db_routing.draft import Draft
from tests.needs import need


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["panel", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_database_is_shown_with_rows_values_and_concepts(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "show", "filialhandel")
    assert code == 0
    assert "bon_kopf [kauf] 1320 rows" in out
    assert "karten_nr INTEGER [kundenkarte] -> karte_stamm" in out
    assert "kasse (own): kasse" in out


def test_an_intent_is_shown_with_sql_result_and_who_lacks_what(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "show", "filialhandel-002")
    assert code == 0
    assert out.startswith("SELECT SUM(bon_pos.menge_stk * bon_pos.posten_preis_eur) FROM bon_pos JOIN")
    assert "onlineshop: lacks kundenkarte; voiced: kundenkarte" in out


def test_a_query_runs_in_the_safe_executor(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "sql", "luftguete", "SELECT COUNT(*) FROM station_stamm")[:2] == (0, "(12,)\n")
    code, out, _ = run(capsys, "sql", "luftguete", "SELECT * FROM sqlite_master")
    assert code == 0 and "(" not in out[:1], "refused, in words"


@pytest.mark.parametrize(("arguments", "said"), [
    (("show", "bahnhof"), "there is no intent bahnhof"), (("sql", "luftguete"), "expected a database with a schema"),
    (("check", "bahnhof"), "bahnhof has no intents yet"), (("check", "--alle"), "see --help"), (("raten",), "raten")])
def test_a_wrong_use_is_told_in_one_line(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...],
                                         said: str) -> None:
    code, _, err = run(capsys, *arguments)
    assert code == 2 and said in err and len(err.splitlines()) == 1


def test_one_gate_of_one_database(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "check", "luftguete", "--gate", "7")
    assert (code, out.split()) == (0, ["7", "every", "filter", "counts", "ok"])


def test_neighbours_are_shown_with_text_and_similarity(tmp_path: Path) -> None:
    need("sklearn")
    sources = Draft().sources(tmp_path / "panel").with_panel_frame()
    pool = pool_of(sources)
    shown = panel_views.neighbours_view(pool, 0.0, "kraemerei-001")
    assert shown.startswith("kraemerei-001 a free 1 of 3 foreign: Welchen Betrag nahm die Kasse 2 ein?")
    shares = panel_views.shares_view(pool, 0.1, None, sources.all_intents)
    assert "floor 0.1 (the rule picks None), 14 texts" in shares and "kraemerei own" in shares
    with pytest.raises(UsageError, match="neither an intent nor a database"):
        panel_views.neighbours_view(pool, 0.1, "bahnhof")
