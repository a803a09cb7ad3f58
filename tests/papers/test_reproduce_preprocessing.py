"""`prepriv reproduce preprocessing-tables`, `preprocessing-figures` and `soft-pca`: the paper's numbers pinned."""

from __future__ import annotations

import csv
import functools
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import prepriv_papers as reproduce
from prepriv.commands.exits import Stop
from prepriv.guarantees import gdp_mu
from prepriv_papers.counterexamples import measured
from prepriv_papers.provable_privacy import figure_3 as third
from prepriv_papers.provable_privacy import figures, scaling, tables
from prepriv_papers.provable_privacy import low_rank as data
from prepriv_papers.provable_privacy.errata_learners import renyi
from prepriv_papers.provable_privacy.exact_pair import shifted_curve

app = typer.Typer()
app.add_typer(reproduce.app, name="reproduce")
PNG = b"\x89PNG"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["reproduce", *arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


@functools.lru_cache(maxsize=1)
def table_2() -> list[dict[str, float]]:
    return tables.table_2()


def entry(mechanism: str, name: str) -> dict[str, float]:
    rows = [r for r in table_2() if (r["mechanism"], r["preprocessing"]) == (mechanism, name)]
    assert len(rows) == 1
    return rows[0]


def test_tables_are_printed_and_written(tmp_path: Path) -> None:
    text = run("preprocessing-tables", "--out", str(tmp_path))
    assert "34.65" in text and "421.05" in text and "169.1" in text
    numbers = json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))
    assert set(numbers) == {"table_1", "table_2", "wider", "table_3", "scaling", "errata", "verdicts"}
    verdicts = numbers.pop("verdicts")
    assert [v["item"] for v in verdicts] == ["Table 1", "Table 2", "Table 3, Proposition 16"]
    assert {v["verdict"] for v in verdicts} == {"paper is wrong"} and numbers.pop("errata")
    for name, rows in numbers.items():
        with (tmp_path / f"{name}.csv").open(encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) == len(rows) > 0


def test_table_1_has_twelve_entries_and_ours_never_exceed_what_the_paper_proves() -> None:
    rows = tables.table_1()
    assert len(rows) == 12
    for row in rows:
        assert row["ours"] <= row["own_formula"] * (1 + 1e-9), row
    full = next(r for r in rows if (r["mechanism"], r["bound"]) == ("DP-GD", "RDP"))
    assert full["printed"] == pytest.approx(2 * 11 * 0.05**2)


def test_sampled_sgd_is_priced_by_its_exact_pair_and_by_the_law_of_a_batch() -> None:
    """Above what a pair attains, by integration, and close to it; 3.67 by the lemma that stood here before."""
    row = next(r for r in tables.table_1() if (r["mechanism"], r["bound"]) == ("SGD, sampled", "RDP"))
    attained = measured("L6")["L6"]["is"]
    assert attained <= row["ours"] <= 1.07 * attained < row["own_formula"] == pytest.approx(0.15125)
    assert entry("SGD, sampled", "scaling")["ours"] < 70 < entry("SGD, sampled", "scaling")["own_formula"]
    rng = np.random.default_rng(0)
    n, batch, noise, order = 8, 3, 2.0, 3.0
    for _ in range(5):  # every batch enumerated: rows that move along a line
        d = rng.uniform(0, 0.5, n)
        moves = [sum(d[list(b)]) for b in itertools.combinations(range(n), batch)]
        parts = [[(1 / len(moves), m * s, noise) for m in moves] for s in (0.0, 1.0)]
        claimed = shifted_curve(float(d.max()), float(d.sum()), n, batch, 1, noise)(order)
        assert renyi(parts[1], parts[0], order) <= claimed * (1 + 1e-6)


def test_scaling_with_gaussian_noise_is_printed_far_below_its_own_formula() -> None:
    cell = entry("Gaussian", "scaling")
    assert cell["printed"] == pytest.approx(34.65)
    assert cell["own_formula"] == pytest.approx(421.05)
    assert cell["ours"] == pytest.approx((1 + 2 / 0.5 * np.sqrt(1 + 1 / 0.25)) ** 2 / 2, rel=1e-6)
    descent = entry("DP-GD", "scaling")
    assert (descent["printed"], descent["own_formula"]) == (pytest.approx(37.8), pytest.approx(424.2))


