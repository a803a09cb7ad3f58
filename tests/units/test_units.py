"""Units of several rows: which rows are read, who decides it, and what is refused."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import prepriv
from prepriv import opacus
from prepriv import preprocessing as pre
from prepriv.accounts.way_out import ways_out
from prepriv.audit.replay_pipeline import replay_plan
from prepriv.columns import Categorical, Numeric
from prepriv.domain import Domain
from prepriv.exact.gradient_sum import GradientSum
from prepriv.exact.unit_sum import UnitSum
from prepriv.guarantees.algebra import then
from prepriv.guarantees.guarantee import Guarantee
from prepriv.learners import GradientDescent, HuberisedHinge, Logistic, OnePassSGD, PoissonSGD
from prepriv.ledger import Ledger, Noted
from prepriv.mechanisms.noise import NoiseSource
from prepriv.mechanisms.session import ExactSession, NoisySession
from prepriv.plans.plan import Plan, make_plan
from prepriv.runs.run import execute, room_for
from prepriv.tables.column import codes_by
from prepriv.tables.encoding import as_frame
from prepriv.tables.readers import BadData, read_table
from prepriv.tables.units import by_unit, counted_units, id_of, one_row_each

WHO = "patient_id"
COLUMNS = {"age": Numeric(0, 100, missing="impute"), "ward": Categorical(["a", "b"])}


def domain(n=4, k=2, **options):
    return Domain(COLUMNS, classes=["no", "yes"], n=n, unit=WHO, rows_per_unit=k, **options)


def table(ids, seed=0):
    rng = np.random.default_rng(seed)
    n = len(ids)
    columns = {"age": rng.uniform(0, 100, n), "ward": rng.choice(["a", "b", "?"], n), WHO: ids}
    return pa.table(columns), list(rng.choice(["no", "yes"], n))


def content(found, targets):
    """Each unit's row and all its rows, as a set of units."""
    stop, units = np.cumsum(found.sizes), []
    for i in range(found.n):
        at = slice(stop[i] - found.sizes[i], stop[i])
        rows = zip(*(c[at].tolist() for c in found.every.columns), found.labels[at].tolist())
        one = (*(c[i].item() for c in found.columns), int(targets[i]))
        units.append((repr(one), tuple(map(repr, rows))))
    return sorted(units)


def test_which_rows_are_read_depends_on_the_unit_alone():
    ids = ["a"] * 5 + ["b"] * 4 + ["c"] * 2 + ["d"]
    rows, labels = table(ids)
    before = content(*by_unit(rows, labels, domain(), 4))
    assert [len(unit[1]) for unit in before] == [2, 2, 2, 1] or sorted(len(unit[1]) for unit in before) == [
        1,
        2,
        2,
        2,
    ]
    assert all(unit[0] == unit[1][0] for unit in before)
    rng = np.random.default_rng(3)
    for _ in range(20):  # another order of the file
        at = rng.permutation(len(ids))
        assert content(*by_unit(rows.take(at), [labels[i] for i in at], domain(), 4)) == before
    other, others = table(["b"] * 50, seed=9)  # whoever stands in for b: the rest is read as before
    at = [i for i, name in enumerate(ids) if name != "b"]
    replaced = pa.concat_tables([other, rows.take(at)])
    after = content(*by_unit(replaced, others + [labels[i] for i in at], domain(), 4))
    assert len(set(before) - set(after)) == len(set(after) - set(before)) == 1


@pytest.mark.parametrize("k", [1, 2])
def test_each_row_of_a_unit_is_as_likely_as_any_other_whatever_is_asked(k):
    """Of a column alone one value won in every unit that had it: the patients who were ever in a ward were counted as those in it."""
    wards = ["a", "a", "a", "b"] * 1000
    ids = np.repeat([f"p{i}" for i in range(1000)], 4)
    alone = Domain(
        {"ward": Categorical(["a", "b"])}, classes=["no", "yes"], n=1000, unit=WHO, rows_per_unit=k
    )
    rows = pa.table({"ward": wards, WHO: ids})
    found, _ = by_unit(rows, ["no"] * 4000, alone, 1000)
    assert abs(found.columns[0].mean() - 0.25) < 0.06  # 4 deviations of a share of 1,000
    assert abs(found.every.columns[0].mean() - 0.25) < 0.06
    raw = one_row_each(as_frame(rows), WHO, ["ward"], 1000)
    assert abs(np.mean([wards[i] == "b" for i in raw]) - 0.25) < 0.06


