"""`prepriv shuffle` and `prepriv reproduce mixture-tables`, called as the command line calls them."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import prepriv_papers as reproduce
from prepriv import guarantees as g
from prepriv.commands.shuffle import shuffle
from prepriv.guarantees.printed import up
from prepriv_papers.unified_enhancement.tables import joint_concavity_only

app = typer.Typer()
app.command("shuffle")(shuffle)
app.add_typer(reproduce.app, name="reproduce")
PNG = b"\x89PNG"
EPSILONS = np.linspace(0.0, 1.5, 31)


def run(*arguments: str) -> tuple[int, str, BaseException | None]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output, result.exception


def test_prints_every_method_on_a_line_of_its_own() -> None:
    code, text, _ = run("shuffle", "--epsilon0", "4.444", "--n", "10000", "--delta", "1e-6")
    assert code == 0
    lines = text.splitlines()
    for title, method in [
        ("exact", "exact"),
        ("Unified Enhancement of Privacy Bounds", "paper"),
        ("Feldman", "fmt"),
    ]:
        expected = g.shuffle(4.444, 10_000, method=method).epsilon(1e-6)
        assert sum(up(expected, 10) in line and line.startswith(title) for line in lines) == 1
    assert any("no shuffling" in line and "4.444" in line for line in lines)
    assert "truncated mass 1.1e-13, included" in text
    assert "replace-one" in text


def test_known_randomizer_is_listed_first() -> None:
    code, text, _ = run(
        "shuffle", "--epsilon0", "1", "--n", "500", "--delta", "1e-5", "--randomizer", "k-rr=10"
    )
    expected = g.shuffle(1.0, 500, randomizer=g.k_randomized_response(10)).epsilon(1e-5)
    assert code == 0 and up(expected, 10) in text
    assert (
        run("shuffle", "--epsilon0", "1", "--n", "50", "--delta", "1e-5", "--randomizer", "laplace")[0] == 0
    )


def test_plot(tmp_path: Path) -> None:
    picture = tmp_path / "out.png"
    code, _, _ = run("shuffle", "--epsilon0", "1", "--n", "1000", "--delta", "1e-6", "--plot", str(picture))
    assert code == 0
    assert picture.read_bytes()[:4] == PNG


@pytest.mark.parametrize(
    "arguments, name",
    [
        (("--epsilon0", "-1", "--n", "10", "--delta", "1e-6"), "epsilon0"),
        (("--epsilon0", "nan", "--n", "10", "--delta", "1e-6"), "epsilon0"),
        (("--epsilon0", "1", "--n", "0", "--delta", "1e-6"), "n"),
        (("--epsilon0", "1", "--n", "10", "--delta", "0"), "delta"),
        (("--epsilon0", "1", "--n", "10", "--delta", "1.5"), "delta"),
        (("--epsilon0", "1", "--n", "10", "--delta", "nan"), "delta"),
        (("--epsilon0", "1", "--n", "10", "--delta", "1e-6", "--plot", "out.txt"), "plot"),
        (("--epsilon0", "1", "--n", "10", "--delta", "1e-6", "--randomizer", "k-rr"), "randomizer"),
        (("--epsilon0", "1", "--n", "10", "--delta", "1e-6", "--randomizer", "k-rr=1"), "k"),
    ],
)
def test_bad_input_is_one_sentence_that_names_the_option(arguments: tuple[str, ...], name: str) -> None:
    _, text, error = run("shuffle", *arguments)
    assert isinstance(error, ValueError)
    assert str(error).startswith(f"{name} must") and "\n" not in str(error)
    assert text == ""


def test_mixture_tables_print_and_write_the_papers_numbers_beside_ours(tmp_path: Path) -> None:
    code, text, error = run("reproduce", "mixture-tables", "--out", str(tmp_path / "new" / "folder"))
    assert code == 0, error
    out = tmp_path / "new" / "folder"
    assert "Table 1" in text and "Table 2" in text and "NOT REPRODUCIBLE" in text
    for number in (1, 2, 3):
        assert (out / f"figure_{number}.png").read_bytes()[:4] == PNG
        assert len(list(csv.DictReader((out / f"figure_{number}.csv").open(encoding="utf-8")))) > 100
    numbers = json.loads((out / "numbers.json").read_text(encoding="utf-8"))
    for row in numbers["table_1"]:
        # every printed entry is Theorem 4.2 rounded to one digit
        assert f"{row['theorem_4_2']:.0e}".replace("e-0", "e-") == row["paper"]
        assert row["exact"] < row["theorem_4_2"] < row["closed_form"]
    for row in numbers["table_2"]:
        assert round(row["theorem_4_2"], 1) == float(row["paper"])
        assert float(row["paper_lower"]) < row["exact"] < row["theorem_4_2"]
    tables = list(csv.DictReader((out / "table_1.csv").open(encoding="utf-8")))
    assert [float(row["epsilon"]) for row in tables] == [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    at = numbers["figure_2"]["alpha"].index(0.1)
    assert numbers["figure_2"]["random start, c = 1"][at] == pytest.approx(0.6769, abs=1e-4)
    assert numbers["figure_3"]["reproducible"] is False
    assert numbers["figure_3"]["delta"][1]["lemma_6_3"] == pytest.approx(1.4966e-6, rel=1e-4)
    assert numbers["figure_3"]["delta"][1]["lemma_3_1"] == pytest.approx(0.00330, rel=2e-3)
    assert numbers["figure_3"]["delta"][2]["lemma_3_1"] == pytest.approx(0.0020, rel=0.03)
    paper = numbers["figure_1"]
    for epsilon0 in ("2", "4.444", "6"):
        kinds = ("closed form of [23]", "Theorem 4.2", "exact")
        curves = [paper[f"{name}, ε0 = {epsilon0}"] for name in kinds]
        # Each curve is certified from below by lines: where they are sparse, by up to 1e-4. Deltas need no lines.
        assert all(a <= b + 1e-6 and b <= c + 1e-4 for a, b, c in zip(*curves))
        exact, theorem = (g.shuffle(float(epsilon0), 10_000, method=m) for m in ("exact", "paper"))
        assert np.all(exact.delta(EPSILONS) <= theorem.delta(EPSILONS) * (1 + 1e-9))


def test_joint_concavity_alone_against_its_definition() -> None:
    n, epsilon0, w = 9, math.log(2.0), 1.0 / 3.0
    for epsilon in (-0.8, 0.0, 0.5, 1.5):
        total = 0.0
        for c in range(n):
            mass = math.comb(n - 1, c) * (2 * w) ** c * (1 - 2 * w) ** (n - 1 - c) * 2.0**-c
            for x in range(c + 2):
                zero, one = (math.comb(c, x - 1) if x else 0), (math.comb(c, x) if x <= c else 0)
                total += mass * max(0.0, zero - math.exp(epsilon) * one)
        assert joint_concavity_only(epsilon0, n, epsilon) == pytest.approx(total, rel=1e-9)
