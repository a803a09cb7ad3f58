"""Planted bugs: audits and their verdicts."""

from __future__ import annotations

from mutant import Mutant

VERDICTS = ("tests/audit/test_verdicts.py",)
WORDS = ("tests/audit/test_own_words.py",)
CHAINS = ("tests/attacks/test_random_chains.py",)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "the rows after a step are not compared",
        "an audit that cannot fail",
        "audit/replay_pipeline.py",
        "        return self.rows.beyond()\n",
        "        return []\n",
        (*VERDICTS, "-k", "too_little and 0.02"),
    ),
    Mutant(
        "only what all steps may move is compared, not what a step makes of what came in",
        "a bound checked where it is loose",
        "audit/rows_apart.py",
        "            came = None if bound.any_order else found\n",
        "            came = None\n",
        (*VERDICTS, "-k", "steep_map_after"),
    ),
    Mutant(
        "runs that fail alike hold",
        "a check that passes because nothing ran",
        "audit/replay_pipeline.py",
        "                self.failed[type(error).__name__] += 1\n",
        "                pass\n",
        (*VERDICTS, "-k", "fails_decides"),
    ),
    Mutant(
        "rows outside the declared ball pass",
        "an output that is not in its declared range",
        "audit/rows_apart.py",
        "        if norm > space.radius * (1 + ROUNDING):",
        "        if norm > 1e9 * space.radius * (1 + ROUNDING):",
        (*VERDICTS, "-k", "outside_the_declared"),
    ),
    Mutant(
        "sums of a step of one's own are not compared",
        "a sensitivity that nobody attacks",
        "audit/own_steps.py",
        "        for adjacency in ADJACENCIES:\n",
        "        for adjacency in ():\n",
        (*VERDICTS, "-k", "wrong_word and four"),
    ),
    Mutant(
        "a fixed map is attacked on rows that have not moved",
        "a Lipschitz constant that is believed",
        "audit/own_steps.py",
        'if way == "sensitivity" else came)',
        'if way == "sensitivity" else [UNTOUCHED])',
        (*VERDICTS, "-k", "wrong_word and Lipschitz"),
    ),
    Mutant(
        "what was not attacked is held",
        "a check that passes because nothing ran",
        "audit/own_steps.py",
        "        if not self.target.used or (self.result is not None and self.result.pairs):",
        "        if True:",
        (*VERDICTS, "-k", "cannot_be_attacked"),
    ),
    Mutant(
        "nothing decided is an exit code of 0",
        "a failure that a script does not see",
        "commands/exits.py",
        "NOT_DECIDED = 8",
        "NOT_DECIDED = 0",
        (*VERDICTS, "-k", "fails_decides"),
    ),
    Mutant(
        "a part that coins chose is taken for the whole table",
        "a condition of one data set used of another",
        "audit/random_chains.py",
        "        return super().__call__(RawTable(table.rows[self._chosen], labels), session)",
        "        return super().__call__(table, session)",
        (*CHAINS, "-k", "used_of_a_part"),
    ),
    Mutant(
        "rows after a private distance leave their ball",
        "an output that is not in its declared range",
        "preprocessing/augment_by_distance.py",
        "np.maximum(norms, ROOT2)",
        "np.minimum(norms, ROOT2)",
        (*CHAINS, "-k", "by_itself and Augment"),
    ),
    Mutant(
        "a filled cell adds nothing to the norm",
        "a norm bound that forgets what was filled in",
        "preprocessing/impute_constant.py",
        "        radius = math.hypot(space.radius, abs(self.value) * math.sqrt(int(filled.sum())))",
        "        radius = space.radius",
        (*CHAINS, "-k", "by_itself and Constant"),
    ),
    Mutant(
        "a distance is not held against the conditions",
        "a word that nobody attacks",
        "audit/sensitivity_case.py",
        "        if not side.holds and (side.distance or 0.0) > TEST_ERROR:\n",
        "        if False:\n",
        (*WORDS, "-k", "of_ones_own and above"),
    ),
    Mutant(
        "an audit hands a fit its own table",
        "an audit that changes what it measures",
        "pipeline/rows.py",
        "        yield self.x.copy()\n",
        "        yield self.x\n",
        (*WORDS, "-k", "in_place"),
    ),
    Mutant(
        "outputs are not frozen where the first run comes after its recorder",
        "a replay that replays nothing",
        "audit/replay.py",
        "= () if frozen is None else frozen\n",
        "= frozen or ()\n",
        (*WORDS, "-k", "exact_number"),
    ),
    Mutant(
        "no map loses a record",
        "a neighbour that nobody makes",
        "audit/own_steps.py",
        "    return (False, True) if gone else (False,)\n",
        "    return (False,)\n",
        (*WORDS, "-k", "adjacency"),
    ),
)