def test_equal_rows_of_a_unit_are_a_tie_that_nobody_decides():
    rows, labels = table(["a", "b"])
    copies = rows.take([0, 0, 0, 1, 0])
    found, targets = by_unit(copies, [labels[i] for i in (0, 0, 0, 1, 0)], domain(n=2), 2)
    again, same = by_unit(rows.take([1, 0, 0]), [labels[i] for i in (1, 0, 0)], domain(n=2), 2)
    assert content(found, targets) == content(again, same)


def test_another_number_of_units_is_refused_as_one_of_units():
    with pytest.raises(ValueError, match=r"n=906 units, not 302"):
        prepriv.PrivateClassifier(domain(906), epsilon=1.0, delta=1e-5).plan(302)


def test_rows_of_nobody_are_left_out_and_a_unit_may_be_without_rows():
    rows, labels = table(["a", None, "b", "n/a", " "])
    found, targets = by_unit(rows, labels, domain(), 4)
    assert found.n == 4 and sorted(found.sizes) == [0, 0, 1, 1]
    assert (targets == -1).sum() >= 2 and found.every.n == 2
    some = found.some(np.array([True, False, True, False]))
    assert some.n == 2 and some.every.n == some.sizes.sum() == len(some.labels)
    with pytest.raises(BadData, match=r"n=1 units, .* more"):
        by_unit(rows, labels, domain(n=1), 1)
    assert by_unit(rows, labels, domain(n=9, adjacency="add-or-remove-one"), 9)[0].n == 2


def test_long_numbers_are_no_floats_and_one_spelling_is_one_unit():
    assert id_of(2**60) != id_of(2**60 + 1) and id_of("9007199254740993") != id_of("9007199254740992")
    texts = ["007", "7", "9007199254740993", "9007199254740992", "1.5", "é", None]
    for ids in (texts, [2**60, 2**60 + 1, -1, 0, 5, 6, None]):
        rows, labels = table(ids)
        for form in (rows, rows.to_pandas(), rows.set_column(2, WHO, rows[WHO].dictionary_encode())):
            if hasattr(form, "astype"):  # a column of whole numbers with a gap would be floats
                form[WHO] = pd.Series(ids, dtype=object)
            assert by_unit(form, labels, domain(6), 6)[0].sizes.tolist() == [1] * 6
    assert id_of(np.int64(3)) == id_of(3.0) == id_of(b"3") == "3" and id_of([3]) is id_of(None) is None
    lists = table(["a"] * 3)[0].set_column(2, WHO, pa.array([[1], [2], None]))
    assert by_unit(lists, ["no"] * 3, domain(2), 2)[0].every.n == 0  # nobody's, in any library


TEXTS = [
    "1152921504606846977",
    "1152921504606846978",
    "007",
    "7",
    "7.0",
    "1.5",
    "0x10",
    "16",
    "True",
    "1",
    "1e3",
    "é",
]
AS_BYTES = [
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.string(),
    pa.large_string(),
    pa.string_view(),
]


@pytest.mark.parametrize("kind", AS_BYTES, ids=str)
def test_an_id_in_bytes_is_a_text_and_never_a_number(kind):
    ids = pa.array([one.encode() for one in (*TEXTS, " 7 ")] + [None, b""], pa.binary()).cast(kind)
    for column in (ids, pa.chunked_array([ids.slice(0, 4), ids.slice(4)])):
        codes, names = codes_by(as_frame(pa.table({WHO: column}))[WHO], id_of)
        assert names == TEXTS and codes.tolist() == [*range(12), TEXTS.index("7"), -1, -1]


