"""`prepriv reproduce sgd-iteration` and `ptr-utility`: Theorem 15 and Proposition 9, printed, by their proofs, and ours."""

from __future__ import annotations

import math

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import prepriv_papers as papers
from prepriv.commands.exits import Stop
from prepriv_papers.provable_privacy.calculators import proposition_9, theorem_15

app = typer.Typer()
app.add_typer(papers.app, name="reproduce")


def test_theorem_15_is_its_formula_and_ours_is_below_what_its_proofs_give() -> None:
    n, kappa, epsilon, order, tau = 1000, 10, 0.02, 11.0, 2.0
    found = theorem_15(n, kappa, epsilon, order, tau)
    sigma = math.sqrt(2 * math.log(n) / n) * 8 / epsilon
    assert found["noise"] == pytest.approx(sigma)
    assert found["printed_rdp"] == pytest.approx(order * epsilon**2 / 2)
    assert found["proof_rdp"] == pytest.approx(4 * order * math.log(n) / (n * sigma**2))  # Lemma H
    assert found["printed_rdp"] == pytest.approx(16 * found["proof_rdp"])
    spread = order * tau**2 * n * math.log(n - kappa + 2) / (2 * (n - kappa + 1) * math.log(n))
    assert found["printed_srdp"] == pytest.approx(spread)
    last_line = 4 * order * tau**2 * math.log(n - kappa + 2) / (sigma**2 * (n - kappa + 1))  # of its proof
    assert found["proof_srdp"] == pytest.approx(last_line)
    assert found["ours_rdp"] <= found["proof_rdp"]
    assert found["ours_srdp"] <= found["proof_srdp"]


@pytest.mark.parametrize("first", [1, 20, 60])
def test_ours_beside_theorem_15_holds_for_one_moved_row_by_integration(first: int) -> None:
    """Linear losses: the last iterate is N(shift, T sigma²) if the record came before the stop T, which is uniform."""
    n, order, tau = 60, 2.0, 1.0
    found = theorem_15(n, 1, 0.5, order, tau)
    sigma = found["noise"]
    x = np.linspace(-20 * sigma * math.sqrt(n), 20 * sigma * math.sqrt(n), 200_001)
    stops = np.arange(1, n + 1)

    def density(moved: bool) -> np.ndarray:
        parts = [
            np.exp(-((x - tau * (moved and stop >= first)) ** 2) / (2 * stop * sigma**2)) / math.sqrt(stop)
            for stop in stops
        ]
        total = np.sum(parts, axis=0)
        return np.asarray(total / total.sum())

    p, q = density(True), density(False)
    divergence = math.log(float((p**order * q ** (1 - order)).sum())) / (order - 1)
    assert 0 <= divergence <= found["ours_srdp"] * (1 + 1e-6) + 1e-12


def test_theorem_15_is_refused_outside_its_condition_with_the_epsilon_that_meets_it() -> None:
    with pytest.raises(ValueError, match=r"for ε below 0\.0317"):
        theorem_15(1000, 10, 0.05, 11.0, 2.0)
    assert theorem_15(1000, 10, 0.0316, 11.0, 2.0)["noise"] > 0


def test_proposition_9_as_printed_and_where_both_its_claims_can_be_checked() -> None:
    found = proposition_9(1000, 50, 1.0, 1e-5, 0.4, 0.1, 0.01)
    far = 0.3 * 1000
    assert found["printed_refused"] == pytest.approx(math.exp(-far / 12.2) / 2e-5)
    # At least (gap - beta) n / 2 records away; the test passes unless Laplace noise takes it below log(2/delta).
    assert found["refused"] == pytest.approx(0.5 * math.exp(math.log(2 / 1e-5) - far / 2))
    learning = math.sqrt(1 + 50 * math.log(1e5)) / 1000
    assert found["printed_risk"] == pytest.approx(learning + 0.02)
    assert found["risk"] == pytest.approx(learning + 0.2)
    for far in np.geomspace(1e-3, 1e3, 200):  # wherever the printed chance says anything, it holds
        at = proposition_9(1000, 50, 1.0, 1e-5, far / 1000, 0.0, 0.01)
        assert at["printed_refused"] >= 1 or at["refused"] <= at["printed_refused"]


def test_proposition_9_says_nothing_on_the_data_of_figure_3() -> None:
    result = CliRunner().invoke(app, ["reproduce", "ptr-utility"])
    text = " ".join(result.output.split())
    assert result.exit_code == 0 and "Proposition 9, refusal" in text and "6.683e+04; above 1" in text


def test_commands_print_verdicts_and_name_what_is_wrong() -> None:
    result = CliRunner().invoke(app, ["reproduce", "sgd-iteration"])
    text = " ".join(result.output.split())
    assert result.exit_code == 0 and "Theorem 15, SRDP" in text and "paper is wrong" in text
    for arguments in (
        ["sgd-iteration", "--order", "1"],
        ["sgd-iteration", "--epsilon", "1"],
        ["ptr-utility", "--declared", "1"],
    ):
        assert isinstance(CliRunner().invoke(app, ["reproduce", *arguments]).exception, Stop)
