"""What the private fits of a process cost together: counted without being asked, said once."""

from __future__ import annotations

import functools
import math
import os
import re
import threading
import warnings

import numpy as np
import pytest

import prepriv
from prepriv import CompositionWarning, Domain, PrivateClassifier
from prepriv.audit.replay_pipeline import replay_plan
from prepriv.guarantees.algebra import then
from prepriv.guarantees.gaussian import gdp_epsilon
from prepriv.guarantees.loss_distribution import compose
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.learner import Setting
from prepriv.learners.losses import Logistic
from prepriv.learners.stochastic import PoissonSGD
from prepriv.ledger import LedgerUnavailable
from prepriv.mechanisms.session import ExactSession, NoisySession
from prepriv.plans.plan import make_plan
from prepriv.runs import odometer
from prepriv.runs.odometer import Odometer
from prepriv.runs.run import execute
from prepriv.runs.train import train
from prepriv.tables.encoding import encode, encode_labels

N = 40
DOMAIN = Domain.box(0, 1, 2, [0, 1])
DESCENT = GradientDescent(Logistic(), steps=5, learning_rate=0.5, clip_norm=1.0)
RECEIPT = {"plan_uid": "u", "sequence": 1, "head": "0" * 64}


@functools.cache
def plan(epsilon=1.0, delta=1e-5, adjacency="replace-one", n=N, learner=DESCENT):
    domain = Domain.box(0, 1, 2, [0, 1], adjacency=adjacency)
    return make_plan(domain, (), learner, epsilon=epsilon, delta=delta, n=n)


@functools.cache
def poisson(steps):
    return PoissonSGD(Logistic(), batch_size=10, steps=steps, learning_rate=0.5, clip_norm=1.0)


@pytest.fixture
def fresh(monkeypatch):
    """An odometer as a new process has it."""
    new = Odometer()
    monkeypatch.setattr(odometer, "_PROCESS", new)
    return new


@pytest.fixture
def data(rng):
    x = rng.random((N, 2))
    return x, (x[:, 0] > x[:, 1]).astype(int)


def classifier(**settings):
    return PrivateClassifier(**{"domain": DOMAIN, "steps": (), "learner": DESCENT} | settings)


@pytest.fixture
def said():
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield lambda: [w for w in heard if w.category is CompositionWarning]


# ---------------------------------------------------------------------------------------------- the sum


def test_gaussian_fits_add_as_the_root_of_the_sum_of_squares(data):
    """Before: `guarantee_` said ε = 1 after each of any number of fits, and nothing said more."""
    clf = classifier()
    mus = []
    for epsilon in (1.0, 0.5, 2.0):
        mus.append(clf.set_params(epsilon=epsilon).fit(*data).guarantee_.mu)
    spent = prepriv.spent(delta=1e-6)
    mu = math.hypot(*mus)
    assert mu <= spent.totals["replace-one"].mu <= mu * (1 + 1e-12)
    assert gdp_epsilon(mu, 1e-6) <= spent.epsilon["replace-one"] <= gdp_epsilon(mu, 1e-6) * (1 + 1e-9)
    assert [fit.n for fit in spent.fits] == [N] * 3
    assert spent.fits[2].plan_hash == clf.plan_.hash != spent.fits[0].plan_hash
    assert clf.guarantee_.mu == mus[-1]  # that of one fit
    assert f"a ledger of ε books ε = {spent._sum(next(iter(spent.totals)))[0]:.4g}" in str(spent)
    assert "3 private runs" in str(spent) and "no record decides which rows" in str(spent)


def test_other_curves_compose_as_the_steps_of_one_run_do():
    """Two runs of 10 Poisson steps are one of 20: the same parts, another road to them."""
    ten = plan(learner=poisson(10))
    multiplier, setting = ten.learner_noise_multiplier, Setting(ten.space.radius, 2, 1, N, "replace-one")
    twenty = compose(poisson(20).parts(multiplier, setting, delta=1e-5)).symmetrized()
    total = then([ten.guarantee, ten.guarantee])
    assert total.mu is None
    assert total.epsilon(1e-5) == pytest.approx(twenty.epsilon(1e-5), rel=0.02)
    assert total.epsilon(1e-5) >= twenty.epsilon(1e-5) * (1 - 1e-6)


def test_gaussian_and_other_curves_compose_to_more_than_either(fresh):
    fresh.record(plan(), True, RECEIPT)
    fresh.record(plan(learner=poisson(10)), True, RECEIPT)
    assert 1.3 < fresh.spent(1e-5).epsilon["replace-one"] < 2


