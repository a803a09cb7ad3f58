"""The replay of real commands on real files: stdout, stderr, exit code, every file written, every ledger row."""

from __future__ import annotations

import csv
import io
import itertools
import pickle
import secrets
from pathlib import Path

import pandas as pd
import pytest

from prepriv import Domain, Numeric, PrivateClassifier
from prepriv.audit.replay import Neighbour, Recorder, replay
from prepriv.audit.replay_neighbours import HOSTILE
from prepriv.cli import run
from prepriv.commands import train
from prepriv.ledger import Ledger
from prepriv.runs import admit as training

N = 40
SCHEMA = """
label: {{name: income, classes: [low, high]}}
adjacency: {adjacency}
rows: 40
columns:
  age: {{type: numeric, low: 0, high: 100, missing: impute}}
  job: {{type: categorical, categories: [clerk, smith]}}
steps:
  - {imputer}
  - {{step: Center, pay: budget, share: 0.05}}
  - {{step: Rescale, radius: 10}}
"""
IMPUTER = {
    "replace-one": "{step: MeanImputer, pay: sensitivity, missing: {age: 0.2}}",
    "add-or-remove-one": "{step: MeanImputer, pay: budget, share: 0.05}",
}
BASE = [[str(i * 2), ("clerk", "smith", "")[i % 3], ("low", "high")[i % 2]] for i in range(N)]
BASE[5][0] = ""

# Lines as a careless writer could leave them; each is one record, whatever it holds.
LINES = [
    "1e400,clerk,low", "-1e308,,", "5e-324,smith,high", "NaN,NaN,NaN", " 12 ,clerk ,low ", "-9223372036854775808,clerk,low",
    "too,few", "far,too,many,cells,here", "", ",,", "abc,clerk,low", "12,SECRET-4711,low", "12,clerk,SECRET-4711", "0x10,1_0,inf",
    "12,clerk,low\r", "\0,\0,\0", "é,ü,\u2028", '"12","clerk","low"', '"a ""b"" c",clerk,low', '"two\nlines",clerk,low', "x" * 3_000_000 + ",clerk,low",
]  # fmt: skip


class Played(Recorder):
    """So that claims, too, are printed and compared."""

    private = True


