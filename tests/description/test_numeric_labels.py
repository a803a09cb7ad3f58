"""Labels that are numbers: with few common values, declared with their bounds, or declared as numbers alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import yaml

import prepriv
from prepriv import Domain, Numeric
from prepriv.cli import run
from prepriv.description.draft import release_draft
from prepriv.description.draft_bounds import stand_out_together
from prepriv.description.draft_plan import plan_draft
from prepriv.description.magnitudes import BINS, TEXT, ZERO, bin_of, ends
from prepriv.guarantees.drafts import drafts_cost
from prepriv.ledger import Ledger
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import NoisySession
from prepriv.schemas.declared_file import BadSchema
from prepriv.schemas.schema import load_schema

N = 2000
NAMES = [f"c{i}" for i in range(12)]


def incomes(n=N, seed=0, gaps=0.18):
    """An income with 35 % zeros and many values, beside columns that say nothing."""
    rng = np.random.default_rng(seed)
    paid = rng.lognormal(10.2, 0.9, n)
    paid = np.where(rng.random(n) < 0.5, paid.round(-4), paid.round(-1))  # some amounts are common
    paid[rng.random(n) < 0.45] = 0.0
    rows = {name: ["u", "v"] * (n // 2) for name in NAMES}
    return pd.DataFrame(rows | {"income": np.where(rng.random(n) < gaps, np.nan, paid)})


def planned(epsilon, n=N, **more):
    return plan_draft([*NAMES, "income"], label="income", n=n, epsilon=epsilon, delta=1e-6, **more)


def drafts(table, times=12, n=N, **more):
    plan = planned(n=n, **more)
    frame = pa.Table.from_pandas(table, preserve_index=False)
    return [release_draft(plan, frame, NoisySession(NoiseSource.for_tests(seed))) for seed in range(times)]


def test_a_numeric_label_with_few_common_values_is_a_number_at_every_budget_that_shows_its_range():
    """At ε = 1, 7 of 8 drafts raised or wrote `classes: ['0']`; at ε = 8 its common amounts were six classes."""
    for epsilon in (1.0, 2.0, 8.0):
        made = drafts(incomes(), epsilon=epsilon)
        assert sum(one.target is not None for one in made) >= 11, epsilon
        for one in made:
            if one.target is not None:
                assert one.target.low <= 0 and 30_000 < one.target.high < 2e6, epsilon
                assert any("drafted for regression" in line for line in one.told())


def test_declared_as_a_number_its_range_is_seen_with_less():
    assert planned(0.5, target="numeric").a_range < 0.75 * planned(0.5).a_range
    made = drafts(incomes(), epsilon=0.5, target="numeric")
    assert sum(one.target is not None for one in made) >= 11
    assert "that the label 'income' is a number" in made[0].text() and not made[0].classes
    assert sum(one.target is not None for one in drafts(incomes(), epsilon=0.5)) < 9


@pytest.mark.parametrize(
    "label",
    [
        np.tile([1, 2, 3, 4, 5], N // 5),
        np.where(np.arange(N) % 5 < 3, np.nan, np.arange(N) % 2),  # most have no label
        np.where(np.arange(N) % 10 < 1, np.arange(N) % 7 + 5, np.arange(N) % 2),  # one in ten has rarer ones
        np.where(np.arange(N) % 5 < 3, np.nan, np.arange(N) % 2).astype(str),
    ],
    ids=["ratings", "gaps", "rare ones", "gaps in texts"],
)
def test_common_values_that_most_numbers_have_stay_classes(label):
    for epsilon in (1.0, 4.0):
        assert all(one.target is None for one in drafts(incomes().assign(income=label), 4, epsilon=epsilon))


def test_a_number_whose_range_is_not_seen_lists_no_class_and_says_what_is_free(tmp_path, capsys):
    table = incomes(gaps=0.0)
    table.loc[np.arange(N) % 50 > 0, "income"] = 0.0  # forty others, which no draft sees
    table.to_csv(tmp_path / "t.csv", index=False)
    paid = ["--epsilon", "0.5", "--rows", str(N), "--out", str(tmp_path / "S.yaml")]
    assert run(["schema", "init", str(tmp_path / "t.csv"), *paid]) == 0
    told = capsys.readouterr().err
    assert "--target LOW,HIGH" in told and "its range was not seen" not in told
    assert "TO BE COMPLETED: the label 'income' has numbers" in told and "range was not seen" in told
    said = yaml.safe_load((tmp_path / "S.yaml").read_text(encoding="utf-8"))
    assert said["draft"] is True and said["label"] == {"name": "income"}
    with pytest.raises(BadSchema, match=r"have to complete"):
        load_schema(tmp_path / "S.yaml")
    text = (tmp_path / "S.yaml").read_text(encoding="utf-8").replace("draft: true\n", "")
    (tmp_path / "S.yaml").write_text(text.replace("name: income", "name: income\n  low: 0\n  high: 450000"))
    assert load_schema(tmp_path / "S.yaml").domain().target == Numeric(0, 450_000)
    with pytest.raises(ValueError, match=r"target=prepriv.Numeric\(low, high\)"):
        Domain.draft(table, label="income", epsilon=0.5)


def test_a_label_written_as_dates_is_a_number_too_and_one_of_nearly_one_value_is_not():
    days = pd.date_range("2001-01-01", periods=N).astype(str)
    for made in drafts(incomes().assign(income=days), 4, epsilon=2.0):
        assert made.target is not None and made.target.written == "date"
    rare = incomes().assign(income=(np.arange(N) % 25 == 0).astype(int))
    made = drafts(rare, 40, epsilon=1.0)
    assert all(one.target is None for one in made) and any(one.classes == ("0",) for one in made)
    assert all("classes:" not in one.text().split("label:")[1] for one in made if len(one.classes) < 2)


def test_declared_bounds_cost_nothing_and_nothing_of_the_label_leaves():
    drafted, declared = planned(1.0), planned(1.0, target=Numeric(0, 450_000))
    gone = {p.name for p in drafted.look.parts} - {p.name for p in declared.look.parts}
    assert gone == {"label", "first target", "second target"}
    assert declared.needs.a_class is None and declared.needs.a_category < drafted.needs.a_category
    assert declared.look.hash != planned(1.0, target=Numeric(0, 400_000)).look.hash
    made = []
    for labels in (0.0, "x"):
        table = pa.Table.from_pandas(incomes().assign(income=labels), preserve_index=False)
        one = release_draft(declared, table, declared.look.session(NoisySession(NoiseSource.for_tests(1))))
        made.append((one.text(), one.told()))
    assert made[0] == made[1] and "the bounds of the label 'income'" in made[0][0]


def test_a_claim_says_that_the_bounds_were_declared():
    domain = Domain.draft(incomes(), label="income", epsilon=1.0, target=Numeric(0, 450_000))
    assert domain.target == Numeric(0, 450_000) and domain.drafts[0].declared_label
    assert Domain.from_json(domain.to_json()) == domain and domain.as_drafted
    assert "its bounds and categories," in drafts_cost(domain)
    ranged = Domain.draft(incomes(), label="income", epsilon=4.0, target="numeric")
    assert ranged.target is not None and not ranged.drafts[0].declared_label


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("450000", "LOW,HIGH"),
        ("0,a", "LOW,HIGH"),
        ("5,1", "LOW,HIGH"),
        ("number", "LOW,HIGH"),
        ("", "LOW,HIGH"),
    ],
)
def test_a_target_that_cannot_be_is_refused_before_the_charge(tmp_path, capsys, option, said):
    incomes(100).to_csv(tmp_path / "t.csv", index=False)
    Ledger.create(tmp_path / "L.db", "few", epsilon=9, delta=1e-3)
    paid = ["--epsilon", "1", "--rows", "2000", "--ledger", str(tmp_path / "L.db")]
    assert run(["schema", "init", str(tmp_path / "t.csv"), *paid, "--target", option]) == 2
    assert said in capsys.readouterr().err and Ledger.open(tmp_path / "L.db").entries() == ()


def test_the_command_takes_bounds_or_the_word(tmp_path, capsys):
    incomes().to_csv(tmp_path / "t.csv", index=False)
    for option, out in (("-5,450000", "A.yaml"), ("numeric", "B.yaml")):
        more = ["--epsilon", "2", "--rows", str(N), "--target", option, "--out", str(tmp_path / out)]
        assert run(["schema", "init", str(tmp_path / "t.csv"), *more]) == 0
    assert load_schema(tmp_path / "A.yaml").domain().target == Numeric(-5, 450_000)
    assert load_schema(tmp_path / "B.yaml").domain().target is not None
    capsys.readouterr()
    assert run(["schema", "init", str(tmp_path / "t.csv"), "--target", "0,1"]) == 2
    assert "--target: only a private draft" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["number", (0, 1), 3, prepriv.Categorical(["a"])])
def test_other_targets_are_refused_and_so_are_classes_beside_one(target):
    with pytest.raises(ValueError, match=r"target must be Numeric"):
        planned(1.0, target=target)
    with pytest.raises(ValueError, match="exclude each other"):
        planned(1.0, target=Numeric(0, 1), classes=["a", "b"])


def test_too_few_records_for_a_range_are_refused_before_the_charge():
    with pytest.raises(ValueError, match="Nothing was charged"):
        planned(0.2, n=700, target="numeric")
    least = planned(1.0, target="numeric")
    assert least.a_range < N and f"{least.a_range:,} records" in " ".join(least.said())


def test_a_sum_over_sizes_leaves_zero_out_and_hardly_ever_sees_noise():
    """Zeros and the smallest power of two beside them were a range, if zeros counted."""
    zeros = np.zeros(BINS)
    zeros[ZERO] = 900.0
    least = planned(1.0).seen_together
    assert not len(stand_out_together(zeros, np.array([ZERO]), 50.0, least))
    zeros[bin_of(1024.0) : bin_of(1024.0) + 4] = (140.0, 170.0, 150.0, 40.0)  # none above four deviations
    found = stand_out_together(zeros, np.array([ZERO]), 50.0, least)
    assert (ends(int(found[0]))[0], ends(int(found[-1]))[1]) == (1024.0, 8192.0)
    noise = np.random.default_rng(0)
    seen = [
        len(
            stand_out_together(
                np.append(noise.normal(size=TEXT), np.zeros(BINS - TEXT)), np.array([], int), 1.0, least
            )
        )
        for _ in range(2000)
    ]
    assert np.mean(np.array(seen) > 0) < 0.016  # 1 % by the bound; more than 1.6 % once in 300
