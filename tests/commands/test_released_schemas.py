"""A drafted schema whose new hash was written into the ledger is compared all the same: with its draft, and with each model that claims that draft.

A data protection officer edited the schema, put the hash of the new file into the row of its release, and read `schema.yaml: ok, charge 1`.
"""

import hashlib
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from forged_ledger import without_last

from prepriv.cli import run
from prepriv.ledger import Ledger

N = 2000
RNG = np.random.default_rng(4)
TABLE = pd.DataFrame({"a": RNG.random(N), "b": RNG.random(N), "c": np.tile(["p", "q"], N // 2)})
TABLE["y"] = np.where(TABLE["a"] > 0.5, "yes", "no")
DRAFT = ["schema", "init", "../t.csv", "--epsilon", "1", "--rows", str(N), "--ledger", "L.db"]
TRAIN = ["--epsilon", "0.5", "--learner", "{kind: GradientDescent, steps: 2}", "--ledger", "L.db"]
WRONG = r"^S.yaml: WRONG: row 2 holds the hash of this file, and no draft wrote it: .*"


@pytest.fixture(scope="module")
def drafted(tmp_path_factory):
    """A ledger and the schema that was drafted."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "p").mkdir()
    TABLE.to_csv(folder / "t.csv", index=False)
    with pytest.MonkeyPatch.context() as here:
        here.chdir(folder / "p")
        Ledger.create("L.db", "people", epsilon=4, delta=1e-4)
        assert run([*DRAFT, "--label", "y", "--classes", "no,yes", "--out", "S.yaml"]) == 0
    return folder


@pytest.fixture
def package(drafted, tmp_path, monkeypatch, capsys):
    shutil.copytree(drafted, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path / "p")
    return capsys


def edited(old, new):
    text = Path("S.yaml").read_text()
    assert old in text
    return text.replace(old, new)


def signed_again(text, draft=True):
    """Write another file into the row of the schema that was released. draft: whether its row keeps the hash of what the draft states."""
    charged, released = Ledger.open("L.db").entries()[:2]
    digest = hashlib.sha256(text.encode()).hexdigest()
    note = re.sub(r"\bschema \w{64}", f"schema {digest}", released.note)
    without_last(Path("L.db"))
    note = note if draft else re.sub(r"draft \w{64}, ", "", note)
    Ledger.open("L.db").released(charged.plan_uid, released.artifact, note=note)


def trained(schema, out, *more, rows=N):
    TABLE[:rows].to_csv("../u.csv", index=False)
    line = ["train", "../u.csv", "--schema", schema, "--rows", str(rows), *TRAIN, "--out", out]
    assert run([*line, *more]) == 0


def verified(capsys, *files):
    capsys.readouterr()
    return run(["ledger", "verify", "L.db", *files]), capsys.readouterr().out


def as_yaml(change):
    schema = yaml.safe_load(Path("S.yaml").read_text())
    change(schema)
    return yaml.safe_dump(schema, sort_keys=False)


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda it: it["columns"]["a"].update(high=7.0), "columns, bounds, categories or classes"),
        (lambda it: it["columns"]["c"]["categories"].pop(), "columns, bounds, categories or classes"),
        (lambda it: it["columns"]["c"].update(categories=["p", "r"]), "columns, bounds, categories or cl"),
        (lambda it: it["columns"].pop("b"), "columns, bounds, categories or classes"),
        (
            lambda it: it["label"].update(classes=["no", "yes", "perhaps"]),
            "columns, bounds, categories or cl",
        ),
        (lambda it: it.update(rows=20_000), r"`rows:` is 20000, .* states 2000"),
        (lambda it: it.update(declared_by="the board"), "writes no `declared_by:`"),
        (lambda it: it.update(steps="linear"), "writes no `steps:`"),
    ],
)
def test_a_schema_that_its_draft_contradicts_is_wrong_whatever_hash_the_ledger_holds(package, change, said):
    text = as_yaml(change)
    signed_again(text)
    Path("S.yaml").write_text(text)
    code, out = verified(package, "S.yaml")
    assert code == 5 and re.search(WRONG + said, out, re.M) and "S.yaml: ok" not in out


def test_a_schema_is_compared_with_the_model_of_its_draft_whatever_hash_the_ledger_holds(package):
    """The name of the label is in no hash of the draft."""
    shutil.copy("S.yaml", "../true.yaml")
    text = edited("name: y\n", "name: died\n")
    signed_again(text)
    trained("../true.yaml", "run")
    Path("S.yaml").write_text(text)
    code, out = verified(package, ".")
    assert code == 8
    assert re.search(
        r"^S.yaml: NOT DECIDED, .* not the schema of a model .* run/model/model.json .* label", out, re.M
    )


def test_a_model_names_what_was_edited_in_its_schema(package):
    shutil.copy("S.yaml", "../true.yaml")
    text = as_yaml(lambda it: it["columns"]["a"].update(high=7.0))
    signed_again(text)
    trained("../true.yaml", "run")
    Path("S.yaml").write_text(text)
    code, out = verified(package, ".")
    assert code == 5 and re.search(WRONG, out, re.M)
    assert re.search(r"^S.yaml: WRONG: .* run/model/model.json .*`a`: high 7 in this schema", out, re.M)


def test_a_draft_is_what_the_model_that_claims_it_states(package):
    shutil.copy("S.yaml", "../true.yaml")
    text = edited("rows: 2000\n", "rows: 20000\n")
    signed_again(text, draft=False)
    trained("../true.yaml", "run")
    Path("S.yaml").write_text(text)
    code, out = verified(package, ".")
    assert code == 5
    assert re.search(r"^S.yaml: WRONG: run/model/model.json .* rows 20000 here, 2000 there", out, re.M)


def test_schemas_as_they_were_drafted_pass_beside_models_of_several_schemas(package):
    """Some were edited since, which is asked of the model, and some runs declare other numbers of rows."""
    trained("S.yaml", "one", "--holdout", "0.2")
    trained("S.yaml", "two", rows=1500)
    assert run([*DRAFT, "--label", "c", "--classes", "p,q", "--out", "T.yaml"]) == 0
    trained("T.yaml", "three")
    code, out = verified(package, ".")
    assert code == 8 and set(re.findall(r"^ASK BEFORE YOU SIGN: ([\w/., ]+):", out, re.M)) == {
        "three/model/model.json, three/report.html, three/report.json"  # which does not claim the first draft
    }
    for schema, charge in (("S", 1), ("T", 7)):
        assert re.search(rf"^{schema}.yaml: ok, charge {charge}; it declares what \w+/model/", out, re.M)
    assert run(["ledger", "verify", "L.db", "T.yaml", "S.yaml"]) == 8  # models are missing, and nothing else
    shutil.rmtree("one")
    shutil.rmtree("two")
    Path("E.yaml").write_text(as_yaml(lambda it: it["columns"]["a"].update(high=7.0)))
    trained("E.yaml", "four")
    code, out = verified(package, ".")
    assert code == 8 and "S.yaml: ok, charge 1" in out and "T.yaml: ok, charge 7" in out
    Path("E.yaml").unlink()
    code, out = verified(package, ".")
    assert code == 8 and "T.yaml: ok, charge 7" in out
    assert re.search(r"^S.yaml: NOT DECIDED, .* not the schema of a model .* four/model/", out, re.M)


def test_what_a_schema_says_of_who_answers_for_it_is_named(package):
    assert re.search(r"^S.yaml: ok, .*nobody who answers", verified(package, "S.yaml")[1], re.M)
    Path("H.yaml").write_text("declared_by: x\n" + as_yaml(lambda it: it.pop("drafted")))
    assert "nobody who answers" not in verified(package, "H.yaml")[1]