def test_an_id_in_a_csv_file_is_a_text_and_never_a_number(tmp_path):
    rows, labels = table([f'"{one}"' for one in TEXTS])
    path, texts = tmp_path / "a.csv", table(TEXTS)[0]
    lines = zip(rows["age"].to_pylist(), rows["ward"].to_pylist(), rows[WHO].to_pylist(), labels)
    path.write_text(f"age,ward,{WHO},y\n" + "".join(f"{a},{b},{c},{y}\n" for a, b, c, y in lines))
    whole = domain(len(TEXTS))
    assert counted_units(read_table(path), whole) == counted_units(texts, whole) == (len(TEXTS), 0, 0)
    expected = content(*by_unit(texts, labels, whole, len(TEXTS)))
    assert content(*by_unit(str(path), "y", whole, len(TEXTS))) == expected  # as a stream, too


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"unit": WHO}, "together"),
        ({"rows_per_unit": 3}, "together"),
        ({"unit": WHO, "rows_per_unit": 0}, "rows_per_unit must be a whole number, 1 or more"),
        ({"unit": WHO, "rows_per_unit": 2.5}, "rows_per_unit must be a whole number"),
        ({"unit": WHO, "rows_per_unit": True}, "rows_per_unit must be a whole number"),
        ({"unit": WHO, "rows_per_unit": 101}, "at most 100"),
        ({"unit": "age", "rows_per_unit": 2}, "must be neither the label nor one of the columns"),
        ({"unit": "y", "label": "y", "rows_per_unit": 2}, "must be neither the label nor one of the columns"),
        ({"unit": 5, "rows_per_unit": 2}, "unit must be the name of a column"),
        ({"unit": "a`b", "rows_per_unit": 2}, "none a backtick"),
        ({"unit": "", "rows_per_unit": 2}, "1 to 60"),
    ],
)
def test_mistakes_in_the_declaration_are_sentences(options, says):
    with pytest.raises(ValueError, match=says):
        Domain(COLUMNS, classes=["no", "yes"], **options)


def test_a_domain_with_units_is_written_and_read_back():
    made = domain()
    assert Domain.from_json(made.to_json()) == made and made.to_json()["unit"] == {"column": WHO, "rows": 2}
    assert "unit" not in Domain(COLUMNS, classes=[0, 1]).to_json()


STEPS = (pre.MeanImputer(payment=prepriv.Budget(0.1)), pre.Center(payment=prepriv.Budget(0.1)))