def test_the_total_of_one_kind_reads_as_a_number(fresh):
    """`f"{prepriv.spent().epsilon:.2f}"` was a TypeError about dict.__format__."""
    assert float(fresh.spent(1e-5).epsilon) == 0 and fresh.spent(1e-5).epsilon < 1
    fresh.record(plan(), True, RECEIPT)
    total = fresh.spent(1e-5).epsilon
    one = total["replace-one"]
    assert f"{total:.3f}" == f"{one:.3f}" and round(total, 2) == round(one, 2) and float(total) == one
    assert total <= one and total >= one and not total > one and not total < one and 0 < total < 9
    assert dict(total) == {"replace-one": one} and f"{total}" == str({"replace-one": one})
    fresh.record(plan(adjacency="add-or-remove-one"), True, RECEIPT)
    with pytest.raises(TypeError, match=r"do not add up.*replace-one"):
        float(fresh.spent(1e-5).epsilon)


def test_adjacencies_are_told_apart(fresh, said):
    fresh.record(plan(), True)
    fresh.record(plan(adjacency="add-or-remove-one"), True)
    fresh.record(plan(adjacency="add-or-remove-one"), True)
    spent = fresh.spent(1e-5)
    assert list(spent.epsilon) == ["replace-one", "add-or-remove-one"]
    assert spent.epsilon["replace-one"] <= 1.0 < spent.epsilon["add-or-remove-one"]
    assert "do not add" in str(spent) and "do not add" in str(said()[0].message)
    with pytest.raises(ValueError, match=r"add-or-remove-one does not add .*replace-one"):
        then([fit.guarantee for fit in spent.fits])


def test_a_sum_rests_on_the_conditions_of_every_part():
    import dataclasses

    one = dataclasses.replace(plan().guarantee, notes=())
    with_a = dataclasses.replace(one, conditions=("a",), notes=("n",))
    both = then([one, with_a, dataclasses.replace(one, conditions=("b", "a"))])
    assert both.conditions == ("a", "b") and both.notes == ("n",) and "if a and b" in str(both)


@pytest.mark.parametrize("delta", [0, 1, -1e-5, "1e-5", math.nan, None])
def test_delta_is_checked(delta):
    with pytest.raises(ValueError, match="delta must be"):
        prepriv.spent(delta)


def test_nothing_was_spent_yet(fresh):
    spent = prepriv.spent()
    assert (spent.fits, spent.totals, spent.epsilon) == ((), {}, {})
    assert str(spent) == repr(spent) == "no private runs in this process (fits, measurements and answers)"


def test_a_delta_that_no_other_curve_can_answer_stops_no_fit(fresh, said):
    fresh.record(plan(learner=poisson(10)), True)
    fresh.record(plan(delta=1e-20), True)
    assert len(said()) == 1 and "δ = 1e-05" in str(said()[0].message)


# ------------------------------------------------------------------------------------------ what is counted


def test_every_run_of_a_plan_is_counted_whoever_starts_it(data, fresh):
    """Private rows come through one function, which counts; what runs after it counts nothing a second time."""
    train(plan(), *data)
    assert len(prepriv.spent().fits) == 1
    train(plan(), *data, counted=False)  # public rows, says the caller
    execute(plan(), encode(data[0], DOMAIN), encode_labels(data[1], (0, 1)), NoisySession())
    replay_plan(plan(), pairs=2)  # made-up rows
    assert len(prepriv.spent().fits) == 1 and prepriv.spent().without_privacy == 0


@pytest.mark.parametrize("early_or_late", ["prepare", "Labelled"])
def test_a_run_that_fails_is_spent(data, fresh, monkeypatch, early_or_late):
    def broken(*_, **__):
        raise MemoryError

    monkeypatch.setattr(f"prepriv.runs.run.{early_or_late}", broken)
    with pytest.raises(MemoryError):
        classifier().fit(*data)
    assert len(prepriv.spent().fits) == 1


def test_what_cannot_run_is_not_spent(data, fresh):
    for wrong in ({"epsilon": 0}, {"domain": Domain.box(0, 1, 3, [0, 1])}, {"ledger": "nowhere.db"}):
        with pytest.raises((ValueError, LedgerUnavailable)):
            classifier(**wrong).fit(*data)
    with pytest.raises(ValueError, match="the plan is for n=41"):
        train(plan(n=41), *data)
    with pytest.raises(ValueError, match="needs a session with noise"):
        train(plan(), *data, session=ExactSession())
    with pytest.raises(ValueError, match="the plan is for n=41"):
        execute(plan(n=41), encode(data[0], DOMAIN), encode_labels(data[1], (0, 1)), NoisySession())
    with pytest.raises(ValueError, match="needs a session with noise"):
        execute(plan(), encode(data[0], DOMAIN), encode_labels(data[1], (0, 1)), ExactSession())
    assert prepriv.spent().fits == ()