@pytest.mark.parametrize("name", ["deduplication", "quantization", "imputation", "PCA"])
@pytest.mark.parametrize("mechanism", ["Gaussian", "DP-GD", "Laplace, exponential"])
def test_the_other_entries_follow_from_the_papers_own_inputs(mechanism: str, name: str) -> None:
    cell = entry(mechanism, name)
    assert cell["printed"] == pytest.approx(cell["own_formula"])


def test_both_columns_of_table_2_are_about_one_collection() -> None:
    """At most ten rows within 4 eta: the largest good cluster has ten. Without that, nothing better than group privacy."""
    assert tables.COLLECTION.startswith(
        f"clusters: data sets in R^10 with at most {tables.CLUSTER} rows within 4η"
    )
    wide = {r["preprocessing"]: r["ours"] for r in tables.wider()}
    assert wide["deduplication"] == pytest.approx((1 + 999) ** 2 / 2)
    assert wide["quantization"] == pytest.approx((1 + 2 * 0.05 * 999) ** 2 / 2)


def test_clusters_pay_for_two_sites_and_for_rows_that_are_dropped() -> None:
    """Crowd 10: 2 (10 - 1) rows, each dropped, or moved by eta = 0.05 on average."""
    assert entry("Gaussian", "deduplication")["ours"] == pytest.approx((1 + 18) ** 2 / 2)
    assert entry("DP-GD", "deduplication")["ours"] == pytest.approx((2 + 18) ** 2 / 2)
    assert entry("Gaussian", "quantization")["ours"] == pytest.approx((1 + 0.9) ** 2 / 2, rel=1e-5)
    assert entry("SGD, one pass", "deduplication")["ours"] is None


def test_pca_costs_12_over_the_gap_in_the_paper_and_less_than_one_over_it_here() -> None:
    cell = entry("Laplace, exponential", "PCA")
    assert cell["printed"] == pytest.approx(1 + 12.2 / 0.1)
    assert cell["ours"] < 1 + 1 / 0.1


def test_two_data_sets_show_that_the_printed_scaling_entry_under_reports() -> None:
    row = scaling.scaling_attack()[0]
    assert row["total_shift"] == pytest.approx(169.1, abs=0.05)
    assert row["factor"] > 3 * row["printed"] and row["printed"] == pytest.approx(4201.05)
    assert row["total_shift"] <= row["bound"] < row["total_shift"] / 0.84
    one, two = scaling.scaling_pair(4001, 0.1)
    assert min(one.std(), two.std()) >= 0.1 and np.sum(one != two) == 1
    assert max(abs(one).max(), abs(two).max()) <= 1.0


def test_a_triangle_wave_turns_the_whole_shift_into_a_change_of_its_sum() -> None:
    """The statistic of slope 1 and range 1 that the entry is about, so the counter-example is one to Table 2."""
    one, two = ((x - x.mean()) / x.std() for x in scaling.scaling_pair(4001, 0.1))

    def wave(z: np.ndarray) -> np.ndarray:
        return np.abs((z * (1 - 1e-3) + 2) % 2 - 1)  # slope 1 at most, range 1, peak at zero

    change = abs(wave(one[1:]).sum() - wave(two[1:]).sum())
    assert change > 0.99 * scaling.scaling_attack()[0]["total_shift"]


def test_table_3_ours_is_never_beaten_and_two_of_the_papers_are() -> None:
    rows = {r["imputation"]: r for r in tables.table_3()}
    assert set(rows) == {"mean", "median", "trimmed mean", "regression"}
    for row in rows.values():
        assert row["happens"] <= row["ours"] * (1 + 1e-9)
    assert rows["mean"]["happens"] == pytest.approx(0.028554, abs=1e-6) and rows["mean"]["paper"] == 0.02
    assert rows["trimmed mean"]["paper"] < 0 < rows["trimmed mean"]["happens"]


