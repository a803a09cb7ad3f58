"""Planted bugs: intervals and drafts."""

from __future__ import annotations

from mutant import Mutant

COVERAGE = "tests/evaluation/test_coverage.py"
BALANCED = (COVERAGE, "-k", "balanced_accuracy_covers")

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "recalls are clipped before they are averaged",
        "intervals: a bias that grows with the number of classes",
        "evaluation/intervals.py",
        "    shares, variance = hits / rows, (noise / rows) ** 2\n",
        "    shares, variance = np.clip(hits / rows, 0.0, 1.0), (noise / rows) ** 2\n",
        BALANCED,
    ),
    Mutant(
        "the bias of a ratio is not subtracted",
        "intervals: ratios of noisy numbers taken for unbiased",
        "evaluation/intervals.py",
        "(shares - (cells * shares - 1) * variance).mean()",
        "shares.mean()",
        BALANCED,
    ),
    Mutant(
        "a perfect recall has no sampling error",
        "intervals: Wald at the end of the range",
        "evaluation/intervals.py",
        "    pulled = (np.clip(hits, 0.0, rows) + Z_SQUARED / 2) / (rows + Z_SQUARED)\n",
        "    pulled = np.clip(hits, 0.0, rows) / rows\n",
        BALANCED,
    ),
    Mutant(
        "the interval of R2 rests on the declared number of rows",
        "a declared number where the true one is private",
        "evaluation/result.py",
        'public = self.plan.domain.adjacency == "replace-one"',
        "public = True",
        (COVERAGE, "-k", "r2_does_not_rest"),
    ),
    Mutant(
        "the share of missing cells forgets the noise of n",
        "intervals: the noise of a denominator left out",
        "description/estimates.py",
        "there / n.value * n.error)",
        "0.0)",
        (COVERAGE, "-k", "share_of_missing"),
    ),
    Mutant(
        "a noisy number of rows limits the number of cells",
        "intervals: a noisy number taken for exact",
        "description/estimates.py",
        "most = self.n.value if self.n.error == 0 < self.n.value else math.inf",
        "most = self.n.value",
        (COVERAGE, "-k", "limits_no_count"),
    ),
    Mutant(
        "a draft whose range is one point dies",
        "an exception after the charge",
        "description/draft.py",
        "        if high <= low:\n",
        "        if high < low:\n",
        ("tests/description/test_nothing_dies_after_the_charge.py", "-k", "on_one_grid_point"),
    ),
    Mutant(
        "as many roundings as a unit has rows",
        "floating point: a bound that forgets how a sum is made",
        "exact/unit_sum.py",
        "size * (size + 1) / 2 + 8",
        "size + 8",
        ("tests/units/test_unit_sum.py", "-k", "roundings"),
    ),
    Mutant(
        "the ids of a CSV file are read as numbers",
        "ids: long ones are nobody's in silence",
        "tables/column.py",
        '    "binary",\n',
        "",
        ("tests/units/test_units.py", "-k", "id_in"),
    ),
    Mutant(
        "narwhals guesses the type of a column of vectors",
        "containers: one cell decides an exception",
        "tables/containers.py",
        "dtype == np.dtype(object) if isinstance(dtype, np.dtype) else column.dtype == nw.Object",
        "column.dtype == nw.Object",
        ("tests/pipeline/test_embeddings.py", "-k", "guessed"),
    ),
    Mutant(
        "the only cell of a column says whether it holds vectors",
        "containers: one cell decides an exception",
        "tables/containers.py",
        "    if not listed and d is not None:\n",
        "    if pa.types.is_null(kind) and d is not None:\n",
        ("tests/pipeline/test_embeddings.py", "-k", "only_cell"),
    ),
    Mutant(
        "one text sets the size of a row of numbers",
        "containers: what a row says hangs on the others",
        "tables/containers.py",
        "    read = [_vector(row) for row in rows]\n",
        "    rows = list(rows)\n"
        "    try:\n"
        "        read = list(np.array(rows).astype(np.float64))\n"
        "    except Exception:\n"
        "        read = [_vector(row) for row in rows]\n",
        ("tests/pipeline/test_embeddings.py", "-k", "hang_on"),
    ),
    Mutant(
        "a set is a column",
        "containers: values decide a public number of rows",
        "tables/containers.py",
        "str | bytes | Mapping | Set)",
        "str | bytes | Mapping)",
        ("tests/pipeline/test_embeddings.py", "-k", "a_set"),
    ),
    Mutant(
        "the ranks of a quantile rest on a private n",
        "a declared number where the true one is private",
        "description/questions.py",
        'release.ranks(0.05) if adjacency == "replace-one" else math.nan',
        "release.ranks(0.05)",
        ("tests/description/test_questions.py", "-k", "not_said"),
    ),
    Mutant(
        "the bars of a mean forget that its cells are rounded",
        "intervals: a rounding left out",
        "description/questions.py",
        " + 0.5 / _FINE",
        "",
        ("tests/description/test_questions.py", "-k", "rounding"),
    ),
    Mutant(
        "names of columns that are not texts are drafted",
        "charged, then an exception",
        "description/draft.py",
        "for name in names if not isinstance(name, str)]",
        "for name in names if False]",
        ("tests/description/test_private_schema.py", "-k", "not_texts"),
    ),
)
