"""Ten pipelines of public repositories: scikit-learn (or the same by hand) in front of differentially private training.

    python benchmarks/ten_pipelines.py FOLDER        (FOLDER holds adult.csv.gz and mnist.npz)

Facts are carried over (records, columns, steps, noise, batches, epochs), no code. Claimed: ε of the training alone by Poisson batches and one
record more or less, as the library that is used would count, or what the script states. Alone: the same training with the batches that it
does draw, one record replaced. Real: with the pre-processing (`prepriv.account`), or which part has no price. After: the noise with
which pre-processing by budget and a training of the same length keep the claimed ε (`prepriv.opacus.calibrate`), the accuracy of the
repaired pipeline with the learner that the source has (a network by Opacus, a logistic model by `PoissonSGD`; its batches, epochs, clip and
rate) and of `PrivateClassifier` at that ε and δ: on the data where it is here, else on a stand-in that is named. Networks need the extra `opacus`.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import itertools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import prepriv
from prepriv import preprocessing as pre
from prepriv.accounts.from_sklearn import Unpriced, from_sklearn
from prepriv.accounts.other_libraries import ran_elsewhere
from prepriv.guarantees import gaussian
from prepriv.guarantees.loss_distribution import compose
from prepriv.guarantees.subsampling import PoissonRemove
from prepriv.learners import Logistic, PoissonSGD
from prepriv.learners.stochastic import smallest_noise
from prepriv.opacus import calibrate

DROPPED = "dropna: rows are left out for what they hold, so the number of rows, which is public, tells of one record"
Data = Callable[[Path], tuple[Any, Any, Any, Any, prepriv.Domain]]


@dataclass(frozen=True)
class Found:
    """One pipeline. noise: None where ε is stated. batch: None for all records at once. sampled: whether batches are Poisson samples.

    rate: of the learner, Adam's where it is a network of torch; None where its learner is no gradient descent. hidden: widths of its layers.
    """

    source: str
    records: int
    columns: int
    parts: tuple[Any, ...]
    noise: float | None
    batch: int | None
    epochs: int
    delta: float
    sampled: bool
    data: str
    stated: float | None = None
    clip: float = 1.0
    library: str = "Opacus"
    rate: float | None = None
    hidden: tuple[int, ...] = ()


def median() -> SimpleImputer:
    return SimpleImputer(strategy="median")


def mode() -> SimpleImputer:
    return SimpleImputer(strategy="most_frequent")


FOUND = (
    Found("dudebestmaster/dp-ml-bench", 36_177, 104, (DROPPED, OneHotEncoder(), StandardScaler()), 1.0, 256, 50, 1e-5, True, "Adult",
          rate=1e-3, hidden=(64,)),
    Found("Imomazin/dp-adult-privacy", 27_145, 104, (DROPPED, OneHotEncoder(), StandardScaler()), None, 256, 20, 1e-5, True, "Adult", 1.0,
          rate=1e-3, hidden=(128, 128)),
    Found("rohaanjoeyah/ai-privacy-auditing-engine", 21_000, 23, (StandardScaler(),), 1.2, 64, 20, 1e-5, True, "made up",
          rate=1e-3, hidden=(64, 32)),
    Found("MannHarjot/ML-DP", 39_073, 14, (median(), StandardScaler(), mode(), OneHotEncoder()),
          math.sqrt(2 * math.log(1.25e5)) / 2, 128, 30, 1e-5, False, "Adult", 2.0, library="of its own", rate=0.05),
    Found("locbuidinhan/PPDM-with-DP-SGD-in-Logistic-Regression (breast)", 455, 30, (median(), SelectKBest(), StandardScaler()),
          6.5, 32, 100, 1e-3, False, "breast cancer", clip=4.0, library="of its own", rate=0.03),
    Found("locbuidinhan/PPDM-with-DP-SGD-in-Logistic-Regression (digits)", 240_000, 784, (StandardScaler(),),
          1.0, 128, 100, 1e-6, False, "MNIST, even or odd", library="of its own", rate=0.03),
    Found("VectorInstitute/PETs-Bootcamp", 193, 21, (MinMaxScaler(),), 1.0, 29, 100, 1 / 212.3, False, "made up", library="TF-Privacy",
          rate=0.05),
    Found("atifbhatti092/loan-dp-sgd-explainability", 491, 15, (median(), mode(), StandardScaler()),
          25.0, None, 30, 1 / 491, False, "made up", clip=3.0, library="of its own", rate=0.5, hidden=(16, 8)),
    Found("heyoxy/AIE", 426, 30, (StandardScaler(),), None, None, 1, 1e-3, False, "breast cancer", 1.0, library="diffprivlib"),
    Found("kushsriv/BDS-EL", 14_000, 38, (StandardScaler(),), None, 256, 30, 1e-5, False, "made up", 1.0, library="of its own", rate=0.05),
)  # fmt: skip


def steps_of(found: Found, noise: float) -> int:
    return found.epochs * (1 if found.batch is None else math.ceil(found.records / found.batch))


def claimed(found: Found, noise: float) -> float:
    """ε of Poisson batches (or of all records), one record more or less."""
    steps = steps_of(found, noise)
    if found.batch is None:
        return float(gaussian(math.sqrt(steps) / noise).epsilon(found.delta))
    parts = [(PoissonRemove(1 / noise, found.batch / found.records), steps)]
    return float(compose(parts).symmetrized().epsilon(found.delta))


@functools.cache
def noise_of(found: Found) -> float:
    if found.noise is not None:
        return found.noise
    assert found.stated is not None
    return smallest_noise(lambda z: claimed(found, z), found.stated, 1e-3)


def run_of(found: Found) -> tuple[Any, float | None]:
    if found.library == "diffprivlib":
        # As if data_norm had been declared: the pipeline reads it from the private rows, which the page says beside the table.
        return ran_elsewhere(
            "diffprivlib",
            {"model": "LogisticRegression", "epsilon": found.stated, "data_norm": 1.0},
            found.records,
        )
    settings = {"noise_multiplier": noise_of(found), "max_grad_norm": found.clip, "epochs": found.epochs}
    settings |= {
        "batch_size": found.batch or found.records,
        "poisson_sampling": found.sampled,
        "drop_last": False,  # the default of a DataLoader; none of the sources says otherwise
    }
    return ran_elsewhere("Opacus", settings, found.records)


def _box(found: Found, gaps: bool) -> prepriv.Domain:
    missing = "impute" if gaps else "midpoint"
    return prepriv.Domain.box(0, 1, found.columns, [0, 1], n=found.records, missing=missing)


def real(found: Found) -> tuple[float, float, list[str]]:
    """(ε of the training as it is drawn, ε of the whole, parts without a price)."""
    unpriced, priced = [], []
    for part in found.parts:
        if isinstance(part, str):
            unpriced.append(part.split(":")[0])
            continue
        gaps = isinstance(part, SimpleImputer)
        try:
            priced += from_sklearn(part, _box(found, gaps), missing=0.05, deviation=0.1)
        except Unpriced as error:
            unpriced.append(error.refused[0][0])
        except ValueError as error:
            unpriced.append(f"{type(part).__name__} ({str(error)[:40]})")
    ran, noise = run_of(found)
    priced = [] if unpriced else priced
    account = prepriv.account(
        priced, ran, domain=_box(found, False), noise_multiplier=noise, delta=found.delta
    )
    alone = float(account.training_alone.epsilon(found.delta))
    return alone, math.inf if unpriced else float(account.epsilon(found.delta)), unpriced


class Loader:
    """What is read of a DataLoader."""

    sampler = None

    def __init__(self, records: int, batch: int) -> None:
        self.dataset, self.batch_size = range(records), batch

    def __len__(self) -> int:
        return -(-len(self.dataset) // self.batch_size)


def repaired(found: Found, domain: prepriv.Domain, epsilon: float) -> Any:
    """The repaired script: cells that are missing and scales by budget, Poisson batches, and the noise that keeps ε."""
    loader = Loader(domain.n, found.batch or domain.n)
    run = {"epochs": found.epochs, "max_grad_norm": found.clip}
    return calibrate(paid(domain), loader, run, domain=domain, epsilon=epsilon, delta=found.delta)


def paid(domain: prepriv.Domain) -> list[Any]:
    gaps = any(getattr(column, "missing", None) == "impute" for column in domain.columns.values())
    steps = [pre.MedianImputer(payment=prepriv.Budget(0.02))] if gaps else []
    return [*steps, pre.StandardScaler(rule="none", payment=prepriv.Budget(0.05))]


def after(found: Found, epsilon: float) -> float:
    gaps = any(isinstance(part, SimpleImputer) for part in found.parts)
    return repaired(found, _box(found, gaps), epsilon).noise_multiplier


def adult(folder: Path, records: int, columns: int) -> Any:
    path = Path(__file__).parents[1] / "examples" / "adult.py"
    spec = importlib.util.spec_from_file_location("adult", path)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    table = pd.read_csv(folder / "adult.csv.gz")
    train, test = train_test_split(table, train_size=records, random_state=0)
    return train, train["label"], test, test["label"], example.domain(records)


def breast_cancer(folder: Path, records: int, columns: int) -> Any:
    x, y = load_breast_cancer(return_X_y=True)
    # Bounds of the instrument's description are not published: rounded up from the table, which is public.
    low, high = np.zeros(30), 10 ** np.ceil(np.log10(x.max(axis=0)))
    parts = train_test_split(x, y, train_size=records, random_state=0)
    return parts[0], parts[2], parts[1], parts[3], prepriv.Domain.box(low, high, 30, [0, 1], n=records)


def digits(folder: Path, records: int, columns: int) -> Any:
    with np.load(folder / "mnist.npz") as data:
        x, x_test = (data[k].reshape(len(data[k]), -1) for k in ("x_train", "x_test"))
        y, y_test = data["y_train"] % 2, data["y_test"] % 2
    return x, y, x_test, y_test, prepriv.Domain.images(28, 28, 1, [0, 1], n=len(x))


def made_up(folder: Path, records: int, columns: int) -> Any:
    x, y = make_classification(
        records + 2000, columns, n_informative=columns // 2, class_sep=1.0, random_state=0
    )
    domain = prepriv.Domain.box(-8, 8, columns, [0, 1], n=records)
    return x[:records], y[:records], x[records:], y[records:], domain


DATA = {"Adult": adult, "breast cancer": breast_cancer, "MNIST, even or odd": digits, "made up": made_up}


def accuracy(found: Found, epsilon: float, folder: Path) -> float:
    x, y, x_test, y_test, domain = DATA[found.data](folder, found.records, found.columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = prepriv.PrivateClassifier(domain, epsilon=epsilon, delta=found.delta).fit(x, y)
    return float(fitted.score(x_test, y_test))


def own(found: Found, epsilon: float, folder: Path) -> float | None:
    """Accuracy of the repaired pipeline with the learner of the source; None where that is no gradient descent."""
    if found.rate is None:
        return None
    x, y, x_test, y_test, domain = DATA[found.data](folder, found.records, found.columns)
    if found.hidden:
        return network(found, epsilon, (x, y, x_test, y_test), domain)
    batch = found.batch or domain.n
    steps = found.epochs * math.ceil(domain.n / batch)
    bounds = {"learning_rate": found.rate, "clip_norm": found.clip, "average": 1e-9}  # the last iterate
    learner = PoissonSGD(Logistic(), batch_size=batch, steps=steps, **bounds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = prepriv.PrivateClassifier(
            domain, epsilon=epsilon, delta=found.delta, steps=paid(domain), learner=learner
        )
        return float(made.fit(x, y).score(x_test, y_test))


def network(found: Found, epsilon: float, rows: tuple[Any, ...], domain: prepriv.Domain) -> float:
    """Opacus, as `calibrate` has it; ReLU between the layers, one logit, neither dropout nor weights of classes."""
    import torch
    from opacus import PrivacyEngine

    made, torch_rows = repaired(found, domain, epsilon), []
    x, y, x_test, y_test = rows
    for part in (made.transformer.fit_transform(x), np.asarray(y) == domain.classes[1]):
        torch_rows.append(torch.tensor(np.asarray(part), dtype=torch.float32))
    widths, layers = [torch_rows[0].shape[1], *found.hidden, 1], []
    for wide, narrow in itertools.pairwise(widths):
        layers += [torch.nn.Linear(wide, narrow), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers[:-1])
    kind = torch.optim.Adam if found.library == "Opacus" else torch.optim.SGD
    optimizer = kind(model.parameters(), lr=found.rate)
    data = torch.utils.data.TensorDataset(*torch_rows)
    loader = torch.utils.data.DataLoader(data, batch_size=found.batch or domain.n, shuffle=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine = PrivacyEngine()
        model, optimizer, loader = engine.make_private(
            module=model, optimizer=optimizer, data_loader=loader, **made.opacus
        )
        made.check(optimizer, loader)
        for _ in range(found.epochs):
            for z, target in loader:
                optimizer.zero_grad()
                loss = torch.nn.functional.binary_cross_entropy_with_logits(model(z)[:, 0], target)
                loss.backward()
                optimizer.step()
        made.check(optimizer, loader, engine.accountant.history)
    z = torch.tensor(made.transformer.transform(x_test), dtype=torch.float32)
    right = (model(z)[:, 0] > 0).numpy() == (np.asarray(y_test) == domain.classes[1])
    return float(right.mean())


def number(x: float) -> str:
    return "none" if math.isinf(x) else f"{x:.3g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", help="those whose source holds this")
    args = parser.parse_args()
    print(
        "| source | n | claimed ε | alone | real | no price | noise → after | ε after | accuracy after, its learner | PrivateClassifier, on |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    for found in FOUND:
        if args.only and args.only not in found.source:
            continue
        says = found.stated or claimed(found, noise_of(found))
        alone, whole, unpriced = real(found)
        noise = "–" if found.library == "diffprivlib" else f"{noise_of(found):.3g}"
        row = [
            found.source,
            found.records,
            number(says),
            number(alone),
            number(whole),
            ", ".join(unpriced) or "–",
        ]
        row += [
            f"{noise} → {after(found, says):.3g}",
            number(says),
            "–" if (mine := own(found, says, args.folder)) is None else f"{100 * mine:.1f} %",
            f"{100 * accuracy(found, says, args.folder):.1f} %, {found.data}",
        ]
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