def test_fits_without_privacy_are_in_no_total_and_are_said(data, fresh, said):
    classifier(epsilon=math.inf).fit(*data)
    classifier(epsilon=math.inf).fit(*data)
    classifier().fit(*data)
    spent = prepriv.spent()
    assert len(spent.fits) == 1 and spent.without_privacy == 2 and not said()
    assert str(spent).endswith("; and 2 without privacy (ε = inf), in no total")


def test_equal_plans_share_one_curve(fresh):
    """A search over Poisson plans would hold a curve of a megabyte a fit."""
    for _ in range(3):
        fresh.record(plan.__wrapped__(), True, RECEIPT)
    assert len({id(fit.guarantee) for fit in fresh.spent(1e-5).fits}) == 1


# ------------------------------------------------------------------------------------------ what is said


def test_the_second_fit_warns_once_where_the_user_stands(data, fresh, said):
    clf = classifier()
    clf.fit(*data)
    assert not said()
    for _ in range(3):
        clf.fit(*data)
    (warning,) = said()
    assert warning.filename == __file__ and issubclass(CompositionWarning, UserWarning)
    mu = math.sqrt(2) * clf.guarantee_.mu
    text = str(warning.message)
    assert text.startswith("private run 2 of this process")
    said_epsilon = float(re.search(r"ε = ([\d.]+) at δ = 1e-05", text)[1])
    assert gdp_epsilon(mu, 1e-5) <= said_epsilon <= gdp_epsilon(mu, 1e-5) * (1 + 1e-3)  # four digits, up
    assert "if all read the same people, and no record decides which rows a fit reads" in text
    assert "prepriv.spent()" in text and "ledger=" in text and "joblib" in text


def test_the_warning_is_given_once_whatever_the_filters_are(data, fresh):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier().fit(*data).fit(*data)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CompositionWarning)
        classifier().fit(*data)


def test_fits_that_a_ledger_adds_up_do_not_warn_until_one_is_outside(fresh, said):
    for _ in range(3):
        fresh.record(plan(), True, RECEIPT)
    assert not said() and "3 of them charged to a ledger" in str(fresh.spent(1e-5))
    fresh.record(plan(), True)
    assert len(said()) == 1


@pytest.mark.parametrize("adjacency", ["replace-one", "add-or-remove-one"])
def test_what_is_said_depends_on_no_record(data, monkeypatch, adjacency):
    x, y = data
    domain = Domain.box(0, 1, 2, [0, 1], adjacency=adjacency, n=N)
    heard = []
    other = x.copy()
    other[0] = 1e300, math.nan
    for rows, labels in ((x, y), (other, y), *([(x[1:], y[1:])] if adjacency != "replace-one" else [])):
        monkeypatch.setattr(odometer, "_PROCESS", Odometer())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            classifier(domain=domain).fit(rows, labels).fit(rows, labels)
        heard.append(([str(w.message) for w in caught], str(prepriv.spent())))
        assert sum(w.category is CompositionWarning for w in caught) == 1
    assert all(h == heard[0] for h in heard)


# ------------------------------------------------------------------------------------------ threads, processes


def test_threads_are_counted_exactly_and_one_of_them_warns(fresh, monkeypatch):
    heard, each, made = [], 50, plan()
    monkeypatch.setattr(odometer.warnings, "warn", lambda *a, **k: heard.append(a))
    threads = [
        threading.Thread(target=lambda: [fresh.record(made, True) for _ in range(each)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(fresh.spent(1e-5).fits) == 8 * each and len(heard) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_goes_on_from_its_parent_who_does_not_see_it(data, fresh):
    classifier().fit(*data)
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("ignore")
                warnings.simplefilter("always", CompositionWarning)
                classifier(threads=1).fit(*data)
            code = 10 * len(heard) + len(prepriv.spent().fits)
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 12
    assert len(prepriv.spent().fits) == 1


def test_there_is_no_reset():
    assert not [name for name in dir(prepriv.spent) + dir(Odometer) if "reset" in name or "clear" in name]
    assert np.all([name in prepriv.__all__ for name in ("spent", "CompositionWarning")])
