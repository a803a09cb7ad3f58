"""Ledgers that are given together: copies, sums, and charges of which no file was given."""

import json
import math
import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from forged_ledger import without_last

import prepriv
from prepriv.cli import run
from prepriv.commands.several import booked_together
from prepriv.learners import GradientDescent, Logistic
from prepriv.ledger import Ledger

ROWS = pd.DataFrame({"dose": np.linspace(0, 1, 50)})
DOMAIN = prepriv.Domain({"dose": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50)


def charge(place, uid, epsilon=1.0, delta=1e-5):
    return Ledger.open(place).charge(
        uid, "0" * 64, adjacency="replace-one", epsilon=epsilon, delta=delta, note="train: x"
    )


def verified(capsys, *line):
    capsys.readouterr()
    return run(["ledger", "verify", *map(str, line)]), capsys.readouterr().out


def test_a_copy_is_not_another_ledger_until_it_is_charged_too(tmp_path, capsys):
    """An older copy, which an auditor had kept, was called another ledger, and its cap was added."""
    ledger, older, empty = (tmp_path / f"{name}.db" for name in ("L", "older", "empty"))
    Ledger.create(ledger, "people", epsilon=4, delta=1e-4)
    shutil.copy(ledger, empty)
    charge(ledger, "a")
    shutil.copy(ledger, older)
    charge(ledger, "b")
    for order in ((ledger, older), (older, ledger)):
        code, said = verified(capsys, *order)
        assert code == 0 and f"{older}: ok, a copy of {ledger}, as it was at row 1 of 2" in said
        assert "add up" not in said and "together" not in said
    code, said = verified(capsys, ledger, empty)  # an empty ledger has no row that shows whose copy it is
    assert code == 5 and "add up to epsilon 8" in said and f"{empty} is empty: nothing shows" in said
    charge(older, "c")
    code, said = verified(capsys, ledger, older)
    assert code == 5 and said.count("add up to epsilon 8") == 2 and "same rows up to row 1" in said
    assert run(["ledger", "verify", str(ledger), str(ledger), "--json"]) == 0
    assert "copies" not in json.loads(capsys.readouterr().out)


def test_rows_that_two_ledgers_share_are_counted_once(tmp_path, capsys):
    """An older copy was charged on: rows 1 to 4 were in the sum twice, 4.1 for 2.6."""
    ledger, older, third = (tmp_path / f"{name}.db" for name in ("L", "older", "third"))
    Ledger.create(ledger, "people", epsilon=4, delta=1e-4)
    charge(ledger, "a", 1.0)
    shutil.copy(ledger, third)
    charge(ledger, "b", 0.5)
    shutil.copy(ledger, older)
    charge(ledger, "c", 0.3, 2e-5)
    charge(older, "d", 0.8)
    charge(third, "e", 0.25)
    for places, epsilon, delta in (
        ((ledger, older), "2.6", "5e-05"),  # 1 + 0.5, then 0.3 and 0.8
        ((third, ledger, older), "2.85", "6e-05"),
        ((ledger, older, third), "2.85", "6e-05"),
        ((older, third), "2.55", "4e-05"),
    ):
        code, said = verified(capsys, *places)
        assert code == 5
        assert (
            f"together (a row that several of them hold counts once): at most epsilon {epsilon} at delta {delta}"
            in said
        )
        assert f"hold together, each cap in full: at most epsilon {4 * len(places)} at" in said
    Ledger.create(tmp_path / "M.db", "others", epsilon=4, delta=1e-4)
    charge(tmp_path / "M.db", "f", 1.0)
    _, said = verified(capsys, ledger, tmp_path / "M.db")
    assert (
        "booked in them together: at most epsilon 2.8 at" in said and "in full" not in said
    )  # nothing is shared


def test_what_is_booked_in_several_ledgers_is_added_up(tmp_path, capsys):
    """Each ledger said what was left of it alone, and an assessment needs the sum."""
    places = [tmp_path / f"{name}.db" for name in "ab"]
    for place, cap in zip(places, (3.5, 3)):
        Ledger.create(place, place.stem, epsilon=cap, delta=1e-4)
    charge(places[0], "a", 1.5)
    charge(places[1], "b", 0.5, 2e-5)
    code, said = verified(capsys, *places)
    assert code == 8 and "booked in them together: at most epsilon 2 at delta 3e-05" in said
    assert said.count("ASK BEFORE YOU SIGN: whether these 2 ledgers are of the same people") == 1
    assert "right at most 99.9 times in 100. Then ask the curator why" in said  # only of "100" it was asked
    Ledger.create(tmp_path / "small.db", "small", epsilon=1, delta=1e-4)
    assert verified(capsys, places[0], tmp_path / "small.db")[0] == 0
    assert "left of their caps together: epsilon 4.5, delta 0.00017" in said
    assert "hold together: at most epsilon 6.5 at delta 0.0002" in said
    right = float(said.split("right at most ")[1].split()[0])
    assert 0 <= right - 100 * (math.exp(2) + 3e-5) / (math.exp(2) + 1) < 0.1
    for declared in ({"mu": 1, "unit": "gdp"}, {"epsilon": 1, "delta": 0, "adjacency": "add-or-remove-one"}):
        other = tmp_path / f"{len([*tmp_path.iterdir()])}.db"
        Ledger.create(other, "others", **declared)
        code, said = verified(capsys, places[0], other)
        assert code == 0 and "is not added up" in said and "together" not in said
    assert booked_together([]) == []


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two models and a holdout that one ledger paid for."""
    folder = tmp_path_factory.mktemp("runs")
    Ledger.create(folder / "L.db", "people", epsilon=4, delta=1e-3)
    for name, epsilon, holdout in (("a", 0.5, None), ("b", 1.0, 0.5)):
        clf = prepriv.PrivateClassifier(
            DOMAIN,
            epsilon=epsilon,
            steps=[],
            learner=GradientDescent(Logistic(), steps=2),
            ledger=folder / "L.db",
            holdout=holdout,
            threads=1,
        )
        model = clf.fit(ROWS, ["no", "yes"] * 25).model_
        model.save(folder / name / "model", ledger=folder / "L.db")
        clf.report_.save(folder / name / "report.html")
    return folder


def test_a_cap_that_hardly_limits_anything_is_asked_about(tmp_path, capsys):
    """Its exit code was 0, and only `report` had a line for it."""
    for at, (cap, high) in enumerate(
        (
            ({"epsilon": 6, "delta": 1e-4}, True),
            ({"epsilon": 4, "delta": 1e-4}, False),
            ({"unit": "gdp", "mu": 4.7}, True),
            ({"unit": "gdp", "mu": 4.6}, False),
            ({"unit": "zcdp", "rho": 11}, True),
            ({"unit": "zcdp", "rho": 10.5}, False),
            (
                {"epsilon": 6, "delta": 1e-4, "adjacency": "add-or-remove-one", "periods": "month of `seen`"},
                True,
            ),
        )
    ):
        place = tmp_path / f"{at}.db"
        Ledger.create(place, "people", **cap)
        code, said = verified(capsys, place)
        each = "cap of each month" if "periods" in cap else "cap"
        asked = f"ASK BEFORE YOU SIGN: why the {each} of {place} is so high: it hardly limits anything"
        assert (code, asked in said) == (8 if high else 0, high)
        assert said.endswith("exit code 8: not decided, or a question is open\n") == high


def test_charges_that_no_file_names_are_listed(runs, tmp_path, capsys):
    """Two earlier models of a ledger were not in the package, and nothing said so."""
    code, said = verified(capsys, runs / "L.db", runs / "a", runs / "b")
    assert code == 0 and "ASK" not in said
    code, said = verified(capsys, runs / "L.db", runs / "b")
    asked = f"ASK BEFORE YOU SIGN: what {runs / 'L.db'} paid for beside these files: "
    assert code == 8 and f"{asked}row 1, a model (epsilon 0.5" in said and said.count("ASK") == 1
    code, said = verified(capsys, runs / "L.db", runs / "a")
    assert code == 8 and f"{asked}row 3, a model with its score (epsilon 1" in said
    for alone in (None, "c.yaml"):  # a schema by hand names no charge
        line = ["ledger", "verify", str(runs / "L.db")]
        if alone is not None:
            (tmp_path / alone).write_text(
                "label: {name: y, classes: ['no', 'yes']}\ncolumns: {dose: {type: numeric, low: 0, high: 1}}\n"
            )
            line.append(str(tmp_path / alone))
        assert (run(line) == 8) == (asked in capsys.readouterr().out) == (alone is not None)
    assert run(["ledger", "verify", str(runs / "L.db"), str(runs / "a"), "--json"]) == 8
    told = json.loads(capsys.readouterr().out)
    assert [*told["not_given"]] == [str(runs / "L.db")]
    assert told["ask_of_ledgers"] == [*told["not_given"].values()]


def test_a_score_of_a_model_of_another_ledger_is_not_covered_by_its_own(runs, tmp_path, capsys):
    """What the ledger of the score holds in all was said to cover both, and the model was not in it."""
    other, score = tmp_path / "other.db", tmp_path / "score.html"
    Ledger.create(other, "people", epsilon=4, delta=1e-4)
    ROWS.assign(label=["no", "yes"] * 25).to_csv(tmp_path / "rows.csv", index=False)
    line = ["evaluate", runs / "a/model", tmp_path / "rows.csv", "--rows", 50, "--label", "label"]
    assert run([*map(str, line), "--epsilon", "1", "--ledger", str(other), "--out", str(score)]) == 0
    said = verified(capsys, runs / "L.db", other, runs / "a/model", runs / "a/report.html", score)[1]
    assert (
        "does not cover it, and this ledger did not charge the model" in said and "holds in all" not in said
    )


def test_models_of_the_same_columns_in_ledgers_of_other_names_are_asked_about(runs, tmp_path, capsys):
    """Two data sets with other names and one questionnaire ended with 0, and "charge 1" named no ledger."""
    other = tmp_path / "M.db"
    Ledger.create(other, "others", epsilon=0.5, delta=1e-4)
    for name, domain, same in (
        ("c", DOMAIN, True),
        ("d", prepriv.Domain({"dose_2": prepriv.Numeric(0, 1)}, classes=["no", "yes"], n=50), False),
    ):
        rows = ROWS.set_axis([*domain.columns], axis=1)
        learner = GradientDescent(Logistic(), steps=2)
        clf = prepriv.PrivateClassifier(
            domain, epsilon=0.2, steps=[], learner=learner, ledger=other, threads=1
        )
        clf.fit(rows, ["no", "yes"] * 25).model_.save(tmp_path / name, ledger=other)
        code, said = verified(capsys, runs / "L.db", other, runs / "a", tmp_path / name)
        asked = f"whether {runs / 'L.db'} and {other} are of the same people: {runs / 'a'}"
        assert code == 8 and (asked in said) == same
        assert f"model.json: ok, charge 1 of {runs / 'L.db'}\n" in said
        row = 1 if same else 3
        assert f"{tmp_path / name / 'model.json'}: ok, charge {row} of {other}\n" in said


def test_a_folder_that_is_not_there_is_no_ledger(runs, capsys):
    """A mistyped folder was called a ledger that does not exist."""
    for line in ((runs / "L.db", runs / "x"), (runs / "x", runs / "L.db"), (runs / "x",)):
        assert run(["ledger", "verify", *map(str, line)]) == 2
        assert f"{runs / 'x'} does not exist, as a ledger, a file or a folder" in capsys.readouterr().err
    assert run(["ledger", "verify", str(runs / "x.db")]) == 4


def test_the_rows_of_a_schema_are_no_finding_where_no_page_says_how_many_were_set_aside(
    runs, tmp_path, capsys
):
    """`rows:` of an untouched schema was called wrong, as the page that says how many rows were set aside differed."""
    given = tmp_path / "given"
    shutil.copytree(runs / "b", given)
    schema = "label: {name: y, classes: ['no', 'yes']}\ncolumns: {dose: {type: numeric, low: 0, high: 1}}\nrows: 50\n"
    (given / "S.yaml").write_text(schema)
    assert "S.yaml" in (said := verified(capsys, runs / "L.db", given)[1]) and "`rows: 50`" not in said
    page = given / "report.html"
    page.write_text(page.read_text().replace("ε = 1", "ε = 0.1"))
    code, said = verified(capsys, runs / "L.db", given)
    assert code == 5 and "`rows: 50` was not compared" in said and "row 3 paid for more" in said
    (given / "S.yaml").write_text(schema.replace("rows: 50", "rows: 1"))
    assert (
        "`rows: 1` is not the number of the model and its page" in verified(capsys, runs / "L.db", given)[1]
    )
    (given / "S.yaml").unlink()
    shutil.copy(runs / "a" / "model" / "model.json", given / "model" / "model.json")
    page.unlink()
    (given / "S.yaml").write_text(schema.replace("rows: 50", "rows: 51"))
    assert (
        "`rows: 51` is not the number of the model and its page" in verified(capsys, runs / "L.db", given)[1]
    )


def test_a_record_of_a_deployment_is_known_as_one(runs, tmp_path, capsys):
    record = tmp_path / "deployment.yaml"
    assert run(["report", str(runs / "a" / "model"), "--record", str(record)]) == 0
    code, said = verified(capsys, runs / "L.db", record)
    assert code == 8 and "deployment.yaml: NOT DECIDED, not compared: a record for the registry" in said


@pytest.fixture(scope="module")
def drafted(tmp_path_factory):
    """A draft that was charged to D.db, and answers and a run that were charged to M.db."""
    folder = tmp_path_factory.mktemp("drafted")
    level = np.random.default_rng(0).random(1500)
    table = pd.DataFrame({"a": level.round(3), "y": np.where(level > 0.5, "yes", "no")})
    table.to_csv(folder / "t.csv", index=False)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.chdir(folder)
        warnings.simplefilter("ignore")
        for name in ("D", "M", "E"):
            Ledger.create(f"{name}.db", f"data of {name}", epsilon=2, delta=1e-4)
        draft = ["schema", "init", "t.csv", "--label", "y", "--epsilon", "0.4", "--delta", "1e-6"]
        assert run([*draft, "--rows", "1500", "--out", "S.yaml", "--ledger", "D.db"]) == 0
        used = ["--schema", "S.yaml", "--ledger", "M.db"]
        assert (
            run(
                ["ask", "t.csv", "mean(a)", *used, "--epsilon", "0.2", "--delta", "1e-6", "--out", "ans.json"]
            )
            == 0
        )
        assert run(["train", "t.csv", *used, "--epsilon", "1", "--holdout", "0.2", "--out", "run"]) == 0
    return folder


FILES = ("run/model/model.json", "run/report.html", "run/report.json")


def findings(out):
    """What is wrong with each file, by its name."""
    lines = [line.partition(": WRONG: ")[::2] for line in out.splitlines() if ": WRONG: " in line]
    assert len({name for name, _ in lines}) == len(lines)
    return dict(lines)


@pytest.mark.parametrize("places", [["M.db"], ["M.db", "E.db"]])
def test_a_draft_that_was_charged_elsewhere_is_not_the_charge_of_the_run(
    drafted, places, capsys, monkeypatch
):
    """A data protection officer read that M.db was made again, or that the run was not in it: the charge of the run was there."""
    monkeypatch.chdir(drafted)
    code, out = verified(capsys, *places, "run", "S.yaml")
    found, nowhere = findings(out), "not in this ledger" if len(places) == 1 else "in none of these ledgers"
    draft = f"the private draft (ε = 0.4 at δ = 1e-06) is {nowhere}"
    paid = f"its charge 3 is in M.db, and {draft}, which can pay for what the run alone claims. Give the ledger to which the draft was charged: its receipt there is 1:"
    assert code == 5 and {*found} == {*FILES, "S.yaml"}
    assert all(found[name].startswith(paid) for name in FILES)
    assert found["S.yaml"].startswith(f"{draft}: it was charged to another one, or ")
    assert "made again" not in "".join(found[name] for name in FILES)
    held = Ledger.open("D.db").entries()[0].head[:12]
    assert all(line.endswith(f": its receipt there is 1:{held}") for line in found.values())
    assert run(["ledger", "verify", *places, "run", "S.yaml", "--json"]) == 5
    assert json.loads(capsys.readouterr().out)["files"] == {name: [line] for name, line in found.items()}
    assert run(["report", "run", *(f"--ledger={place}" for place in places)]) == 1
    assert f"not charged: {draft}, which can pay for what the run alone claims" in capsys.readouterr().out


def test_of_a_run_that_is_in_no_ledger_given_both_charges_are_missed(drafted, capsys, monkeypatch):
    monkeypatch.chdir(drafted)
    code, out = verified(capsys, "E.db", FILES[0], "--json")
    own, draft = json.loads(out)["files"][FILES[0]]
    assert code == 5 and own.startswith("its charge 3 is not in this ledger: this copy, which ends at row 0")
    assert draft.startswith("the private draft (ε = 0.4 at δ = 1e-06) is not in this ledger, either. Give ")


@pytest.mark.parametrize("part", ["head", "plan_uid", "mu"])
def test_an_edited_receipt_of_a_draft_and_an_edited_model_are_called_so(
    drafted, part, tmp_path, capsys, monkeypatch
):
    """A model of which only the draft is elsewhere is compared with what its own charge paid for, too."""
    monkeypatch.chdir(drafted)
    data = json.loads((drafted / FILES[0]).read_text())
    for draft in (data["domain"]["drafts"][0], data["plan"]["domain"]["drafts"][0]):
        if part == "mu":
            draft.update(mu=1e300, delta=1e-300, leak=1e-300)  # numbers of which nothing can be computed
        else:
            draft["ledger"][part] = draft["ledger"][part][::-1]
    edited = tmp_path / "model.json"
    edited.write_text(json.dumps(data))
    code, out = verified(capsys, "M.db", *([] if part == "mu" else ["D.db"]), edited)
    assert code == 5 and f"{edited}: WRONG: its charge 3 paid for a file that is not this one" in out
    said = (
        {"head": "was edited, or D.db was made again", "plan_uid": "was edited"}[part]
        + ": a part of it is that of row 1 of D.db, and the rest is not"
        if part != "mu"
        else "its charge 1 is not in this"
    )
    assert said in out


def test_the_charges_of_two_ledgers_are_named_each_with_its_own(drafted, tmp_path, capsys, monkeypatch):
    """A run and its draft, each in the first row of its ledger: `charges 1, 1 of L.db and charges 1, 1 of drafts.db`."""
    monkeypatch.chdir(drafted)
    Ledger.create(tmp_path / "L.db", "people", epsilon=2, delta=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = ["train", "t.csv", "--schema", "S.yaml", "--ledger", str(tmp_path / "L.db"), "--epsilon", "1"]
        assert run([*made, "--out", str(tmp_path / "run")]) == 0
    _, out = verified(capsys, tmp_path / "L.db", "D.db", tmp_path / "run")
    assert out.count(f"charge 1 of {tmp_path / 'L.db'} and charge 1 of D.db") == 3 and "1, 1" not in out


def test_heads_of_several_ledgers_are_each_looked_for_in_their_own(tmp_path, capsys):
    """Officers who held the heads of two ledgers were told to verify each alone, and then no file of both packages was judged together."""
    places = [str(tmp_path / name) for name in ("A.db", "B.db")]
    for place, dataset in zip(places, ("farms", "voters")):
        Ledger.create(place, dataset, epsilon=2, delta=1e-4)
        charge(place, f"uid-{dataset}")
    heads = [f"1:{Ledger.open(place).entries()[-1].head}" for place in places]
    both = ["--receipt", heads[0], "--receipt", heads[1]]
    code, said = verified(capsys, *places, *both)
    assert code == 0 and "none of the receipts" not in said
    code, said = verified(capsys, *places, "--receipt", heads[0])
    assert code == 0 and f"{places[1]}: none of the receipts given is of this ledger" in said
    without_last(Path(places[1]))
    code, said = verified(capsys, *places, *both)
    lost = rf"^WRONG: .* {heads[1][:14]} is in none of these ledgers.* Nothing here shows to which .*"
    assert code == 5 and re.search(lost, said, re.M)
    assert re.search(rf"Another head .* is in {places[0]}\. No head .* is in {places[1]}\.", said)
    assert ".db: WRONG" not in said and f"{heads[0][:14]} is in none" not in said


def test_a_head_that_no_ledger_holds_accuses_none_and_files_are_judged_all_the_same(runs, tmp_path, capsys):
    """A genuine ledger whose own head was given, too, was said to be rolled back, and no file was judged."""
    own, other = str(runs / "L.db"), str(tmp_path / "B.db")
    Ledger.create(other, "voters", epsilon=2, delta=1e-4)
    charge(other, "uid-voters")
    kept, late = (
        f"{one.sequence}:{one.head}"
        for one in (Ledger.open(own).entries()[-1], Ledger.open(other).entries()[-1])
    )
    Path(other).unlink()
    Ledger.create(other, "voters", epsilon=2, delta=1e-4)
    charge(other, "uid-made-again")
    given = [own, other, str(runs / "a"), str(runs / "b"), "--receipt", kept, "--receipt", late]
    code, said = verified(capsys, *given)
    assert code == 5 and f"{own}: ok, rows" in said and f"{own}: the head given, {kept[:14]}" in said
    assert re.search(rf"^WRONG: .*{late[:14]} is in none of these ledgers", said, re.M)
    assert "no file was judged" not in said and "the ledgers as they are" in said
    code, said = verified(capsys, *given, "--json")
    assert code == 5 and json.loads(said)["heads_not_found"] == [late]
