"""The counter-examples of docs/errata.md, as numbers of a run. Each is a script of its own that needs no line of this package.

`python papers/prepriv_papers/PAPER/errata.py E1`: what the paper says, what is, and whether the one breaks the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from prepriv_papers.feature_preprocessing import errata as feature_preprocessing
from prepriv_papers.provable_privacy import errata_learners, errata_steps
from prepriv_papers.semi_private_learning import errata as semi_private_learning
from prepriv_papers.unified_enhancement import errata as unified_enhancement
from prepriv_papers.verdicts import Fact, entry

Erratum = tuple[str, float, float, str]
MODULES = (unified_enhancement, errata_steps, errata_learners, semi_private_learning, feature_preprocessing)
ERRATA: Mapping[str, Callable[[], Erratum]] = {k: f for module in MODULES for k, f in module.ERRATA.items()}
NEAR = 0.02  # what docs/errata.md prints is rounded
# (said, is) of each, as docs/errata.md has them.
PRINTED: Mapping[str, tuple[float, float]] = {
    "E1": (0.00958, 0.0996),
    "E2": (0.0, 0.1116),
    "E3": (0.2473, 0.2371),
    "E4": (0.132, 0.0),
    "E5": (0.1537, 0.1299),
    "E6": (1.014, 0.397),
    "E7": (1.0, 2.0),
    "E8": (0.35, 0.7),
    "E9": (0.0, 0.0),
    "E10": (math.inf, 0.3135),
    "E11": (0.0, 0.5),
    "E12": (0.05, 0.406),
    "E14": (0.05, 0.0881),
    "E15": (0.04088, 0.04256),
    "P1": (20, 576),
    "P2": (1.0, 1.73),
    "P3": (42, 199.8),
    "P4": (0.01, 1.0),
    "P5": (0, 0),
    "P7": (0.0604, 0.0396),
    "P8": (0.3005, 1.2728),
    "P9": (0.4, 0.2),
    "P10": (305, 5.0),
    "P11": (0.001, 0.000807),
    "P12": (0.1208, 0.0198),
    "I1": (0.02, 0.02855),
    "I2": (1.0, 2.0),
    "I3": (1.0, math.sqrt(2)),
    "I4": (0.91, 0.01),
    "I5": (-0.0941, 0.1),
    "I6": (1.0, 0.73),
    "S1": (0.04, 0.0784),
    "S2": (0.003265, 0.006149),
    "S3": (0.0637, 0.1189),
    "S4": (4201, 14434),
    "S7": (0.0, 0.9),
    "C1": (0.02, 1.0),
    "L1": (0.735, 2.94),
    "L2": (0.0016, 0.04),
    "L3": (0.5, 1.25e-5),
    "L4": (6e-6, 2.06e-4),
    "L5": (1.0, 0.0634),
    "L6": (0.15125, 0.0557),
    "L7": (1.0, 2.03),
    "L8": (1.0, 2.0),
    "L9": (22.05, 22.0),
    "L10": (1.05, 1.125),
    "L11": (0.4028, 0.4225),
    "L12": (4.0, 0.2),
    "L15": (1e-6, 3.71e-5),
    "L16": (1.05, 1.5),
    "L18": (0.02, 0.1),
    "L22": (0.0022, 0.00995),
    "H1": (0.01, 0.1),
    "H2": (0.01, 0.5),
    "H3": (1e-5, 6.62e-5),
    "H4": (7.0, 1.0),
    "H5": (0.01, 0.5),
    "H6": (0.01, 1.0),
    "H8": (0.25, 0.27),
    "H9": (0.4, 0.4974),
    "H10": (0.0, 1.0),
    "F1": (1e-5, 0.632),
    "F2": (0.0, 0.02445),
    "F3": (2.0, 4.0),
    "F4": (0.02, 0.967),
    "F5": (1, 3),
    "F6": (1.0, 2206),
    "F7": (0.4585, 1.0),
    "F8": (5, 1),
}


def measured(*names: str) -> dict[str, dict[str, float]]:
    """What each of these says and what is, computed now; of all of them without names."""
    made = {name: ERRATA[name]() for name in names or ERRATA}
    return {name: {"said": float(e[1]), "is": float(e[2])} for name, e in made.items()}


def facts(*names: str) -> tuple[Fact, ...]:
    """For each erratum: its numbers are those that docs/errata.md prints."""
    found = []
    for name in names:
        for part, value in zip(("said", "is"), PRINTED[name], strict=True):
            near = (
                NEAR * abs(value)
                if value and math.isfinite(value)
                else (1e-9 if math.isfinite(value) else 0.0)
            )
            found.append(
                Fact(
                    f"erratum {name}, {part}",
                    entry(f"errata.{name}.{part}"),
                    value - near,
                    value + near,
                    "as docs/errata.md has it, rounded",
                )
            )
    return tuple(found)