# ---- figures ------------------------------------------------------------------------------------------
def test_figures_are_drawn_and_written_and_a_second_run_goes_on(tmp_path: Path) -> None:
    text = run("preprocessing-figures", "--small", "--out", str(tmp_path))
    assert "VACUOUS" in " ".join(text.split()) and "buys nothing" not in text
    for name in ("figure_2", "figure_3", "gain"):
        assert (tmp_path / f"{name}.png").read_bytes()[:4] == PNG
    written = (tmp_path / "numbers.json").read_text(encoding="utf-8")
    numbers = json.loads(written)
    assert set(numbers) == {"figure_2", "gain", "figure_3", "table_4", "errata", "verdicts"}
    verdicts = {v["item"]: v["verdict"] for v in numbers["verdicts"]}
    assert verdicts == {
        "Figure 2": "paper is wrong",
        "Figure 3": "not decided at this size",
        "Table 4": "not decided at this size",
    }
    facts, points = numbers["figure_3"]["facts"], numbers["figure_3"]["points"]
    assert 0 < facts["eigenvalue_k_plus_1"] < facts["eigenvalue_k"]
    assert facts["tail"] > 0
    shifts = facts["total_shift"]
    assert shifts[third.PAPER] == pytest.approx(12.2 / facts["gap"])
    assert shifts["soft PCA, λ = 0.1"] < shifts[third.GAP_FREE] < shifts[third.PAPER]
    assert {(p["learner"], p["method"]) for p in points} == {
        (who, name)
        for who, names in {
            third.THEIRS: (third.NOTHING, third.FREE, third.UNSCALED, third.PAPER, third.DP_PCA, third.GAUSS),
            third.OURS: (third.NOTHING, third.FREE, third.PAPER, third.GAP_FREE, third.DP_PCA, third.GAUSS)
            + tuple(f"soft PCA, λ = {s}" for s in third.STRENGTHS),
        }.items()
        for name in names
    }
    assert {p["guarantee"] for p in points if p["method"] in (third.FREE, third.UNSCALED)} == {"none"}
    assert all(0 <= p["accuracy"] <= 1 and p["excess_loss"] > -1e-6 for p in points)
    run("preprocessing-figures", "--small", "--out", str(tmp_path))
    assert (tmp_path / "numbers.json").read_text(encoding="utf-8") == written  # no run was made twice


def test_figure_2_ours_is_below_groups_and_below_the_paper_where_the_paper_holds() -> None:
    panels = figures.figure_2(small=True)
    assert list(panels) == ["quantization", "imputation", "pca"]
    for rows in panels.values():
        for row in rows:
            for line in row:
                if line.startswith("ours"):
                    assert row[line] <= row["group"] * (1 + 1e-9)
                    printed = row.get(line.replace("ours", "paper"))
                    assert printed is None or row[line] <= printed


def test_the_direct_route_never_loses() -> None:
    settings = figures.gain(small=True)
    assert len(settings) >= 10
    for setting in settings:
        assert setting["direct"] <= min(setting["smooth"], setting["group"]) * (1 + 1e-9)


@pytest.mark.slow
def test_the_direct_route_never_loses_in_1000_settings() -> None:
    settings = figures.gain()
    assert len(settings) == 1000
    assert all(s["direct"] <= min(s["smooth"], s["group"]) * (1 + 1e-9) for s in settings)


def test_prices_in_the_papers_own_setting() -> None:
    """The gap is 0.0008 and the tail 1.3e-5: 12.2 / gap against 35.5, and 1.6 to 5.6 for soft PCA."""
    shifts = third.prices(data.LARGE, 0.000806, 1.3e-5)
    assert shifts[third.PAPER] == pytest.approx(15_136, abs=1)
    assert shifts[third.GAP_FREE] == pytest.approx(1000 * (np.sqrt(1.3e-5) + np.sqrt(1.013e-3)))
    assert shifts["rank reduction in R^d, by the gap"] == pytest.approx(
        999, rel=1e-6
    )  # the whole ball: vacuous, too
    soft = [shifts[f"soft PCA, λ = {s}"] for s in third.STRENGTHS]
    assert all(found <= 1 / np.sqrt(2 * s) for found, s in zip(soft, third.STRENGTHS))  # 2.2, 4.1, 7.1
    assert soft == [pytest.approx(v, abs=0.06) for v in (1.6, 3.0, 5.6)]