@pytest.fixture
def command(tmp_path, monkeypatch, capfd):
    """Runs `train` on the bytes of a table with a session, and returns all that left it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(secrets, "token_hex", lambda size: "5e" * size)
    count = itertools.count()

    def on(adjacency, name="t.csv"):
        (tmp_path / "s.yaml").write_text(SCHEMA.format(adjacency=adjacency, imputer=IMPUTER[adjacency]))

        def runner(content, session):
            (tmp_path / name).write_bytes(content)
            folder = tmp_path / f"run{next(count):03}"
            (tmp_path / "l.db").unlink(missing_ok=True)
            Ledger.create(tmp_path / "l.db", "d", epsilon=9.0, delta=1e-3, adjacency=adjacency)
            monkeypatch.setattr(training, "NoisySession", lambda: session)
            capfd.readouterr()
            code = run(["train", name, "--schema", "s.yaml", "--ledger", "l.db", "--out", str(folder)])
            out, err = capfd.readouterr()
            surfaces = {"exit code": str(code), "stdout": out.replace(folder.name, "RUN"), "stderr": err}
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    surfaces[f"file {file.relative_to(folder)}"] = file.read_text()
            ledger = Ledger.open(tmp_path / "l.db")
            surfaces["ledger"] = repr(ledger.entries())
            surfaces["ledger file names"] = repr(
                sorted(p.name for p in tmp_path.iterdir() if "l.db" in p.name)
            )
            assert len(ledger.entries()) == 2 and ledger.verify() == []
            return surfaces

        return runner

    return on


def as_csv(records):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([["age", "job", "income"], *records])
    return text.getvalue().encode()


def with_line(line, at, adjacency):
    before = [",".join(record) for record in BASE]
    after = [*before[:at], line, *before[at + (adjacency == "replace-one") :]]
    return "\n".join(["age,job,income", *after, ""]).encode()


def csv_neighbours(adjacency):
    for at, line in enumerate(LINES):
        yield Neighbour(f"the line {line[:20]!r}", with_line(line, at, adjacency))
    for at, cells in enumerate((["1,2", "a\nb", '"'], ["", "", ""], ['""', ",", "\n"])):
        yield Neighbour(
            "written well", as_csv([*BASE[:at], cells, *BASE[at + (adjacency == "replace-one") :]])
        )
    if adjacency != "replace-one":
        yield Neighbour("one less", as_csv(BASE[1:]))


@pytest.mark.parametrize("adjacency", IMPUTER)
def test_train_on_csv_betrays_no_line(command, adjacency):
    result = replay(command(adjacency), as_csv(BASE), csv_neighbours(adjacency))
    assert result.findings == []
    assert result.pairs >= len(LINES) and set(result.reach) >= {"Center", "gradient"}


def frame(records):
    made = pd.DataFrame(records, columns=["age", "job", "income"])
    made["age"] = pd.to_numeric(made["age"], errors="coerce")
    out = io.BytesIO()
    made.to_parquet(out)
    return out.getvalue()


def test_train_on_parquet_betrays_no_record(command):
    near = []
    for k, cells in enumerate(
        (["1e400", "clerk", "low"], ["NaN", "", ""], ["-5", "x" * 10**6, "é"], ["", "\0", "low"], BASE[7])
    ):
        near.append(Neighbour(f"record {k}", frame([*BASE[:k], cells, *BASE[k + 1 :]])))
    result = replay(command("replace-one", "t.parquet"), frame(BASE), near)
    assert result.findings == [] and result.pairs == 5


def test_a_leak_in_the_command_is_found(command, monkeypatch):
    """One planted print of a count, one planted number in the report."""
    honest = train.print_guarantee

    def leaky(plan, private, whole=None):
        honest(plan, private, whole)
        print("rows:", Path("t.csv").read_text().count("\n"))

    monkeypatch.setattr(train, "print_guarantee", leaky)
    result = replay(command("add-or-remove-one"), as_csv(BASE), [Neighbour("one less", as_csv(BASE[1:]))])
    assert [f.what for f in result.findings] == ["stdout differs"]


class Classifier(PrivateClassifier):
    """The estimator with a session of ours."""

    session = None

    @classmethod
    def on(cls, session):
        cls.session = session
        return cls

    def _session(self, plan):
        return type(self).session


@pytest.mark.parametrize("adjacency", IMPUTER)
def test_the_estimator_betrays_no_record(adjacency):
    """scikit-learn's door: the same surfaces, through fit on frames with any object in them."""
    from prepriv.release.report import Report

    domain = Domain.box(0, 1, 3, (0, 1), n=N, adjacency=adjacency)

    def runner(data, session):
        rows, labels = data

        fitted = Classifier.on(session)(domain, epsilon=2.0).fit(rows, labels)
        return {
            "artifact": repr(fitted.model_.to_json()),
            "pickle": pickle.dumps(fitted).hex(),  # what users of scikit-learn store
            "report": repr(Report.of(fitted.plan_, private=True).to_json()),
            "attributes": repr(
                (fitted.classes_, fitted.n_features_in_, fitted.guarantee_, sorted(vars(fitted)))
            ),
        }

    base = [[(i * 7 % 10) / 10, (i * 3 % 10) / 10, 0.5] for i in range(N)]
    near = []
    for k, (name, value) in enumerate(HOSTILE.items()):
        row = [value] * 3 if k % 2 else [value, 0.1, 1.0]
        rest, labels = base[k + (adjacency == "replace-one") :], [i % 2 for i in range(N)]
        rows = [*base[:k], row, *rest]
        new = [*labels[:k], (value if k % 3 == 0 else 1), *labels[k + (adjacency == "replace-one") :]]
        near.append(Neighbour(name, (rows, new)))
    if adjacency != "replace-one":
        near.append(Neighbour("one less", (base[1:], [i % 2 for i in range(1, N)])))
    result = replay(runner, (base, [i % 2 for i in range(N)]), near)
    assert result.findings == [] and result.pairs == len(near)


def test_a_record_that_brings_a_column_of_its_own_changes_no_attribute():
    """Frames made of records take the columns, and their order, from whoever comes first."""
    domain = Domain({"a": Numeric(0, 1), "b": Numeric(0, 1)}, (0, 1), n=N)
    base = [{"a": 0.1 * (i % 9), "b": 0.5} for i in range(N)]
    odd = [{"b": 0.5, "SECRET-4711": 1, "a": 0.2}, *base[1:]]
    fits = [
        PrivateClassifier(domain).fit(pd.DataFrame(rows), [i % 2 for i in range(N)]) for rows in (base, odd)
    ]
    assert fits[0].feature_names_in_.tolist() == fits[1].feature_names_in_.tolist() == ["a", "b"]
    assert "SECRET" not in repr([vars(fit) for fit in fits])


def test_no_rows_at_all_is_a_data_set_like_any_other_where_the_count_is_private():
    import numpy as np

    domain = Domain.box(0, 1, 3, (0, 1), n=N, adjacency="add-or-remove-one")
    for rows in (0, 1):
        fitted = PrivateClassifier(domain, epsilon=1.0).fit(np.zeros((rows, 3)), np.zeros(rows))
        assert np.isfinite(fitted.model_.weights).all()
