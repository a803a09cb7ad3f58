"""What is read of runs of other libraries: every setting that one takes, with the values that have an account.

Opacus: `PrivacyEngine`, `make_private`, `make_private_with_epsilon`, and batch_size and drop_last of its DataLoader. TF-Privacy:
its optimizers and `compute_dp_sgd_privacy_statement`. jax-privacy: `clipped_grad`, `CyclicPoissonSampling`,
`gaussian_privatizer`. diffprivlib: its models (`diffprivlib_models`).
"""

from __future__ import annotations

from collections.abc import Mapping

from prepriv.accounts.settings import (
    FLAG,
    NONE_OR_WHOLE,
    NUMBER,
    READ,
    Allowed,
    bounds,
    given,
    never,
    norm,
    only,
    whole,
)

NAMES: Mapping[
    str, Mapping[str, str]
] = {  # theirs -> ours: a name of one library can mean another thing in the next
    "Opacus": {"max_grad_norm": "clip_norm", "poisson_sampling": "poisson"},
    "TF-Privacy": {
        "l2_norm_clip": "clip_norm",
        "num_epochs": "epochs",
        "poisson_sampling": "poisson",
    },
    "jax-privacy": {
        "l2_clip_norm": "clip_norm",
        "clipping_norm": "clip_norm",
        "expected_batch_size": "batch_size",
        "sampling_prob": "sample_rate",
        "num_updates": "steps",
        "num_steps": "steps",
        "iterations": "steps",
        "num_epochs": "epochs",
        "poisson_sampling": "poisson",
    },
    "diffprivlib": {},
}
_OURS = (
    "noise_multiplier",
    "sample_rate",
    "batch_size",
    "clip_norm",
    "epochs",
    "steps",
    "poisson",
    "weight_bound",
)
_TRAINING: dict[str, Allowed] = dict.fromkeys(_OURS, READ)
_SEED = only(None, why="whoever knows the seed knows the noise")
_NOISE = never("give the noise_multiplier that was found: what it is worth is counted here")
_ROWS = "without it the library reads it from the private rows"
_PUBLIC = given(_ROWS)
_BOUNDS = Allowed(
    bounds, "(low, high), finite numbers or a list of them for each column, low at most high", _ROWS
)
_ONE_RECORD = "a gradient of several records moves further than one of a single record"
_LEAKS = "what it gives back beside the noisy gradients has no noise"
SETTINGS: Mapping[str, Mapping[str, Allowed]] = {
    "Opacus": _TRAINING
    | {
        "drop_last": FLAG,
        "expected_batch_size": never("it is of the optimizer, rounded: give the batch_size of the DataLoader"),
        "batch_first": only(True, why="gradients are clipped along the first axis, which must be that of the records"),
        "loss_reduction": only("mean", "sum"),
        "clipping": only("flat", why="others bound another norm, or choose the bound by the records"),
        "noise_generator": _SEED,
        "grad_sample_mode": only("hooks", "functorch", "ew", "ghost"),
        "wrap_model": FLAG,
        "rand_on_empty": only(False, why="a batch that one record fills or leaves empty holds a made-up one instead"),
        "secure_mode": FLAG,
        "accountant": only("rdp", "prv", "gdp"),
        "target_epsilon": _NOISE,
        "target_delta": _NOISE,
        "data_loader": never("give its batch_size and drop_last, or use prepriv.opacus.calibrate, which reads it"),
    },
    "TF-Privacy": _TRAINING
    | {
        "number_of_examples": READ,
        "num_microbatches": READ,
        "used_microbatching": only(False, why=_ONE_RECORD),
        "max_examples_per_user": only(None, 1, why="declare the records of one person as a unit"),
        "gradient_accumulation_steps": only(1, why="noise is added once for several batches"),
        "unconnected_gradients_to_zero": FLAG,
        "unroll_microbatches": FLAG,
    },
    "jax-privacy": _TRAINING
    | {
        "argnums": Allowed(whole, "a whole number"),
        "batch_argnums": Allowed(
            lambda v: whole(v) or (isinstance(v, tuple) and all(map(whole, v))), "a whole number, or several"
        ),
        "has_aux": only(False, why=_LEAKS),
        "return_values": only(False, why=_LEAKS),
        "return_grad_norms": only(False, why=_LEAKS),
        "rescale_to_unit_norm": only(False, why="the noise is then over 1, not over the clip norm"),
        "normalize_by": only(1.0, 1, why="the noise and the clip norm are then on different scales"),
        "keep_batch_dim": FLAG,
        "microbatch_size": NONE_OR_WHOLE,  # of memory: each record is clipped by itself
        "nan_safe": only(True, why="a gradient that is nan or infinite passes unclipped"),
        "dtype": only(None),
        "prng_argnum": only(None),
        "spmd_axis_name": only(None),
        "truncated_batch_size": only(None, why="which records are cut off depends on the others"),
        "cycle_length": only(1, why="a record is drawn in some steps only: another sampler"),
        "prng_key": _SEED,
        "stddev": never("give noise_multiplier, which is stddev over l2_clip_norm"),
    },
    "diffprivlib": {
        "model": READ,
        "epsilon": READ,
        "bounds": _BOUNDS,
        "data_norm": Allowed(norm, "a finite number above 0", _ROWS),
        "classes": _PUBLIC,
        "random_state": _SEED,
        "accountant": Allowed(lambda _: True, "an accountant"),  # it counts, and changes nothing
        "warm_start": only(False, why="a second fit goes on from the first and costs once more"),
        "criterion": only(None),
        "centered": FLAG,
        "copy": FLAG,
        "fit_intercept": FLAG,
        "shuffle": FLAG,
        "whiten": FLAG,
        "with_mean": FLAG,
        "with_std": FLAG,
        "C": NUMBER,
        "tol": NUMBER,
        "verbose": NUMBER,
        "max_depth": NONE_OR_WHOLE,
        "max_iter": NONE_OR_WHOLE,
        "n_components": NONE_OR_WHOLE,
        "n_estimators": NONE_OR_WHOLE,
        "n_jobs": NONE_OR_WHOLE,
    },
}  # fmt: skip