@pytest.mark.slow
def test_the_papers_data_have_a_positive_tail_and_no_usable_gap() -> None:
    task = data.make_task(data.LARGE)
    assert 0 < task.eigenvalues[50] < 1e-6 and task.tail == pytest.approx(1.3e-5, rel=0.01)
    assert 1 / data.LARGE.n > task.gap == pytest.approx(0.000806, rel=0.01)
    assert np.linalg.norm(task.rows - task.rows @ task.basis @ task.basis.T) < 1e-9


def test_least_losses_are_least() -> None:
    from sklearn.linear_model import LogisticRegression

    task = data.make_task(data.SMALL)
    rows, labels = task.raw[:, :5] / task.raw.std(), task.labels
    model = LogisticRegression(C=1e8, max_iter=10_000).fit(rows, labels)
    found = data.mean_loss(model.decision_function(rows), labels)
    assert data.free_loss(rows, labels) == pytest.approx(found, abs=1e-6)
    assert data.least_loss(rows, labels) >= found - 1e-9


def test_models_are_trained_with_the_noise_their_plan_asks_for() -> None:
    task = data.make_task(data.SMALL)
    mu = gdp_mu(10.0, data.DELTA)
    scores, noise = data.train(task.rows, task.labels, mu, total=3.0)
    learner = data.our_learner(1.0)
    lipschitz = learner.loss.input_lipschitz(learner.row_norm(1.0), data.BALL)
    assert noise == pytest.approx(
        (2 * learner.clip(1.0) + 3.0 * lipschitz) * np.sqrt(data.STEPS) / mu, rel=0.01
    )
    assert data.mean_loss(scores, task.labels) > task.least
    assert not data.train(task.rows, task.labels, 0.01 * mu, total=1e9)[
        0
    ].any()  # no step: the weights are zero


