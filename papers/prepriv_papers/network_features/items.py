"""What decides about the papers' experiments on features of a public network (`prepriv reproduce network-features`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from prepriv_papers.feature_preprocessing.items import PAPER as PREPROCESSING
from prepriv_papers.feature_preprocessing.items import RECIPE
from prepriv_papers.semi_private_learning.items import PAPER as SEMI_PRIVATE
from prepriv_papers.semi_private_learning.items import PILLAR, dichotomy
from prepriv_papers.unified_enhancement.items import least, most
from prepriv_papers.verdicts import Case, Fact, Item, Numbers

FOLDER = "papers/prepriv_papers/network_features"
NETWORK = "EfficientNet-Lite0, trained on ImageNet, 1,280 features"
RUNS = "one run of images, three splits of messages; two runs differ by up to 3 points"
ITS_OWN = "its data ({}) and its five ResNet-50 are not here; "
IMAGES = ("fashion_mnist", "mnist")
NAMES = {"fashion_mnist": "Fashion-MNIST", "mnist": "MNIST", "sms": "SMS"}
Line = Mapping[str, Any]


def _at(numbers: Numbers, name: str, epsilon: str) -> str:
    lines: Sequence[Line] = numbers[f"accuracy_{name}"]
    best = next(line for line in lines if line[f"recommended_{epsilon}"])
    return f"ε = {epsilon}: {best[f'epsilon_{epsilon}']:.1f} (k = {best['k']:.0f}) and {lines[-1][f'epsilon_{epsilon}']:.1f}"


def _everyone(numbers: Numbers, name: str, epsilon: float) -> Line:
    return next(line for line in numbers[f"all_rows_{name}"] if line["epsilon"] == epsilon)


def _gain_of_everyone(numbers: Numbers, name: str) -> float:
    line = _everyone(numbers, name, 0.1)
    return float(line["pca"] - line["full"])


def _tenth(numbers: Numbers, name: str) -> Line:
    line: Line = numbers[f"ten_percent_{name}"][0]
    return line


def _gain_at_a_tenth(numbers: Numbers, name: str) -> float:
    return float(_tenth(numbers, name)["pca"] - _tenth(numbers, name)["full"])


def _xi(numbers: Numbers, name: str, k: int) -> float:
    """ξ of pixels less that of features."""
    line = next(line for line in numbers[f"xi_{name}"] if line["k"] == k)
    return float(line["pixels"] - line["features"])


def _xi_text(numbers: Numbers, name: str) -> str:
    lines = {line["k"]: line for line in numbers[f"xi_{name}"]}
    some = ", ".join(f"{lines[k]['pixels']:.2f} and {lines[k]['features']:.2f}" for k in (10, 40, 160))
    return f"{NAMES[name]}, k = 10, 40, 160: {some}"


def _gain(numbers: Numbers, table: str, epsilon: float) -> float:
    """DPSGD-F less DPSGD, points."""
    line = next(line for line in numbers[table] if line["epsilon"] == epsilon)
    return float(line["DPSGD-F"] - line["DPSGD"])


def _table_text(numbers: Numbers, table: str) -> str:
    lines = numbers[table]
    return f"n = {lines[0]['n']:,.0f}: " + "; ".join(f"{r['DPSGD']:.1f}, {r['DPSGD-F']:.1f}" for r in lines)


def _concentration(numbers: Numbers, name: str, column: str) -> float:
    return float(numbers[f"table_2_{name}"][0][column])


ITEMS = (
    Item(
        SEMI_PRIVATE,
        "Figures 2 and 6, features of a public network",
        "CIFAR-10 SL, ε = 0.1: k = 40 and all; CIFAR-100 SL, ε = 0.7: k = 200",
        "81.3 and 76.9; 56.8 and 51.9 %",
        (
            Case(
                "setting differs",
                ITS_OWN.format("CIFAR-10, CIFAR-100, Flower-16, GTSRB")
                + f"Fashion-MNIST by {NETWORK}: its dichotomy is seen, and with few rows it is wider",
                (
                    *dichotomy("fashion_mnist", least_lead=3, because=RUNS),
                    Fact(
                        "gain with 20,000 private rows, ε = 0.1, points",
                        partial(_gain_of_everyone, name="fashion_mnist"),
                        0,
                        30,
                        "one run each",
                    ),
                ),
            ),
        ),
        lambda n: (
            f"Fashion-MNIST, 5,400 rows: {_at(n, 'fashion_mnist', '0.1')}; {_at(n, 'fashion_mnist', '0.7')}; 20,000 rows, ε = 0.1: "
            f"{_everyone(n, 'fashion_mnist', 0.1)['pca']:.1f} and {_everyone(n, 'fashion_mnist', 0.1)['full']:.1f}"
        ),
        needs=("accuracy_fashion_mnist", "all_rows_fashion_mnist"),
        noisy=True,
        call=PILLAR,
        where=f"{FOLDER}/measured.py",
    ),
    Item(
        SEMI_PRIVATE,
        "Figures 3 and 7, features of a public network",
        "DermNet, PCAM, Pneumonia: data unlike what the network was trained on",
        "curves: fewer directions help with privacy",
        (
            Case(
                "setting differs",
                ITS_OWN.format("DermNet, PCAM, Pneumonia")
                + f"handwritten digits by {NETWORK}, and messages by a network of sentences, of 384 features: its dichotomy is seen",
                dichotomy("mnist", "sms", least_lead=3, because=RUNS),
            ),
        ),
        lambda n: f"MNIST, 5,400 rows: {_at(n, 'mnist', '0.1')}; SMS: {_at(n, 'sms', '0.1')}",
        needs=("accuracy_mnist", "accuracy_sms"),
        noisy=True,
        call=PILLAR,
        where=f"{FOLDER}/measured.py",
    ),
    Item(
        SEMI_PRIVATE,
        "Figure 4, features of a public network",
        "a tenth of CIFAR-100, SL, ε = 0.7: k = 40 and all",
        "18.3 and 7.53 %",
        (
            Case(
                "setting differs",
                ITS_OWN.format("CIFAR-100, GTSRB")
                + "a tenth of 5,400 images, and of the messages: the gain is seen",
                tuple(
                    Fact(
                        f"gain at the recommended k, {NAMES[name]}, points",
                        partial(_gain_at_a_tenth, name=name),
                        5,
                        50,
                        "ten runs for each number",
                    )
                    for name in NAMES
                ),
            ),
        ),
        lambda n: "; ".join(
            f"{NAMES[name]}: {_tenth(n, name)['pca']:.1f} (k = {_tenth(n, name)['k']:.0f}) and {_tenth(n, name)['full']:.1f}"
            for name in NAMES
        ),
        needs=tuple(f"ten_percent_{name}" for name in NAMES),
        noisy=True,
        call=PILLAR,
        where=f"{FOLDER}/measured.py",
    ),
    Item(
        SEMI_PRIVATE,
        "Figure 5, features of a public network",
        "ξ_k of two classes of CIFAR-10, pixels and five pre-trainings",
        "curves: pixels far above representations",
        (
            Case(
                "setting differs",
                f"two classes of grey images, pixels and {NETWORK}: no such gap. On Fashion-MNIST ξ of features is a little lower up to k = 40 and higher "
                "from k = 80 on, on MNIST it is higher at every k; here an SVM separates pixels, too",
                (
                    Fact(
                        "ξ of pixels less that of features, Fashion-MNIST, k = 10",
                        lambda n: _xi(n, "fashion_mnist", 10),
                        0.02,
                        0.25,
                        "a small gap",
                    ),
                    Fact(
                        "the same, k = 160",
                        lambda n: _xi(n, "fashion_mnist", 160),
                        -0.25,
                        0,
                        "and none",
                    ),
                    Fact(
                        "the same, MNIST, largest for k = 10, 40, 160",
                        lambda n: most(_xi(n, "mnist", k) for k in (10, 40, 160)),
                        -0.5,
                        0,
                        "the other way round",
                    ),
                    Fact(
                        "accuracy of the SVM on pixels, smaller of both sets, %",
                        lambda n: least(n[f"xi_{name}"][0]["svm_pixels"] for name in IMAGES),
                        99.9,
                        100,
                        "the paper's does not separate pixels of CIFAR-10",
                    ),
                ),
            ),
        ),
        lambda n: "pixels and features, " + "; ".join(_xi_text(n, name) for name in IMAGES),
        needs=("xi_fashion_mnist", "xi_mnist"),
        noisy=True,
        where="papers/prepriv_papers/semi_private_learning/pillar_theory.py",
    ),
    Item(
        PREPROCESSING,
        "Table 1, features of a public network",
        "CIFAR-100, features of a WRN, 50,000 rows, ε = 1, then 2: DPSGD, DPSGD-F",
        "70.6, 71.6; 73.8, 74.4",
        (
            Case(
                "setting differs",
                f"Fashion-MNIST and MNIST by {NETWORK}: centring gains more than on the paper's features, with a ninth of its rows",
                (
                    Fact(
                        "gain of DPSGD-F over DPSGD, 5,400 rows, ε = 1, points, least of both sets",
                        lambda n: least(_gain(n, f"table_1_{name}", 1.0) for name in IMAGES),
                        3,
                        30,
                        "two runs for each number, deviations up to 1",
                    ),
                ),
            ),
        ),
        lambda n: "; ".join(f"{NAMES[name]}, {_table_text(n, f'table_1_{name}')}" for name in IMAGES),
        needs=("table_1_fashion_mnist", "table_1_mnist"),
        noisy=True,
        call=RECIPE.format("dpsgd-f-modified"),
        where=f"{FOLDER}/measured.py",
    ),
    Item(
        PREPROCESSING,
        "Table 2, features of a public network",
        "CIFAR-100, features of a WRN, norm 1: diameter, largest and mean distance from the mean",
        "1.56, 1.10, 0.9",
        (
            Case(
                "setting differs",
                f"6,000 rows by {NETWORK}, none of which is below 0: closer together than the paper's",
                (
                    Fact(
                        "mean distance from the mean, larger of both sets",
                        lambda n: most(_concentration(n, name, "mean ‖x − µ‖") for name in IMAGES),
                        0.3,
                        0.85,
                        "the paper's features have 0.9",
                    ),
                    Fact(
                        "diameter, larger of both sets",
                        lambda n: most(_concentration(n, name, "diameter") for name in IMAGES),
                        0.9,
                        1.5,
                        "the paper's features have 1.56",
                    ),
                ),
            ),
        ),
        lambda n: "; ".join(
            ", ".join(
                f"{_concentration(n, name, c):.2f}" for c in ("diameter", "max ‖x − µ‖", "mean ‖x − µ‖")
            )
            for name in IMAGES
        ),
        needs=("table_2_fashion_mnist", "table_2_mnist"),
        noisy=True,
        where="papers/prepriv_papers/feature_preprocessing/measured.py",
    ),
)
