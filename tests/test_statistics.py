"""Statistics: published values, hand arithmetic, exact enumeration; scipy and statsmodels where they are installed."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from infranode_eval import statistics as st


@pytest.mark.parametrize("k, n, low, high", [
    # Newcombe 1998, Statistics in Medicine 17, 857–872, table I, method 3 (score, no continuity correction)
    (81, 263, 0.2553, 0.3662),
    (15, 148, 0.0624, 0.1605),
    (0, 20, 0.0, 0.1611),
    (1, 29, 0.0061, 0.1718),
])
def test_wilson_equals_the_published_examples(k, n, low, high):
    found = st.wilson(k, n)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)
    assert found.estimate == k / n


def test_wilson_is_exact_at_both_ends_and_mirrors():
    assert st.wilson(0, 91).low == 0.0 and st.wilson(91, 91).high == 1.0
    assert st.wilson(20, 91).low == pytest.approx(1 - st.wilson(71, 91).high)


@pytest.mark.parametrize("k, n", [(0, 0), (-1, 5), (6, 5)])
def test_wilson_refuses_what_is_no_proportion(k, n):
    with pytest.raises(ValueError):
        st.wilson(k, n)


@pytest.mark.parametrize("b, c, statistic, why", [
    (0, 0, 0.0, "no discordant pair: no division by zero, p = 1"),
    (3, 3, 0.0, "the correction must not turn 0 into 1"),
    (4, 3, 0.0, "|b-c| = 1: the correction ends at 0"),
    (86, 150, 63 ** 2 / 236, "Agresti's approval ratings, 86 and 150 changed their mind"),
    (150, 86, 63 ** 2 / 236, "the order of the runs does not matter"),
    (10, 0, 8.1, "(10-1)² / 10"),
])
def test_mcnemar_statistic(b, c, statistic, why):
    found = st.mcnemar(b, c)
    assert found.statistic == pytest.approx(statistic), why
    assert found.p == pytest.approx(math.erfc(math.sqrt(statistic / 2))), why


def test_mcnemar_of_equal_runs_has_p_one():
    assert st.mcnemar(0, 0).p == 1.0 and st.mcnemar_exact(0, 0) == 1.0


@pytest.mark.parametrize("b, c, p", [(1, 5, 14 / 64), (5, 1, 14 / 64), (0, 6, 2 / 64), (3, 3, 1.0), (1, 0, 1.0)])
def test_exact_mcnemar_by_hand(b, c, p):
    assert st.mcnemar_exact(b, c) == pytest.approx(p)


@pytest.mark.parametrize("b, c, shown", [(12, 12, True), (12, 13, False), (0, 0, True)])
def test_exact_test_is_shown_below_25_discordant_pairs(b, c, shown):
    assert st.exact_is_shown(b, c) is shown


def test_pairs_count_the_four_cells():
    assert st.Pairs.of([1, 1, 0, 0, 1], [1, 0, 1, 0, 0]) == st.Pairs(1, 2, 1, 1)
    with pytest.raises(ValueError):
        st.Pairs.of([True], [])


def test_paired_difference_swaps_sign_with_the_runs():
    ab, ba = st.paired_difference(st.Pairs(40, 12, 3, 36)), st.paired_difference(st.Pairs(40, 3, 12, 36))
    assert ab.estimate == pytest.approx(9 / 91)
    assert (ab.low, ab.high) == pytest.approx((-ba.high, -ba.low))
    assert ab.low <= ab.estimate <= ab.high


def test_paired_difference_of_equal_runs_is_centred_on_zero():
    found = st.paired_difference(st.Pairs(60, 0, 0, 31))
    assert found.estimate == 0 and found.low == pytest.approx(-found.high)


@pytest.mark.parametrize("cells", [(.5, .1, .05, .35), (.2, .2, .2, .4), (.85, .08, .02, .05)])
def test_paired_difference_covers_the_truth(cells):
    """Exact enumeration of all tables of 20 tasks: the share of tables, by probability, whose interval is right."""
    n, truth, covered = 20, cells[1] - cells[2], 0.0
    for a, b, c in itertools.product(range(n + 1), repeat=3):
        d = n - a - b - c
        if d < 0:
            continue
        weight = math.factorial(n) / math.prod(map(math.factorial, (a, b, c, d))) * math.prod(
            p ** k for p, k in zip(cells, (a, b, c, d), strict=True))
        found = st.paired_difference(st.Pairs(a, b, c, d))
        covered += weight * (found.low <= truth <= found.high)
    assert 0.92 <= covered <= 0.998   # above 0.99 where nearly all tasks agree: known to be cautious there


def test_bootstrap_is_reproducible_and_moves_with_the_seed():
    rows = [(f"c{i % 23}", float(i * i % 7 < 3)) for i in range(90)]
    assert st.cluster_bootstrap(rows) == st.cluster_bootstrap(rows)
    assert st.cluster_bootstrap(rows, seed=1) != st.cluster_bootstrap(rows, seed=2)


def test_bootstrap_of_single_rows_agrees_with_wilson():
    rows = [(i, float(i < 70)) for i in range(100)]
    found, closed = st.cluster_bootstrap(rows), st.wilson(70, 100)
    assert found.estimate == 0.7
    assert (found.low, found.high) == pytest.approx((closed.low, closed.high), abs=0.02)


def test_bootstrap_is_wider_when_rows_of_a_cluster_move_together():
    alone = st.cluster_bootstrap([(i, float(i % 2)) for i in range(100)])
    together = st.cluster_bootstrap([(i % 10, float(i % 2)) for i in range(100)])
    assert together.high - together.low > 2 * (alone.high - alone.low)


@pytest.mark.parametrize("values, why", [
    ([0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0], "whole sums are added packed in one number"),
    ([-1.0, 0.0, 1.0, -1.0, -1.0, 0.0, 0.0], "differences: negative sums borrow nothing from their neighbours"),
    ([0.5, 1.5, 0.25, 0.0, 1.0, 0.75, 0.0], "broken sums take the plain way"),
    ([3e8, 1.0, 0.0, 1.0, 1.0, 0.0, 2e9], "sums too large for a digit take the plain way"),
])
def test_bootstrap_equals_drawing_one_by_one(values, why):
    rows = list(zip("aabcdde", values, strict=True))
    clusters = {c: [v for d, v in rows if d == c] for c in "abcde"}
    generator, means = random.Random(7), []
    for _ in range(199):
        drawn = [v for i in generator.choices(range(5), k=5) for v in clusters["abcde"[i]]]
        means.append(sum(drawn) / len(drawn))
    means.sort()
    found = st.cluster_bootstrap(rows, draws=199, seed=7, level=0.9)
    assert (found.estimate, found.low, found.high) == pytest.approx((sum(values) / 7, st._percentile(means, 0.05),
                                                                     st._percentile(means, 0.95))), why


def test_a_product_of_means_is_drawn_as_one():
    """Both means of a draw are over the same clusters: drawn apart, low would meet high and the spread be another."""
    rows = [(cluster, (passed, 1 - passed / 4)) for cluster, passed in enumerate([0, 1, 2, 3, 4] * 3)]

    def figure(passed, rest, n):
        return passed / n * (rest / n)

    generator, drawn = random.Random(7), []
    for _ in range(199):
        some = generator.choices(rows, k=len(rows))
        drawn.append(figure(sum(r[1][0] for r in some), sum(r[1][1] for r in some), len(some)))
    drawn.sort()
    found = st.bootstrap_of_sums(rows, figure, draws=199, seed=7, level=0.9)
    assert (found.estimate, found.low, found.high) == pytest.approx((1.0, st._percentile(drawn, 0.05),
                                                                     st._percentile(drawn, 0.95)))


def test_a_figure_of_no_rows_has_no_interval():
    with pytest.raises(ValueError):
        st.bootstrap_of_sums([], lambda n: n)


def test_bootstrap_of_one_cluster_knows_no_spread():
    found = st.cluster_bootstrap([("a", 1.0), ("a", 0.0)])
    assert (found.low, found.estimate, found.high) == (0.5, 0.5, 0.5)


@pytest.mark.parametrize("verdict, limits", [(True, st.wilson(7, 7)), (False, st.wilson(0, 7))])
def test_rows_that_are_all_alike_are_not_certain(verdict, limits):
    """Every draw is alike there, so a bootstrap would give an interval of no width; 7 clusters are what we know."""
    found = st.clustered_proportion([i % 7 for i in range(50)], [verdict] * 50)
    assert (found.low, found.high) == (limits.low, limits.high)


def test_other_proportions_are_drawn_by_cluster():
    clusters, verdicts = [i % 7 for i in range(50)], [i % 3 == 0 for i in range(50)]
    assert st.clustered_proportion(clusters, verdicts) == st.cluster_bootstrap(zip(clusters, verdicts, strict=True))
    with pytest.raises(ValueError):
        st.clustered_proportion([], [])


def test_bootstrap_without_values_is_an_error():
    with pytest.raises(ValueError):
        st.cluster_bootstrap([])


@pytest.mark.parametrize("given, adjusted, why", [
    ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02], "4·0.005, 3·0.01, 2·0.03, then never below the one before"),
    ([0.9, 0.8], [1.0, 1.0], "never above 1"),
    ([], [], "no pair"),
    ([0.2], [0.2], "one pair needs no correction"),
])
def test_holm(given, adjusted, why):
    assert st.holm(given) == pytest.approx(adjusted), why


def test_detectable_difference_of_the_core_set_is_about_ten_points():
    """Specification, scoring: "core: about 10 points for one pair"."""
    assert st.smallest_detectable_difference(91, 0.12) == pytest.approx(0.10, abs=0.005)


@pytest.mark.parametrize("n, share", [(91, 0.12), (700, 0.2)])
def test_detectable_difference_is_found_in_simulated_pairs(n, share):
    """80 % power of the uncorrected statistic, within what 1,000 simulations can tell."""
    difference = st.smallest_detectable_difference(n, share)
    generator, found = random.Random(5), 0
    wins = (share + difference) / 2
    for _ in range(1000):
        draws = [generator.random() for _ in range(n)]
        b, c = sum(x < wins for x in draws), sum(wins <= x < share for x in draws)
        found += b + c > 0 and (b - c) ** 2 / (b + c) >= st.quantile(0.975) ** 2
    assert 0.74 <= found / 1000 <= 0.86


@pytest.mark.parametrize("n, share, why", [
    (5, 0.2, "even if every discordant task favours one run, five tasks show nothing"),
    (0, 0.2, "no task"), (91, 0.0, "no discordant task"),
])
def test_detectable_difference_is_none_where_nothing_is_detectable(n, share, why):
    assert st.smallest_detectable_difference(n, share) is None, why


@pytest.mark.parametrize("c, n, k, value", [(3, 5, 1, 0.6), (3, 5, 2, 0.3), (3, 5, 4, 0.0), (5, 5, 5, 1.0)])
def test_pass_hat_k(c, n, k, value):
    assert st.pass_hat_k(c, n, k) == pytest.approx(value)


@pytest.mark.parametrize("c, n, k", [(6, 5, 1), (1, 5, 0), (1, 5, 6)])
def test_pass_hat_k_refuses_impossible_counts(c, n, k):
    with pytest.raises(ValueError):
        st.pass_hat_k(c, n, k)


@pytest.mark.parametrize("cells, low, high", [
    ((56, 70, 48, 80), 0.0524, 0.3339),
    ((9, 10, 3, 10), 0.1705, 0.8090),
    ((6, 7, 2, 7), 0.0582, 0.8062),
    ((5, 56, 0, 29), -0.0381, 0.1926),
    ((0, 10, 0, 20), -0.1611, 0.2775),
    ((0, 10, 0, 10), -0.2775, 0.2775),
    ((10, 10, 0, 20), 0.6791, 1.0),
    ((10, 10, 0, 10), 0.6075, 1.0),
])
def test_newcombe_gives_the_published_limits(cells, low, high):
    """Newcombe, Statistics in Medicine 17 (1998) 873-890, table II, method 10."""
    found = st.newcombe(*cells)
    assert (found.low, found.high) == pytest.approx((low, high), abs=5.1e-5)
    a, m, b, n = cells
    turned = st.newcombe(b, n, a, m)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low)), "turned round it is its mirror"


def test_newcombe_refuses_no_tasks():
    with pytest.raises(ValueError):
        st.newcombe(0, 0, 1, 2)


def test_independent_limits_add_as_squares():
    found = st.independent_difference(st.Interval(0.5, 0.2, 0.6), st.Interval(0.3, 0.1, 0.7))
    assert found.estimate == pytest.approx(0.2)
    assert (found.low, found.high) == pytest.approx((0.2 - 0.5, 0.2 + math.sqrt(0.1 ** 2 + 0.2 ** 2)))


def rows(name: str, right: int, n: int) -> dict[str, bool]:
    return {f"{name}{i}": i < right for i in range(n)}


@pytest.mark.parametrize("a, m, b, n, z, why", [
    (60, 100, 50, 100, 0.1 / math.sqrt(0.55 * 0.45 * 2 / 100), "pooled share 0.55"),
    (50, 100, 60, 100, -0.1 / math.sqrt(0.55 * 0.45 * 2 / 100), "the other way round"),
    (10, 10, 20, 20, 0.0, "all solved: no variance, no difference"),
    (0, 10, 0, 20, 0.0, "none solved"),
    (5, 10, 10, 20, 0.0, "equal shares"),
])
def test_two_proportions(a, m, b, n, z, why):
    found = st.two_proportions(rows("x", a, m), rows("y", b, n))
    assert found.z == pytest.approx(z), why
    assert found.p == pytest.approx(math.erfc(abs(z) / math.sqrt(2))), why


def test_two_proportions_refuses_tasks_that_both_hold():
    with pytest.raises(ValueError, match="2 tasks are on both sides .*paired"):
        st.two_proportions({"a": True, "b": False, "c": True}, {"b": True, "c": True, "d": True})
    with pytest.raises(ValueError, match="at least one task"):
        st.two_proportions({}, {"a": True})


def test_risk_ratio_by_hand():
    """A: 0.5/0.8 = 0.625, variance 1/5 - 1/10 + 1/8 - 1/10 = 0.125, weight 8. B: 1, 2 (1/2 - 1/4) = 0.5, weight 2."""
    found = st.risk_ratio([st.Stratum("A", 5, 10, 8, 10), st.Stratum("B", 2, 4, 2, 4)])
    log, error = 0.8 * math.log(0.625), 1 / math.sqrt(10)
    limits = [math.exp(log - 1.959964 * error), math.exp(log + 1.959964 * error)]
    assert [found.ratio.low, found.ratio.high] == pytest.approx(limits, rel=1e-6)
    assert found.ratio.estimate == pytest.approx(0.625 ** 0.8)
    assert found.z == pytest.approx(-1.18903, abs=5e-6)
    assert found.p == pytest.approx(0.23443, abs=5e-6)
    assert (found.used, found.dropped, found.corrected) == (("A", "B"), (), ())


@pytest.mark.parametrize("stratum, ratio, variance, why", [
    (st.Stratum("x", 4, 4, 4, 4), 1.0, 2 * (1 / 4.5 - 1 / 5), "all solved: 4.5 of 5 on both sides, not variance 0"),
    (st.Stratum("x", 0, 4, 2, 4), (0.5 / 5) / (2.5 / 5), 1 / 0.5 - 1 / 5 + 1 / 2.5 - 1 / 5, "none solved of the first"),
    (st.Stratum("x", 2, 4, 3, 3), (2.5 / 5) / (3.5 / 4), 1 / 2.5 - 1 / 5 + 1 / 3.5 - 1 / 4,
     "all solved of the second: the first is moved, too"),
    (st.Stratum("x", 1, 2, 1, 2), 1.0, 2 * (1 - 1 / 2), "no empty cell: nothing is added"),
])
def test_half_a_row_for_empty_cells(stratum, ratio, variance, why):
    found = st.risk_ratio([stratum])
    assert found.ratio.estimate == pytest.approx(ratio), why
    assert (math.log(found.ratio.high / ratio) / st.quantile(0.975)) ** 2 == pytest.approx(variance), why
    assert found.corrected == (("x",) if stratum.has_zero else ()), why


def test_strata_without_one_of_the_groups_are_dropped_and_named():
    kept = st.Stratum("kept", 5, 10, 8, 10)
    found = st.risk_ratio([st.Stratum("no hard", 0, 0, 8, 10), kept, st.Stratum("no easy", 3, 5, 0, 0)])
    assert (found.used, found.dropped) == (("kept",), ("no hard", "no easy"))
    assert found.ratio == st.risk_ratio([kept]).ratio


def test_no_stratum_gives_no_ratio():
    assert st.risk_ratio([st.Stratum("x", 0, 0, 8, 10)]) == st.PooledRatio(None, None, None, (), ("x",), ())
    assert st.risk_ratio([]).ratio is None


def test_oracle_scipy_agrees():
    stats = pytest.importorskip("scipy.stats")
    for k, n in [(0, 12), (3, 8), (84, 91), (91, 91)]:
        expected = stats.binomtest(k, n).proportion_ci(method="wilson")
        found = st.wilson(k, n)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    for b, c in [(1, 5), (9, 2), (30, 41), (7, 7)]:
        assert st.mcnemar_exact(b, c) == pytest.approx(stats.binomtest(b, b + c).pvalue)
        assert st.mcnemar(b, c).p == pytest.approx(stats.chi2.sf(st.mcnemar(b, c).statistic, 1))


def test_oracle_statsmodels_agrees():
    pytest.importorskip("statsmodels")
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.multitest import multipletests
    from statsmodels.stats.proportion import confint_proportions_2indep

    for b, c in [(3, 12), (40, 22), (1, 0), (7, 6)]:
        expected = mcnemar([[10, b], [c, 10]], exact=False, correction=True)
        assert st.mcnemar(b, c).p == pytest.approx(expected.pvalue)
        assert st.mcnemar_exact(b, c) == pytest.approx(mcnemar([[10, b], [c, 10]], exact=True).pvalue)
    for b in range(1, 9):
        assert st.mcnemar(b, b).p == 1.0, "statsmodels corrects a difference of 0 to 1 and reports a smaller p"
    assert st.mcnemar(0, 0).p == st.mcnemar_exact(0, 0) == 1.0, "statsmodels divides by zero here"
    for cells in [(56, 70, 48, 80), (5, 56, 0, 29), (10, 10, 0, 20), (78, 91, 70, 91), (0, 91, 91, 91)]:
        low, high = confint_proportions_2indep(*cells, method="newcomb", compare="diff")
        found = st.newcombe(*cells)
        assert (found.low, found.high) == pytest.approx((max(-1, low), min(1, high)), abs=1e-12)
    values = [0.03, 0.002, 0.4, 0.02, 0.02]
    assert st.holm(values) == pytest.approx(list(multipletests(values, method="holm")[1]))


def test_oracle_statsmodels_agrees_on_unpaired_and_pooled_numbers():
    np = pytest.importorskip("numpy")
    pytest.importorskip("statsmodels")
    from statsmodels.stats.contingency_tables import StratifiedTable, Table2x2
    from statsmodels.stats.meta_analysis import combine_effects
    from statsmodels.stats.proportion import proportions_ztest

    for a, m, b, n in [(60, 100, 41, 90), (1, 20, 5, 21), (171, 184, 500, 575)]:
        z, p = proportions_ztest([a, b], [m, n])
        found = st.two_proportions(rows("x", a, m), rows("y", b, n))
        assert (found.z, found.p) == pytest.approx((z, p))
    strata = [(31, 51, 70, 80), (40, 50, 30, 33), (20, 43, 44, 60)]
    tables = [np.array([[a, m - a], [b, n - b]]) for a, m, b, n in strata]
    effects = [Table2x2(t, shift_zeros=False) for t in tables]
    fixed = combine_effects(np.array([e.log_riskratio for e in effects]),
                            np.array([e.log_riskratio_se ** 2 for e in effects]))
    found = st.risk_ratio([st.Stratum(str(i), *s) for i, s in enumerate(strata)])
    assert math.log(found.ratio.estimate) == pytest.approx(fixed.mean_effect_fe)
    assert 1 / st.quantile(0.975) * math.log(found.ratio.high / found.ratio.estimate) == pytest.approx(
        math.sqrt(fixed.var_eff_w_fe))
    pooled = StratifiedTable(tables).riskratio_pooled
    assert found.ratio.estimate != pytest.approx(pooled, abs=1e-4), "statsmodels pools after Mantel and Haenszel"
