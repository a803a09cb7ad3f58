"""The promises of the README on real data: Adult, MNIST, and the plain classifier they are measured against."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import prepriv
from real_data import real_data

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_adult_is_at_most_one_and_a_half_points_below_no_privacy():
    path = real_data("adult.csv.gz")
    sys.path.insert(0, str(EXAMPLES))
    try:
        import adult
    finally:
        sys.path.pop(0)
    result = adult.main(path)
    assert result["private"] >= result["without privacy"] - 0.015
    from sklearn.linear_model import LogisticRegression

    train, test = adult.load(path)
    from prepriv.tables.encoding import encode

    x, x_test = (
        np.nan_to_num(encode(t, adult.domain(len(train))).block(0, len(t)), nan=0.5) for t in (train, test)
    )
    reference = LogisticRegression(max_iter=1000).fit(x, train["label"]).score(x_test, test["label"])
    assert abs(result["without privacy"] - reference) <= 0.005


def test_mnist_at_epsilon_one_with_default_settings():
    data = np.load(real_data("mnist.npz"))
    x, x_test = (data[k].reshape(-1, 784) for k in ("x_train", "x_test"))
    domain = prepriv.Domain.box(0, 255, 784, range(10), n=60_000, adjacency="add-or-remove-one")
    classifier = prepriv.PrivateClassifier(domain, epsilon=1.0, delta=1e-5).fit(x, data["y_train"])
    assert classifier.guarantee_.epsilon(1e-5) <= 1.0
    assert classifier.score(x_test, data["y_test"]) >= 0.935


MEASURE = """
import sys
sys.modules["pandas"] = None  # an optional package; its import alone is 60 MB
import numpy as np, prepriv
from prepriv.learners.gradient_descent import GradientDescent
from prepriv.learners.losses import Softmax
x = np.zeros((60_000, 784), np.float32); x[:] = np.linspace(0, 1, 784, dtype=np.float32)
domain = prepriv.Domain.box(0, 1, 784, range(10), n=len(x), adjacency="add-or-remove-one")
prepriv.PrivateClassifier(domain, learner=GradientDescent(Softmax(), steps=3)).fit(x, np.arange(len(x)) % 10)
status = open("/proc/self/status").read()  # not getrusage: its peak is inherited from the process that forked us
print(x.nbytes, 1024 * int(status.split("VmHWM:")[1].split()[0]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory as Linux reports it")
def test_peak_memory_is_the_matrix_two_bytes_a_cell_with_random_features_and_200_megabytes():
    out = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True).stdout
    matrix, peak = map(int, out.split())
    assert peak <= matrix + 60_000 * (2 * (784 + 1024 + 1) + 8) + 200e6


def test_without_noise_it_is_as_good_as_logistic_regression_on_digits():
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    x, y = load_digits(return_X_y=True)
    domain = prepriv.Domain.box(0, 16, 64, range(10))
    ours, reference = [], []
    for fold in range(5):
        test = np.arange(len(y)) % 5 == fold
        model = prepriv.PrivateClassifier(domain, epsilon=math.inf).fit(x[~test], y[~test])
        ours.append(model.score(x[test], y[test]))
        plain = LogisticRegression(max_iter=3000).fit(x[~test] / 16, y[~test])
        reference.append(plain.score(x[test] / 16, y[test]))
    assert np.mean(ours) >= np.mean(reference) - 0.005
