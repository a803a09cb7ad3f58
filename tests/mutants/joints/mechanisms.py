"""Planted bugs: a mechanism, the session that performs it and the meter that counts it."""

from __future__ import annotations

from mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a histogram of private names that costs no delta",
        "our own: what is counted is not what is drawn",
        "mechanisms/stability_histogram.py",
        "return Cost.of_noise(self.noise_multiplier, self.delta)",
        "return Cost.of_noise(self.noise_multiplier)",
        ("tests/mechanisms/test_stability_histogram.py", "-k", "paid_for"),
    ),
    Mutant(
        "a pure release that a Gaussian share pays for",
        "our own: two currencies of one budget",
        "mechanisms/session.py",
        "        if cost is None:\n",
        "        if cost is None:\n            return self._session.release(name, mechanism, exact)\n        if cost is None:\n",
        ("tests/mechanisms/test_session.py",),
    ),
    Mutant(
        "a sum of another size than was declared",
        "our own: noise for ten coordinates on a sum of a thousand",
        "mechanisms/gaussian_sum.py",
        "        if exact.size != self.coordinates:\n",
        "        if exact.size < 0:\n",
        ("tests/mechanisms/test_session.py",),
    ),
)
