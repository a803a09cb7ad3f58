"""Planted bugs, one or more for every class of bug that was published about a library of this kind.

Each replaces one piece of source text by another and names the tests that have to notice. `python
tests/mutants/run.py` plants them one by one in a copy of the package.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A bug. file: in src/prepriv; old occurs there exactly once. tests: what to run, as arguments of pytest."""

    name: str
    published: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


REPLAY = ("tests/audit/test_replay.py",)
ONE_REPLAY = (*REPLAY, "-k", "betrays or nothing_but_mechanism")


def replayed(which: str) -> tuple[str, ...]:
    """The replay of the pipelines whose name holds `which`."""
    return (*REPLAY, "-k", f"nothing_but_mechanism and ({which})")


MUTANTS = (
    # ------------------------------------------------------------------------------------------- noise
    Mutant(
        "no noise at all",
        "PrivBayes implementations: noise scale 0; diffprivlib LinearRegression: sensitivity 0",
        "mechanisms/lattice.py",
        "    noisy = np.asarray(total + noise)\n",
        "    noisy = np.asarray(total + 0 * noise)\n",
        ("tests/test_trust_artifact.py", "-k", "noisy_fields"),
    ),
    Mutant(
        "half the noise",
        "factor 2 between sensitivity and clip norm",
        "mechanisms/lattice.py",
        "    exact = Fraction(float(noise_multiplier)) * int(sensitivity_int)\n",
        "    exact = Fraction(float(noise_multiplier)) * int(sensitivity_int) / 2\n",
        ("tests/audit/test_empirical.py", "-k", "refuted and (gaussian or Center or descent)"),
    ),
    Mutant(
        "noise from a float generator, low bits and all",
        "Mironov 2012; numpy noise gives a quarter of its inputs away",
        "mechanisms/noise.py",
        "        return self._sample(RoundedGaussian(float(scale)), size)\n",
        "        return np.rint(scale * np.random.default_rng().normal(size=size)).astype(np.int64)\n",
        ("tests/test_choke_point.py", "-k", "noise"),
    ),
    Mutant(
        "seed reused after fork",
        "ChaCha20 and numpy objects alike: four children, four equal draws",
        "mechanisms/noise.py",
        "            if self._pid != os.getpid():\n                self._rekey()\n                self._pid = os.getpid()\n",
        "            self._pid = os.getpid()\n",
        ("tests/mechanisms/test_noise.py", "-k", "fork or child or process"),
    ),
    Mutant(
        "a noise source can be copied",
        "checkpoint and resume draw the same noise twice",
        "mechanisms/noise.py",
        '        raise TypeError("NoiseSource cannot be pickled or copied: two holders would draw the same noise")\n',
        "        return object.__reduce_ex__(self, protocol)\n",
        ("tests/mechanisms/test_noise.py", "-k", "pickle or copy or copied"),
    ),
    Mutant(
        "scale rounded to nearest",
        "delta and scale rounded in the convenient direction",
        "mechanisms/lattice.py",
        "    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)\n",
        "    return nearest\n",
        ("tests/mechanisms/test_lattice.py", "-k", "round"),
    ),
    Mutant(
        "a boundary decided in floats",
        "interval refining left out: mis-roundings",
        "mechanisms/_inverse_cdf.py",
        "    unsure = y <= law.band\n",
        "    unsure = y <= -1.0\n",
        ("tests/mechanisms/test_noise.py",),
    ),
    # ------------------------------------------------------------------------------------- sensitivity
    Mutant(
        "sensitivity of adding for replacing",
        "wrong adjacency factor",
        "learners/gradient_descent.py",
        'record = 2 * clip if adjacency == "replace-one" else clip',
        "record = clip",
        replayed("logistic or hinge or normalize"),
    ),
    Mutant(
        "a sum pays a radius for a diameter",
        "wrong adjacency factor",
        "preprocessing/base.py",
        '    record = space.diameter if adjacency == "replace-one" else space.radius\n',
        "    record = space.radius / 2\n",
        replayed("center"),
    ),
    Mutant(
        "sensitivity divided by the batch",
        "TF-Privacy, backpropagation clipping (arXiv 2202.12219): claimed 0.21, audited above 2.79",
        "learners/gradient_descent.py",
        "        sensitivity = math.ceil(shift * 2.0**-grid.exponent * (1 + 1e-9))\n",
        "        sensitivity = math.ceil(shift / n * 2.0**-grid.exponent * (1 + 1e-9))\n",
        replayed("logistic or softmax"),
    ),
    Mutant(
        "clipping computed, the unclipped used",
        "SmartNoise #622",
        "learners/gradient_sum.py",
        "    np.minimum(scale, 2.0**grid.r_bits, out=scale)\n",
        "    scale[:] = 2.0**grid.r_bits\n",
        (
            "tests/learners/test_gradient_sum.py",
            "tests/audit/test_replay.py",
            "-k",
            "float_reference or exact_integers or logistic",
        ),
    ),
    Mutant(
        "noise scaled by a count of the data",
        "MOSTLY AI, Opacus #571: numbers of the data in the mechanism's parameters",
        "mechanisms/mean.py",
        "        sensitivity,\n        noise_multiplier,\n",
        "        sensitivity,\n        noise_multiplier * n / max(sum(len(b) for b in rows), 1),\n",
        replayed("center and budget"),
    ),
    Mutant(
        "deduplication for free",
        "Debenedetti et al. 2023 (arXiv 2309.05610)",
        "preprocessing/deduplicate.py",
        "        own = Sensitivity(rows_dropped=dropped, conditions=(crowd_words(m, self.eta),))\n",
        "        own = Sensitivity(rows_dropped=0.0 * dropped, conditions=(crowd_words(m, self.eta),))\n",
        ("tests/audit/test_empirical.py", "-k", "side_channel"),
    ),
    Mutant(
        "imputation for free",
        "pre-processing left out of the account (paper 000, introduction)",
        "preprocessing/impute_caps.py",
        "    made = Sensitivity(moved, row, total, 0.0, caps.conditions() + conditions)\n",
        "    made = Sensitivity(0.0, 0.0, 0.0, 0.0, caps.conditions() + conditions)\n",
        ("tests/preprocessing/test_impute.py",),
    ),
    Mutant(
        "coarsening without its rounding",
        "granularity left out of the sensitivity (Google's Proposition 1)",
        "mechanisms/session.py",
        "    grown = -(-int(sensitivity) // (1 << shift)) + math.isqrt(total.size) + 1\n",
        "    grown = -(-int(sensitivity) // (1 << shift))\n",
        ("tests/mechanisms/test_lattice.py", "-k", "coarsen"),
    ),
    Mutant(
        "sums in float32",
        "Casacuberta et al. 2022: order and rounding of float sums",
        "learners/gradient_sum.py",
        "            total += part.astype(np.int64)\n",
        "            total += part.astype(np.float32).astype(np.int64)\n",
        ("tests/test_trust_sums.py", "-k", "permutations"),
    ),
    Mutant(
        "overflow that flips a sign",
        "Tumult's known vulnerabilities: overflow",
        "mechanisms/lattice.py",
        "    if bits < 64:  # the residue",
        "    if bits < 0:  # the residue",
        ("tests/test_trust_sums.py", "-k", "overflow"),
    ),
    # --------------------------------------------------------------------------------------- accounting
    Mutant(
        "composition forgotten",
        "square root of T missing",
        "guarantees/guarantee.py",
        "        return self.count / self.noise_multiplier**2 * (1 + 1e-13)\n",
        "        return 1 / self.noise_multiplier**2 * (1 + 1e-13)\n",
        replayed("logistic or softmax"),
    ),
    Mutant(
        "a step that spends nothing",
        "SmartNoise #621: an odometer that misses a term",
        "pipeline/plan.py",
        "        if self.noise_multiplier:\n            out.append(GaussianEvent(self.step.name, self.noise_multiplier))\n",
        "",
        replayed("center and budget"),
    ),
    Mutant(
        "sampler beside the account",
        "Opacus #80, #128; autodp #3: other batches than those accounted for",
        "learners/stochastic.py",
        "        return np.flatnonzero(source.bernoulli_mask(self._rate(n), rows))\n",
        "        return np.flatnonzero(source.bernoulli_mask(min(2 * self._rate(n), 2**64), rows))\n",
        ("tests/learners/test_stochastic.py",),
    ),
    Mutant(
        "fixed batches accounted as Poisson's",
        "autodp #3; Chua et al. 2024 (arXiv 2403.17673)",
        "learners/stochastic.py",
        "        return without_replacement_parts(\n            noise_multiplier, self.batch_size, setting.n, self.steps, moved, delta\n        )\n\n    def _batch(self, source: NoiseSource, rows: int, n: int) -> NDArray[np.intp]:\n        if rows != n:",
        "        from prepriv.learners.accounts import poisson_parts as parts\n\n        return parts(noise_multiplier, self.batch_size / setting.n, self.steps, setting.adjacency, moved, delta)\n\n    def _batch(self, source: NoiseSource, rows: int, n: int) -> NDArray[np.intp]:\n        if rows != n:",
        ("tests/learners/test_stochastic.py",),
    ),
    Mutant(
        "batch size counted from the data",
        "Opacus #571, #819: expected batch size from len(dataset)",
        "learners/stochastic.py",
        "            gradient = release(gradient_sum(ahead, draw())) / learner.batch_size\n",
        "            batch = draw()\n            gradient = release(gradient_sum(ahead, batch)) / max(len(batch), 1)\n",
        replayed("Poisson"),
    ),
    Mutant(
        "an empty batch adds no noise",
        "Opacus #612",
        "learners/stochastic.py",
        "            gradient = release(gradient_sum(ahead, draw())) / learner.batch_size\n",
        "            batch = draw()\n            if not len(batch):\n                continue\n            gradient = release(gradient_sum(ahead, batch)) / learner.batch_size\n",
        ("tests/audit/test_replay.py", "-k", "any_number_of_rows"),
    ),
    Mutant(
        "dividing by the true number of records",
        "n leak: Opacus, Synthcity",
        "learners/gradient_descent.py",
        "(noisy / n)",
        "(noisy / max(rows.shape[0], 1))",
        replayed("clip and add"),
    ),
    Mutant(
        "the hidden step is shown",
        "guarantees of random stopping hold for an attacker who does not see the coins",
        "learners/one_pass.py",
        "                    largest=int(_CLAMP),\n                )\n",
        "                    largest=int(_CLAMP),\n                )\n                if progress is not None:\n                    progress(step + 1, self.steps)\n",
        ("tests/audit/test_replay.py", "-k", "coins"),
    ),
    Mutant(
        "a refusal without noise",
        "SVT and propose-test-release gone wrong (Lyu et al. 2017)",
        "mechanisms/propose_test_release.py",
        "        return steps + int(self._noise(source)[0]) >= self.threshold\n",
        "        return steps >= self.threshold\n",
        ("tests/audit/test_empirical.py", "-k", "refuted and propose"),
    ),
    Mutant(
        "an exponential mechanism of twice its epsilon",
        "factor 2 of the exponential mechanism",
        "mechanisms/exponential.py",
        "        rate = Fraction(float(self.epsilon)) * (1 - _RESERVE) / int(self.score_range)\n",
        "        rate = 2 * Fraction(float(self.epsilon)) * (1 - _RESERVE) / int(self.score_range)\n",
        ("tests/mechanisms/test_exponential.py",),
    ),
    # ----------------------------------------------------------------------------------------- learners
    Mutant(
        "the last step adds no noise",
        "noise skipped: Opacus #612 and steps outside the loop",
        "learners/gradient_descent.py",
        "                new = project(ahead - self.learning_rate * (noisy / n), self.weight_bound)\n",
        "                if step == self.steps - 1:\n                    noisy = gradient_sum(ahead) * 2.0**grid.exponent\n                new = project(ahead - self.learning_rate * (noisy / n), self.weight_bound)\n",
        replayed("clip and add"),
    ),
    Mutant(
        "a batch without noise",
        "noise skipped",
        "learners/stochastic.py",
        "            gradient = release(gradient_sum(ahead, draw())) / learner.batch_size\n",
        "            batch = draw()\n            gradient = release(gradient_sum(ahead, batch)) / learner.batch_size\n            if step == learner.steps - 1:\n                gradient = gradient_sum(ahead, batch) * 2.0**rows.grid.exponent / learner.batch_size\n",
        replayed("Poisson"),
    ),
    Mutant(
        "clipped after the sum",
        "the mean of a batch clipped, not each record's gradient",
        "learners/gradient_sum.py",
        "        _clip(residual, rows.norms[at], rows.grid)\n",
        "        residual *= 2.0**rows.grid.r_bits\n        residual /= max(1.0, float(np.linalg.norm(residual.T @ x)) / (len(x) * rows.grid.clip))\n        np.trunc(residual, out=residual)\n",
        ("tests/learners/test_gradient_sum.py", *REPLAY, "-k", "exact_integers or clip"),
    ),
    Mutant(
        "noise clipped after it is drawn",
        "a truncated Gaussian has no finite epsilon",
        "mechanisms/lattice.py",
        "    noisy = np.asarray(total + noise)\n",
        "    noisy = np.asarray(total + np.clip(noise, -int(3 * scale), int(3 * scale)))\n",
        ("tests/learners/test_gradient_descent.py", "-k", "tails"),
    ),
    Mutant(
        "a learner's noise scaled by the rows it has",
        "Opacus #571: noise from len(dataset)",
        "learners/gradient_descent.py",
        "                    noise_multiplier,\n",
        "                    noise_multiplier * rows.shape[0] / n,\n",
        replayed("clip and add"),
    ),
    Mutant(
        "a batch's noise scaled by the rows there are",
        "Opacus #571: noise from len(dataset)",
        "learners/stochastic.py",
        "                noise_multiplier,\n                exponent=rows.grid.exponent,\n",
        "                noise_multiplier * rows.shape[0] / n,\n                exponent=rows.grid.exponent,\n",
        replayed("Poisson"),
    ),
    # ------------------------------------------------------------------------------------------ records
    Mutant(
        "NaN passes",
        "NaN: SmartNoise Synth, dpmm, Synthcity, Opacus, diffprivlib",
        "learners/gradient_sum.py",
        "        ints[~fits] = 0.0\n        self.x",
        "        self.x",
        ("tests/learners/test_gradient_sum.py",),
    ),
    Mutant(
        "an infinite row of a ball passes",
        "NaN and infinity poisoning",
        "data.py",
        "            x[bad] = 0.0\n",
        "",
        ("tests/test_data.py", "-k", "ball"),
    ),
    Mutant(
        "one odd label sets the type of all",
        "domain inference: diffprivlib, dpmm",
        "data.py",
        "        return labels\n    if isinstance(labels, np.ndarray):",
        "        labels = np.asarray(labels)\n    if isinstance(labels, np.ndarray):",
        ("tests/test_trust_records.py", "-k", "label"),
    ),
    Mutant(
        "bounds read off the data",
        "domain inference: diffprivlib's missing bounds, a warning only",
        "preprocessing/scale_min_max.py",
        "        least, greatest = noisy_quantiles(rows, space, columns, (self.lowest, self.highest), gaussian_sum)\n",
        "        least, greatest = noisy_quantiles(rows, space, columns, (self.lowest, self.highest), gaussian_sum)\n        least = np.minimum.reduce([b[:, columns].min(axis=0, initial=1.0) for b in rows])\n",
        replayed("min-max and budget"),
    ),
    Mutant(
        "classes read off the data",
        "diffprivlib LogisticRegression and GaussianNB: classes_ from y",
        "estimators.py",
        "        self.classes_ = np.asarray(domain.classes)\n",
        "        self.classes_ = np.unique([str(v) for v in y])\n",
        ("tests/test_trust_cli_replay.py", "-k", "estimator"),
    ),
    Mutant(
        "a malformed line is left out",
        "a record that changes the number of records",
        "_csv.py",
        "    columns = list(zip(*(row if len(row) == len(names) else nothing for row in rows)))\n",
        "    columns = list(zip(*(row for row in rows if len(row) == len(names))))\n",
        ("tests/test_trust_records.py", "-k", "correct_writer or blank"),
    ),
    Mutant(
        "an unknown label counts as the first class",
        "undeclared class: the declared rule is to drop",
        "data.py",
        "    at = np.array([position.get(text(v), -1) for v in distinct], dtype=np.int32)\n",
        "    at = np.array([position.get(text(v), 0) for v in distinct], dtype=np.int32)\n",
        ("tests/test_data.py", "-k", "labels"),
    ),
    # ------------------------------------------------------------------------------------------ surfaces
    Mutant(
        "a private fit is released",
        "StandardScaler.n_samples_seen_ and friends: fitted state in the artifact",
        "pipeline/run.py",
        "    return step.fit_confidential(private_rows, space, plan.n), step.prediction_map(space)\n",
        "    from prepriv.preprocessing.impute import FillReleased\n\n    fitted = step.fit_confidential(private_rows, space, plan.n)\n    return fitted, FillReleased(fitted.fill) if hasattr(fitted, 'fill') else step.prediction_map(space)\n",
        replayed("mean and sensitivity"),
    ),
    Mutant(
        "public rows behind a private map",
        "data-dependent pre-processing of public data",
        "pipeline/run.py",
        "        rows = public_rows(step.payment, plan, released)\n",
        "        rows = _Mapped(public_rows(step.payment, plan, released).table, private_rows.maps)\n",
        ("tests/pipeline/test_run.py", "-k", "public_rows"),
    ),
    Mutant(
        "the number of rows on stdout",
        "n leak: Opacus, Synthcity",
        "commands/train.py",
        "        table = encode(raw.select(list(schema.columns)), plan.domain)\n",
        '        console.print(f"{raw.num_rows} rows")\n        table = encode(raw.select(list(schema.columns)), plan.domain)\n',
        ("tests/test_trust_cli_replay.py", "-k", "csv and add"),
    ),
    Mutant(
        "an exception with a value",
        "tracebacks and messages that quote records",
        "commands/common.py",
        '    except Exception:\n        raise Stop(\n            "the run failed after private data was opened; details are withheld because they could hold a value "\n            "of a record (a charge, if any, stays)",\n',
        '    except Exception as error:\n        raise Stop(\n            f"the run failed: {error}",\n',
        ("tests/test_cli.py", "tests/test_trust_faults.py", "-k", "no_message_holds or faults_say"),
    ),
    Mutant(
        "the path of a file in the report",
        "metadata: host and user in artifacts",
        "commands/train.py",
        "table=public_test.name\n",
        "table=str(public_test)\n",
        ("tests/test_trust_artifact.py", "-k", "machine"),
    ),
    Mutant(
        "an artifact written in place",
        "half an artifact after a crash",
        "release/model.py",
        '    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".tmp-")\n',
        '    target.write_text(text, encoding="utf-8")\n    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".tmp-")\n',
        ("tests/test_trust_artifact.py", "-k", "all_there"),
    ),
    Mutant(
        "a pickle in the artifact",
        "code run when a model is loaded",
        "release/arrays.py",
        "import base64\nimport binascii\n",
        "import base64\nimport binascii\nimport pickle  # noqa: F401\n",
        ("tests/test_choke_point.py", "-k", "arrays"),
    ),
    Mutant(
        "weights that are not numbers",
        "a hostile artifact",
        "release/arrays.py",
        "    if not np.isfinite(array).all():\n",
        "    if False:\n",
        ("tests/test_trust_artifact.py", "tests/release/test_model.py", "-k", "hostile"),
    ),
    # -------------------------------------------------------------------------------------------- ledger
    Mutant(
        "charged after the data was read",
        "diffprivlib: check at the start, spend at the end",
        "commands/train.py",
        "    receipt = _charge(ledger, frozen) if ledger is not None else None\n    try:\n",
        "    read_columns(data, declared, label=True)\n    receipt = _charge(ledger, frozen) if ledger is not None else None\n    try:\n",
        ("tests/test_trust_ledger_run.py", "-k", "unopened"),
    ),
    Mutant(
        "refund on failure",
        "a failed run gives its budget back",
        "commands/train.py",
        "        if receipt is None:\n            raise\n",
        "        if receipt is None:\n            raise\n        assert ledger is not None\n        ledger.unlink()\n",
        ("tests/test_trust_ledger_run.py", "-k", "cost_nothing"),
    ),
    Mutant(
        "the plan on the charge is not compared",
        "time of check, time of use",
        "commands/train.py",
        "    charge = book.confirm(uid, plan.hash)\n",
        "    charge = book.entries()[-1]\n",
        ("tests/test_trust_ledger_run.py", "-k", "edited"),
    ),
    Mutant(
        "no receipt in the artifact",
        "a ledger rolled back that nobody sees",
        "commands/train.py",
        "    model, private = Model.of(trained, receipt), trained.private\n",
        "    model, private = Model.of(trained), trained.private\n",
        ("tests/test_trust_artifact.py", "-k", "receipt"),
    ),
    Mutant(
        "two charges at once",
        "diffprivlib: threads double-spend",
        "ledger/store.py",
        '            db.execute("BEGIN IMMEDIATE" if write else "BEGIN")\n',
        '            db.execute("BEGIN")\n',
        ("tests/ledger/test_ledger_concurrency.py",),
    ),
    Mutant(
        "a commit that a power cut undoes",
        "synchronous = NORMAL loses the last charges",
        "ledger/store.py",
        '"synchronous": ("FULL", 2)',
        '"synchronous": ("NORMAL", 1)',
        ("tests/ledger", "-k", "pragma or durable or synchronous or full"),
    ),
    Mutant(
        "charges rounded down",
        "delta rounding direction",
        "ledger/units.py",
        "    total = _quanta(unit, amounts, math.ceil)\n",
        "    total = _quanta(unit, amounts, math.floor)\n",
        ("tests/ledger/test_ledger_units.py",),
    ),
    Mutant(
        "the cap is not looked at",
        "an accountant without a cap",
        "ledger/units.py",
        "        return self.main <= cap.main and self.delta <= cap.delta\n",
        "        return True\n",
        ("tests/ledger/test_ledger_charging.py",),
    ),
)
