"""Planted bugs of the reproductions: verdicts that numbers no longer decide, and prices of sampled descent that are too small."""

from __future__ import annotations

from mutant import Mutant

NONSENSE = ("tests/papers/test_nonsense.py",)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a verdict is the first one that an item lists, whatever the numbers say",
        "verdicts were constants (F1)",
        "papers/verdicts.py",
        "        case = next((c for c in self.cases if all(f.holds(numbers) for f in c.facts)), None)",
        "        case = self.cases[0]",
        NONSENSE,
    ),
    Mutant(
        "one fact that holds is enough for a verdict",
        "verdicts were constants (F1)",
        "papers/verdicts.py",
        "all(f.holds(numbers) for f in c.facts)",
        "any(f.holds(numbers) for f in c.facts) or not c.facts",
        NONSENSE,
    ),
    Mutant(
        "a number that is missing lies between every two bounds",
        "verdicts were constants (F1)",
        "papers/verdicts.py",
        "        return self.low <= self.read(numbers) <= self.high",
        "        return not (self.read(numbers) < self.low or self.read(numbers) > self.high)",
        NONSENSE,
    ),
    Mutant(
        "noise decides in a small run",
        "a verdict of two runs of noise (F8)",
        "papers/verdicts.py",
        "        if self.noisy and small:",
        "        if self.noisy and small and case is None:",
        NONSENSE,
    ),
    Mutant(
        "the exact pair of sampled descent is amplified twice",
        "3.67 where 0.055 is exact (F3)",
        "papers/provable_privacy/exact_pair.py",
        "        stick = math.log(rate) + gained",
        "        stick = 2 * math.log(rate) + gained",
        ("tests/papers/test_reproduce_preprocessing.py", "-k", "exact_pair"),
    ),
    Mutant(
        "a batch moves by what an average batch moves by",
        "1083 for the paper's 443 (F3)",
        "papers/provable_privacy/exact_pair.py",
        "    moves = np.minimum(drawn * per_row, total) / noise",
        "    moves = np.full(len(drawn), total * batch / n) / noise",
        ("tests/papers/test_reproduce_preprocessing.py", "-k", "exact_pair"),
    ),
    Mutant(
        "the corrected size of Proposition 4 has the printed rate",
        "Proposition 4 is false as printed (F4)",
        "papers/semi_private_learning/statements.py",
        "    return math.ceil(((2 / zeta + math.sqrt(math.log(1 / beta) / 2)) / alpha) ** 2)",
        "    return math.ceil((2 / math.sqrt(zeta) + math.sqrt(math.log(1 / beta) / 2)) ** 2 / alpha**2)",
        ("tests/papers/test_pillar_theory.py", "-k", "proposition_4"),
    ),
)
