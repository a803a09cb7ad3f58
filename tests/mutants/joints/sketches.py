"""Planted bugs: what a sketch of a table releases, claims and says beforehand."""

from __future__ import annotations

from mutant import Mutant

ACCOUNT = ("tests/sketches/test_sketch_account.py", "-k")
ESTIMATES = ("tests/sketches/test_sketch_estimates.py", "-k")
FITTED = ("tests/preprocessing/test_fitted.py", "-k")
ALONE = ("tests/description/test_sketch.py", "-k")

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "counts of a sketch forget that a replaced record leaves and enters",
        "our own: the sensitivity of one adjacency for the other",
        "sketches/sketch_plan.py",
        "        apart = rows_changed(self.domain.adjacency)\n",
        "        apart = 1\n",
        (*ACCOUNT, "neighbour or as_declared"),
    ),
    Mutant(
        "counts of a sketch forget the rows of a unit",
        "our own: k rows at the price of one",
        "sketches/sketch_plan.py",
        "(apart * columns * self.k**2)",
        "(apart * columns)",
        (*ACCOUNT, "neighbour or as_declared"),
    ),
    Mutant(
        "products at the bound of one row where a record is replaced",
        "the design's trap: leaving out the diagonal taken to improve the bound",
        "sketches/sketch_plan.py",
        "        return plan.k * square\n",
        "        return plan.k * (math.isqrt(square * square // 2) + 1)\n",
        (*ACCOUNT, "products or neighbour"),
    ),
    Mutant(
        "a row of scores that is not shortened",
        "our own: a row of many extreme codes moves the products further than declared",
        "sketches/pairs.py",
        "    if long.any():\n        factor = grid.sensitivity * FAR_DOWN / np.sqrt(square[long].astype(np.float64))\n        z[long] = np.trunc(z[long] * factor[:, None]).astype(np.int64)\n    return grid.certify(z)\n",
        "    return z\n",
        (*ACCOUNT, "further"),
    ),
    Mutant(
        "three events for the price of two",
        "our own: the pairs come on top",
        "sketches/sketch_plan.py",
        "True: (0.15, 0.60, 0.25)",
        "True: (0.15, 0.85, 0.25)",
        (*ACCOUNT, "add_up or claim or account_agrees"),
    ),
    Mutant(
        "a sketch that is too weak is released",
        "our own: charged for rows that are no better than uniform ones",
        "description/sketch.py",
        "    refuse_weak(priced.signal)\n",
        "",
        (*ALONE, "too_little"),
    ),
    Mutant(
        "rows of one sketch called a copy of the table",
        "our own: an export that does not say what it is",
        "description/sketch.py",
        '        frame.attrs["prepriv"] = f"rows drawn from a private sketch: {self.what}"\n',
        "",
        (*ALONE, "export"),
    ),
    Mutant(
        "the noise of a sketch's tables told without the rows of a unit",
        "our own: the rule passes what carries nothing",
        "sketches/signal.py",
        "    b = plan.n * plan.mu / (math.sqrt(plan.d) * plan.classes * plan.k)\n",
        "    b = plan.n * plan.mu / (math.sqrt(plan.d) * plan.classes)\n",
        (*ESTIMATES, "auto or rule"),
    ),
    Mutant(
        "a compiled pipeline sums by a product of matrices",
        "the design's trap: scikit-learn's own transform changes last bits with the batch",
        "preprocessing/compiled.py",
        '    for j, (x, m) in enumerate(zip(columns, op["minus"])):\n        total = total + (x - m)[:, None] * weights[None, :, j]\n',
        '    total = total + (np.column_stack(columns) - np.asarray(op["minus"])) @ weights.T\n',
        (*FITTED, "bit_by_bit or at_length", "-m", "slow or not slow"),
    ),
    Mutant(
        "outputs of a compiled pipeline that are not cut",
        "our own: a new row leaves the declared space",
        "preprocessing/compiled.py",
        "np.clip(column, -1.0, 1.0)",
        "column",
        (*FITTED, "declared_space"),
    ),
    Mutant(
        "a pipeline of scikit-learn behind another step",
        "our own: rows drawn of the raw table are not those that reach it",
        "payment.py",
        "        if not first:\n",
        "        if False:\n",
        (*FITTED, "stands_first"),
    ),
    Mutant(
        "a sketch in a run that no session counts",
        "our own: its releases cost what they cost",
        "runs/run.py",
        "session = Metered(self.session, self.planned.step.name, 1 / z**2) if private else self.session",
        "session = self.session",
        (*FITTED, "no_more"),
    ),
    Mutant(
        "a fit that fails on drawn rows says why",
        "our own: the text of third-party code in an error after the charge",
        "preprocessing/compile_sklearn.py",
        "                raise FitFailed(name) from None\n",
        "                raise\n",
        (*FITTED, "after_the_charge or exit_code"),
    ),
    Mutant(
        "a scaler said to learn nothing",
        "our own: a fit that nobody pays for",
        "preprocessing/fitted.py",
        '_FIXED = ("Binarizer",',
        '_FIXED = ("StandardScaler", "Binarizer",',
        (*FITTED, "free"),
    ),
    Mutant(
        "a free pipeline behind a step that moves its columns",
        "our own: it takes the declared columns",
        "preprocessing/fitted.py",
        '        if self.way == "free" and not first:\n',
        "        if False:\n",
        (*FITTED, "stands_first"),
    ),
    Mutant(
        "a subclass of a transformer read as its parent",
        "our own: code that remembers rows, in a pipeline that is called public",
        "preprocessing/sklearn_spec.py",
        "    if own is not kind:\n",
        '    if own is None and package.startswith("sklearn"):\n',
        (*FITTED, "refused_by_name"),
    ),
)