def test_the_papers_learner_has_the_noise_of_its_account_and_of_the_papers_price(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Recomputed from the account: Poisson batches of 64 of 200, 30 steps, add-or-remove-one."""
    from prepriv.learners.stochastic import PoissonSGD

    used, trained = [], PoissonSGD.train

    def train(self, rows, setting, run):  # type: ignore[no-untyped-def]
        used.append((self, setting, run.noise_multiplier))
        return trained(self, rows, setting, run)

    monkeypatch.setattr(PoissonSGD, "train", train)
    task = data.make_task(data.SMALL)
    reduced = task.raw @ task.directions
    for tau in (0.0, 4.0):
        data.train_as_printed(reduced, task.labels, 2.0, task.size.radius, tau)
    (learner, setting, plain), (_, _, priced) = used
    assert (learner.batch_size, learner.steps, learner.clip_norm, learner.learning_rate) == (
        64,
        30,
        10.0,
        0.01,
    )
    assert 1.9 < learner.tradeoff(plain, setting, delta=1e-5).epsilon(1e-5) <= 2.0
    assert priced == pytest.approx(plain * np.sqrt(1.05 * (4 + 16) / 2))


def test_the_noise_of_the_figure_is_that_of_a_plan_and_no_less() -> None:
    from prepriv import payment as pay
    from prepriv import preprocessing as pre
    from prepriv.domain import Domain
    from prepriv.plans.plan import make_plan

    task = data.make_task(data.SMALL)
    n, d = task.rows.shape
    step = pre.SoftPCA(0.03, payment=pay.Sensitivity())
    plan = make_plan(
        Domain.ball(d, [0, 1]), [step], data.our_learner(1.0), epsilon=10.0, delta=data.DELTA, n=n
    )
    total = third.prices(data.SMALL, 0.001, 1e-4)["soft PCA, λ = 0.03"]
    assert total == pytest.approx(plan.incoming.total_shift)
    noise = data.train(task.rows, task.labels, gdp_mu(10.0, data.DELTA), total)[1]
    assert plan.learner_noise * (1 - 1e-3) <= noise <= plan.learner_noise * 1.1


def test_soft_pca_by_singular_values_is_the_step() -> None:
    from prepriv import payment as pay
    from prepriv import preprocessing as pre
    from prepriv.space import Space

    rows = data.make_task(data.SMALL).rows[:, :40]
    space = Space.ball(40, 1.0)
    fitted = pre.SoftPCA(0.05, payment=pay.Sensitivity()).fit_confidential([rows], space, len(rows))
    assert np.abs(fitted.transform(rows) - third.soft(rows, 0.05)).max() < 1e-5


def test_orders_are_told_from_chance_and_from_noise() -> None:
    def point(name: str, loss: float, guarantee: str = "yes") -> dict[str, object]:
        held = {"learner": third.OURS, "method": name, "epsilon": 1.0, "guarantee": guarantee}
        return held | {"excess_loss": loss, "excess_loss_error": 0.01}

    points = [point(third.NOTHING, 0.2), point("soft PCA, λ = 0.1", 0.19), point(third.FREE, 0.0, "none")]
    assert third.ordering(points, third.OURS, 0.3) == "soft PCA, λ = 0.1 (ε = 1)"
    assert third.ordering(points, third.OURS, 0.2) == "guessing (ε = 1)"
    assert third.steps_that_win(points) == []  # 0.01 is less than two standard errors
    points[1] = point("soft PCA, λ = 0.1", 0.1)
    assert third.steps_that_win(points) == [f"soft PCA, λ = 0.1, {third.OURS}, ε = 1"]


# ---- soft PCA -----------------------------------------------------------------------------------------
def digits_file(path: Path) -> Path:
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    x = (x * 15).astype(np.uint8).reshape(-1, 8, 8)
    np.savez(path, x_train=x[:1500], y_train=y[:1500], x_test=x[1500:], y_test=y[1500:])
    return path


def test_soft_pca_prints_price_and_accuracy_of_every_method(tmp_path: Path) -> None:
    file = digits_file(tmp_path / "digits.npz")
    text = run("soft-pca", "--data", str(file), "--out", str(tmp_path), "--rows", "900", "--epsilon", "50")
    assert "hard PCA" in text
    assert (tmp_path / "soft_pca.png").read_bytes()[:4] == PNG
    numbers = json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))
    rows = {r["method"]: r for r in numbers["rows"]}
    assert numbers["n"] == 900 and len(rows) == 9
    assert rows["no PCA"]["price"] == 1.0 and rows["no PCA"]["accuracy"] > 0.5
    prices = [rows[f"soft PCA, λ = {s}"]["price"] for s in ("0.1", "0.01", "0.001")]
    assert 1 < prices[0] < prices[1] < prices[2]
    for row in rows.values():
        assert (row["accuracy"] is None) == row["outcome"].startswith("refused")
        assert row["claim"] == "unconditional"


def test_soft_pca_small_needs_no_file_and_prints_its_verdict(tmp_path: Path) -> None:
    text = run("soft-pca", "--small", "--out", str(tmp_path))
    assert "Algorithm 1" in text and "not decided at this size" in " ".join(text.split())
    assert json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))["n"] == 1497


def test_soft_pca_names_what_is_wrong(tmp_path: Path) -> None:
    bad = tmp_path / "bad.npz"
    bad.write_bytes(b"no archive")
    for arguments in (
        ["--data", str(bad)],
        ["--data", str(tmp_path)],  # a folder without mnist.npz
        ["--data", str(digits_file(tmp_path / "d.npz")), "--epsilon", "0"],
    ):
        result = CliRunner().invoke(app, ["reproduce", "soft-pca", "--out", str(tmp_path / "o"), *arguments])
        assert isinstance(result.exception, Stop) and "--" in str(result.exception)