def plan_for(learner=None, n=40, k=3, steps=STEPS, epsilon=1.0, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = learner or GradientDescent(Logistic(), steps=5)
        return make_plan(domain(n, k, **options), steps, learner, epsilon=epsilon, delta=1e-5)


def test_what_has_no_account_of_units_is_refused_with_a_sentence():
    with pytest.raises(ValueError, match=r"MeanImputer .* sensitivity, .* account"):
        plan_for(steps=(pre.MeanImputer(payment=prepriv.Sensitivity({"missing": 0.1})),))
    elsewhere = type("Engine", (), {"room": lambda self, grid, n, d: object()})()
    with pytest.raises(ValueError, match="which this engine cannot do"):
        room_for(plan_for(), elsewhere)
    one_pass = OnePassSGD(HuberisedHinge(), batch_size=4, steps=2, weight_bound=1.0, learning_rate=0.01)
    with pytest.raises(ValueError, match=r"OnePassSGD .* account of units"):
        plan_for(one_pass)
    for account in (
        lambda: prepriv.account([], one_pass, domain=domain(), noise_multiplier=1.0),
        lambda: ways_out([], one_pass, domain=domain(), epsilon=1.0, delta=1e-5),
        lambda: opacus.calibrate([], None, {"epochs": 1}, domain=domain(), epsilon=1.0, delta=1e-5),
    ):
        with pytest.raises(ValueError, match="accounted for record by record"):
            account()


def test_the_noise_is_that_of_single_records_whatever_k_is():
    one, many = plan_for(k=1), plan_for(k=100)
    alone = make_plan(
        Domain(COLUMNS, classes=["no", "yes"], n=40), STEPS, one.learner, epsilon=1.0, delta=1e-5
    )
    assert one.learner_noise == many.learner_noise == alone.learner_noise
    assert one.guarantee.mu == many.guarantee.mu == alone.guarantee.mu


def test_the_unit_is_in_every_sentence_of_the_claim():
    plan = plan_for()
    said = f"replace-one of one unit, all rows of one `{WHO}`"
    assert said in str(plan.guarantee) and plan.guarantee.to_json(1e-5)["unit"] == WHO
    twice = plan.guarantee.compose(plan.guarantee)
    assert twice.unit == then([plan.guarantee] * 2).unit == WHO
    record = replace(plan.guarantee, unit=None)
    with pytest.raises(ValueError, match="does not add"):
        plan.guarantee.compose(record)
    with pytest.raises(ValueError, match="does not add"):
        then([plan.guarantee, record])
    assert isinstance(record, Guarantee) and said not in str(record)


class Frozen(ExactSession):
    """Exact sums, kept: what a noisy session would add noise to."""

    def __init__(self):
        super().__init__()
        self.sums = []

    def _perform(self, name, mechanism, exact):
        self.sums.append((name, np.asarray(exact).astype(object).copy(), mechanism.sensitivity))
        return np.zeros(np.shape(exact)) + 0.01 * len(self.sums)  # what leaves is the same on both sides


@pytest.mark.parametrize("adjacency", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("learner", [None, PoissonSGD(Logistic(), batch_size=9, steps=3)])
def test_no_sum_moves_further_than_declared_when_one_unit_is_another(adjacency, learner, monkeypatch):
    """Every release of a run, between tables that differ in all rows of one unit: hostile, many, moved, none."""
    declared = domain(40, 3, adjacency=adjacency)
    learner = learner or GradientDescent(Logistic(), steps=5)
    plan = Plan(declared, 1.0, 1e-5, STEPS, learner, 2.0, 0.0)  # any noise: sums are what is looked at
    monkeypatch.setattr(
        type(plan.learner), "_batch", lambda self, source, rows, n: np.arange(rows), raising=False
    )
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 7, 38)
    ids = np.repeat(np.arange(38), sizes).astype(str)
    common, labels = table(ids.tolist(), seed=1)

    def sums(extra, answers):
        rows = pa.concat_tables([common, extra]) if extra is not None else common
        at = rng.permutation(len(rows))
        found, targets = by_unit(rows.take(at), [(labels + answers)[i] for i in at], plan.domain, plan.n)
        session = Frozen()
        monkeypatch.setattr(session, "private", True)
        execute(replace(plan), found, targets, Recording(session))
        return session.sums

    class Recording(NoisySession):
        def __init__(self, inner):
            super().__init__(NoiseSource())
            self._perform = inner._perform

    def unit(count, age, ward, label, name="x"):
        rows = pa.table(
            {"age": pa.array([age] * count, pa.float64()), "ward": [ward] * count, WHO: [name] * count}
        )
        return rows, [label] * count

    bases = [(None, [])] if adjacency == "add-or-remove-one" else [unit(60, 0.0, "a", "no")]
    worst = 0.0
    for base in bases:
        before = sums(*base)
        for other in (unit(60, 100.0, "b", "yes"), unit(1, None, "zz", "no"), unit(3, 1e300, "a", "yes", "0b"),
                      (None, [])):  # fmt: skip
            after = sums(*other)
            assert len(before) == len(after)
            for (name, a, limit), (_, b, same) in zip(before, after):
                moved = float(np.sqrt(float(((a - b) ** 2).sum())))
                reach = (
                    1 if name != "gradient" or learner is None else float(plan.learner.reach(plan.setting))
                )
                assert limit == same and moved <= limit * reach * (1 + 1e-12), name
                worst = max(worst, moved / (limit * reach))
    assert worst > 0.5  # and the attack is one


def fitted(rows, labels, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        d = replace(domain(n=len(set(rows[WHO].to_pylist())), k=3), label="y")
        return prepriv.PrivateClassifier(d, epsilon=5.0, delta=1e-5, **options).fit(rows, labels)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(2)
    ids = np.repeat([f"p{i}" for i in range(300)], rng.integers(1, 6, 300))
    return table(ids.tolist(), seed=3)


def test_files_frames_and_streams_give_the_same_bits(people, tmp_path, monkeypatch):
    rows, labels = people
    for name, at in (("a", slice(0, 200)), ("b", slice(200, None))):
        part = rows.slice(at.start, (at.stop or len(rows)) - at.start)
        whole = part.append_column("y", [labels[at]])
        pq.write_table(whole, tmp_path / f"{name}.parquet")
    csv.write_csv(rows.append_column("y", [labels]), tmp_path / "all.csv")
    monkeypatch.setattr(
        prepriv.PrivateClassifier, "_session", lambda self, plan: NoisySession(NoiseSource.for_tests(7))
    )
    one = fitted(rows, labels)
    for source in (str(tmp_path / "*.parquet"), tmp_path / "all.csv"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            d = replace(domain(n=300, k=3), label="y")
            other = prepriv.PrivateClassifier(d, epsilon=5.0, delta=1e-5).fit(source, None)
        assert (other.model_.weights == one.model_.weights).all()


def test_from_fit_to_ledger_and_back(people, tmp_path):
    rows, labels = people
    Ledger.create(tmp_path / "l.db", "patients", epsilon=20, delta=1e-3)
    clf = fitted(rows, labels, ledger=str(tmp_path / "l.db"))
    assert clf.guarantee_.unit == WHO and f"`{WHO}`" in clf.report_.to_html()
    clf.model_.save(tmp_path / "model")
    loaded = prepriv.Model.load(tmp_path / "model")
    assert loaded.guarantee.unit == WHO and len(loaded.predict(rows.drop([WHO]))) == len(rows)
    note = Ledger.open(tmp_path / "l.db").entries()[0].note
    assert note.startswith(f"one `{WHO}`: train: ")
    record = Domain(COLUMNS, classes=["no", "yes"])
    with pytest.raises(ValueError, match=r"one `patient_id` .*of one record"):
        prepriv.PrivateClassifier(record, epsilon=1.0, delta=1e-5, ledger=str(tmp_path / "l.db")).fit(
            rows, labels
        )
    assert len(Ledger.open(tmp_path / "l.db").entries()) == 1
    made = clf.evaluate(rows, labels, epsilon=1.0, n=300)
    assert made.plan.guarantee.unit == WHO and "of one unit" in made.claim
    with pytest.raises(ValueError, match="n, the declared number"):
        clf.evaluate(rows, labels, epsilon=1.0)


@pytest.mark.parametrize("unit", ["id", "visit, of whom", "n" * 60])
def test_no_note_and_no_long_plan_hides_of_whom_a_charge_is(unit, tmp_path):
    rows = pa.table({unit: [0, 0, 1, 2], "a": [0.1, 0.2, 0.3, 0.4]})
    labels, columns = ["no", "yes", "no", "yes"], {"a": Numeric(0, 1)}
    of_units = Domain(columns, classes=["no", "yes"], n=3, unit=unit, rows_per_unit=2)
    Ledger.create(tmp_path / "l.db", "patients", epsilon=20, delta=1e-3)
    ledger = Noted(tmp_path / "l.db", note="pilot of March and April")

    def fit(of):
        prepriv.PrivateClassifier(of, epsilon=1.0, delta=1e-5, ledger=ledger).fit(rows, labels)

    fit(of_units)
    assert Ledger.open(tmp_path / "l.db").entries()[0].note.startswith(f"one `{unit}`: pilot of")
    with pytest.raises(ValueError, match="they do not add"):
        fit(Domain(columns, classes=["no", "yes"]))
    fit(of_units)


def test_what_is_wrong_with_the_table_is_said_before_a_charge(people, tmp_path):
    rows, labels = people
    Ledger.create(tmp_path / "l.db", "patients", epsilon=20, delta=1e-3)
    ledger = str(tmp_path / "l.db")
    for bad in (rows.drop([WHO]), np.zeros((len(rows), 2))):
        with pytest.raises(ValueError, match="no column 'patient_id'"):
            prepriv.PrivateClassifier(domain(n=300), ledger=ledger).fit(bad, labels)
    with pytest.raises(ValueError, match="'patient_id' there are, not rows"):
        prepriv.PrivateClassifier(replace(domain(), n=None), ledger=ledger).fit(rows, labels)
    assert Ledger.open(ledger).entries() == ()


def test_a_coin_is_of_a_unit(people, monkeypatch):
    """Units held out leave with all their rows, so that a pair of neighbours pays for one part alone."""
    from prepriv.evaluation import holdout

    rows, labels = people
    parts = []
    monkeypatch.setattr(
        holdout, "execute", lambda plan, part, *a, **o: parts.append(part) or execute(plan, part, *a, **o)
    )
    clf = fitted(rows, labels, holdout=0.3)
    (trained,) = parts
    assert clf.guarantee_.unit == WHO and 150 < trained.n < 260
    whole, _ = by_unit(rows, labels, domain(300, 3), 300)
    tally = {}
    for lot, sign in ((whole, 1), (trained, -1)):  # units of the training part have all their rows there
        stop = np.cumsum(lot.sizes)
        for i, size in enumerate(lot.sizes):
            key = repr([c[stop[i] - size : stop[i]].tolist() for c in lot.every.columns])
            tally[key] = tally.get(key, 0) + sign
    assert min(tally.values()) >= 0 and sum(tally.values()) == 300 - trained.n


def test_a_description_and_a_choice_see_one_row_of_each_unit(people):
    rows, labels = people
    rows = rows.append_column("y", [labels])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        d = replace(domain(n=300, k=3), label="y")
        found = prepriv.describe(rows, d, epsilon=100.0, delta=1e-5)
        assert found.plan.look.guarantee.unit == WHO
        counted = sum(e.value for e in found.columns["ward"].counts.values())
        assert abs(counted - 300) < 30 < len(rows) - 300
        best = prepriv.choose(
            ["linear", {"steps": "linear", "threshold": 0.4}], rows.drop(["y"]), labels, d, epsilon=5.0
        )
        assert best.guarantee_.unit == WHO
        steps = [pre.Center(payment=prepriv.Budget(0.5))]
        maps = prepriv.PrivateTransformer(replace(d, columns={"ward": COLUMNS["ward"]}), steps, epsilon=5.0)
        assert maps.fit(rows).guarantee_.unit == WHO


@pytest.mark.parametrize("adjacency", ["replace-one", "add-or-remove-one"])
def test_replay_of_units_finds_nothing_and_finds_a_planted_leak(adjacency, monkeypatch):
    declared = domain(12, 3, adjacency=adjacency)
    steps = [pre.MeanImputer(payment=prepriv.Budget(0.1)), pre.StandardScaler(payment=prepriv.Budget(0.1))]
    learner = GradientDescent(Logistic(), steps=3)
    plan = make_plan(declared, steps, learner, epsilon=1.0, delta=1e-5)
    found = replay_plan(plan, pairs=24, missing=0.1, bases=2)
    assert not found.findings and found.pairs == 24 and max(found.reach.values()) > 0.4
    monkeypatch.setattr(UnitSum, "residuals", GradientSum.residuals)  # rows clipped one by one
    assert replay_plan(plan, pairs=12, bases=1).findings


def test_replay_of_batches_of_units():
    learner = PoissonSGD(Logistic(), batch_size=6, steps=3)
    plan = Plan(domain(12, 3), 1.0, 1e-5, STEPS, learner, 2.0, 0.0)
    found = replay_plan(plan, pairs=12)
    assert not found.findings and found.pairs == 12


def test_a_stream_is_evaluated_as_the_same_rows_in_memory(people, tmp_path, monkeypatch):
    rows, labels = people
    pq.write_table(rows.append_column("y", [labels]), tmp_path / "test.parquet")
    clf = fitted(rows, labels)
    record = replace(domain(), unit=None, rows_per_unit=None, n=None, label="y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = prepriv.PrivateClassifier(record, epsilon=5.0, steps="linear").fit(rows, labels)
    monkeypatch.setattr(
        prepriv.PrivateClassifier, "_session", lambda self, plan: NoisySession(NoiseSource.for_tests(7))
    )
    for model, options in ((clf, {"n": 300}), (plain, {})):
        at_once = model.evaluate(rows, labels, epsilon=1.0, **options)
        streamed = model.evaluate(tmp_path / "test.parquet", None, epsilon=1.0, **options)
        for name, counts in at_once.counts.items():
            assert (streamed.counts[name] == counts).all()
    with pytest.raises(ValueError, match="no column 'z'"):
        clf.evaluate(tmp_path / "test.parquet", "z", epsilon=1.0, n=300)
    with pytest.raises(BadData, match=r"n=9 test rows, .* table"):
        plain.evaluate(tmp_path / "test.parquet", None, epsilon=1.0, n=9)
