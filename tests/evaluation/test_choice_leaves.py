"""What a choice hands back: the winner, sizes and claims, and not whose coin fell how; what text and page say of a claim's premises."""

from __future__ import annotations

import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest

import prepriv
from prepriv import Domain, Numeric, PrivateClassifier, _quiet
from prepriv import payment as pay
from prepriv import preprocessing as pre
from prepriv.evaluation.holdout import Holdout, plan_holdout
from prepriv.guarantees.notes import PrivacyWarning
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Logistic
from prepriv.mechanisms.session import NoisySession
from prepriv.plans.plan import make_plan
from prepriv.runs.chosen import METHODS, TRIALS
from prepriv.tables.encoding import encode

N = 397  # no other length is as long
RNG = np.random.default_rng(3)
X, Y = RNG.random((N, 2)), RNG.integers(0, 2, N)
CHEAP = [GradientDescent(Logistic(), steps=k, learning_rate=0.5, clip_norm=1.0) for k in (1, 2)]


def arrays(value, seen=None):
    """Every array that can be reached from an object by its attributes and entries."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, str | bytes | int | float | type | None.__class__):
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for entry in (*value, *value.values()):
            yield from arrays(entry, seen)
    elif isinstance(value, list | tuple | set | frozenset):
        for entry in value:
            yield from arrays(entry, seen)
    elif type(value).__module__.startswith("prepriv"):
        yield from arrays(getattr(value, "__dict__", {}), seen)


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("method", METHODS)
def test_no_coin_of_a_record_or_unit_is_handed_back(unit, method):
    """Of units the claim was void: one that is replaced turns the coins of all that stand after it."""
    frame = pd.DataFrame(X, columns=["a", "b"])
    more = {} if unit is None else {"unit": "who", "rows_per_unit": 1, "n": N}
    if unit is not None:
        frame["who"] = [f"p{i:04}" for i in range(N)]
    domain = Domain({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=[0, 1], **more)
    best = prepriv.choose(CHEAP, frame, Y, domain, epsilon=3.0, method=method)
    assert not [a for a in arrays(best) if N in a.shape]
    assert len(repr(best.plan)) < 50_000 and "array(" not in repr(best.plan)


def test_the_coins_of_a_holdout_are_not_shown():
    domain = Domain.box(0, 1, 2, [0, 1])
    made = plan_holdout(
        Holdout(0.3),
        lambda n: make_plan(domain, (), CHEAP[0], epsilon=1.0, delta=1e-5, n=n),
        N,
        domain,
    )
    assert made.coins is not None and "coins" not in repr(made)


def test_a_session_does_not_tell_how_many_trials_there_were():
    sessions = [NoisySession() for _ in range(3)]
    for session in sessions:
        prepriv.choose(CHEAP, X, Y, Domain.box(0, 1, 2, [0, 1]), epsilon=3.0, method=TRIALS, session=session)
    assert len({len(session.releases) for session in sessions}) == 1


def test_a_choice_of_a_large_budget_is_planned():
    """ "mu must lie in [1e-06, 12]" was said of an ε that nobody sees."""
    best = prepriv.choose(CHEAP, X, Y, Domain.box(0, 1, 2, [0, 1]), epsilon=200.0, method="same rows")
    assert best.guarantee_.epsilon(1e-5) <= 200


def test_text_and_page_say_what_a_sum_rests_on(tmp_path):
    domain = Domain({"a": Numeric(0, 1, "impute"), "b": Numeric(0, 1)}, (0, 1))
    steps = [pre.MeanImputer(payment=pay.Sensitivity({"missing": 0.05}))]
    options = {"steps": steps, "learner": CHEAP[0], "epsilon": 1.0}
    fitted = PrivateClassifier(domain, holdout=0.3, evaluate_epsilon=1.0, **options).fit(X, Y)
    (rests,) = fitted.guarantee_.conditions
    best = prepriv.choose([{"steps": [steps], "learner": CHEAP}], X, Y, domain, epsilon=1.0)
    page = fitted.evaluation_.save(tmp_path / "e.html").read_text()
    assert "miss" in rests
    for said in (str(fitted.evaluation_), page):
        assert "training and this together: if" in said and rests.split("'")[0] in said
    assert best.guarantee_.conditions[0] in str(best) and "replace-one" in str(best)


def test_no_thread_can_be_stopped_in_the_filter_that_silences_another():
    """Taken away while a thread ran its Python code, it made that thread skip the next filter: an error was not raised, 11 times of 25,120."""
    assert not hasattr(_quiet._HERE.match, "__code__") and not _quiet._HERE.match("")
    with _quiet.silent():
        assert not hasattr(_quiet._HERE.match, "__code__") and _quiet._HERE.match("any text")
    assert (
        pickle.loads(pickle.dumps(_quiet._FILTER))[1] is _quiet._HERE
    )  # joblib sends filters to its workers


def test_threads_leave_the_filters_of_warnings_as_they_are():
    """They were left at "ignore all": the guard against a weak claim was gone, without a word."""
    domain, lists = Domain.box(0, 1, 2, [0, 1]), X.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyWarning)
        before = list(warnings.filters)

        def work():
            for _ in range(30):
                encode(lists, domain)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            with pytest.raises(PrivacyWarning):  # said here while others read
                warnings.warn("weak", PrivacyWarning, stacklevel=1)
        assert list(warnings.filters) == before
