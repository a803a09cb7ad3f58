"""Planted bugs: pipelines and runs of other libraries."""

from __future__ import annotations

from mutant import Mutant

SETTINGS = ("tests/pipeline/test_every_sklearn_setting.py",)
LIBRARIES = ("tests/pipeline/test_every_library_setting.py",)
OPACUS = ("tests/test_opacus.py", "-k", "held_against or no_account_covers")

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a parameter that stands in no table passes",
        "a setting that is not read",
        "pipeline/settings.py",
        "        if name not in table:\n",
        "        if False:\n",
        (*SETTINGS, "-k", "newer_version"),
    ),
    Mutant(
        "True passes for 1",
        "a value that is equal and means something else",
        "pipeline/settings.py",
        "type(got) is type(v) and got == v",
        "got == v",
        (*SETTINGS, "-k", "priced_transformer"),
    ),
    Mutant(
        "rare categories are joined unseen",
        "our own: OneHotEncoder(min_frequency=) was priced at nothing",
        "pipeline/sklearn_settings.py",
        '    "min_frequency": _RARE,\n',
        '    "min_frequency": NONE_OR_WHOLE,\n',
        (*SETTINGS, "-k", "priced_transformer"),
    ),
    Mutant(
        "a class that inherits has the words of its parent",
        "our own: a subclass was not checked",
        "pipeline/sklearn_settings.py",
        '    return type(part) is getattr(sys.modules.get(HOMES.get(name, "")), name, None)\n',
        "    return name in HOMES\n",
        (*SETTINGS, "-k", "not_the_class"),
    ),
    Mutant(
        "methods that are set by hand pass",
        "an attribute outside get_params",
        "pipeline/sklearn_settings.py",
        "(hasattr(type(part), name) or not made)",
        "not made",
        (*SETTINGS, "-k", "not_the_class"),
    ),
    Mutant(
        "columns keep their places after a ColumnTransformer",
        "our own: a second ColumnTransformer read the columns of the table",
        "pipeline/from_sklearn.py",
        '        self.moved = "a ColumnTransformer"\n',
        "",
        (*SETTINGS, "-k", "not_the_class"),
    ),
    Mutant(
        "transformers within a learner are not read",
        "our own: a Pipeline at the end of a Pipeline was taken for a learner",
        "pipeline/from_sklearn.py",
        " and not is_known(inner):",
        ":",
        (*SETTINGS, "-k", "not_the_class"),
    ),
    Mutant(
        "five per cent of missing cells are assumed",
        "a default is a claim",
        "pipeline/from_sklearn.py",
        "if (declared := getattr(self.declared, cap)) is None:",
        "if (declared := getattr(self.declared, cap) or 0.05) is None:",
        (*SETTINGS, "-k", "no_default"),
    ),
    Mutant(
        "the rate of batches that leave no record out, of ones that do",
        "our own: Opacus draws at one over the number of batches",
        "pipeline/other_libraries.py",
        'return (1 / fewest + coin if library == "Opacus" else batch / n), fewest, most',
        "return batch / n, fewest, most",
        (*LIBRARIES, "-k", "numbers_of_opacus"),
    ),
    Mutant(
        "steps are as many epochs as if no batch were left out",
        "our own: 11.48 printed, 17.86 true",
        "pipeline/other_libraries.py",
        "-(-steps // fewest)",
        "-(-steps // most)",
        (*LIBRARIES, "-k", "left_out"),
    ),
    Mutant(
        "a run of some records is accounted for others",
        "a premise of one thing used of another",
        "pipeline/other_libraries.py",
        "if self.records not in (None, setting.n):",
        "if False:",
        (*LIBRARIES, "-k", "other_records"),
    ),
    Mutant(
        "microbatches are clipped as one record",
        "TF-Privacy clips the mean gradient of a microbatch",
        "pipeline/other_libraries.py",
        'if given.get("num_microbatches") not in (None, batch):',
        "if False:",
        (*LIBRARIES, "-k", "takes_is_read"),
    ),
    Mutant(
        "a DataLoader that holds every record twice passes the check",
        "our own: n was not kept",
        "opacus.py",
        "        if n != self.n:\n",
        "        if False:\n",
        OPACUS,
    ),
    Mutant(
        "noise from a generator with a known seed",
        "a seeded generator of noise",
        "pipeline/torch_loaders.py",
        "if optimizer.generator is not None and optimizer.secure_mode is not True:",
        "if False:",
        OPACUS,
    ),
    Mutant(
        "coins from a generator with a known seed",
        "amplification by sampling that is not secret",
        "pipeline/torch_loaders.py",
        "if sampler.generator is not None and sampler.generator is not secure:",
        "if False:",
        OPACUS,
    ),
    Mutant(
        "any optimizer is one of flat clipping",
        "adaptive clipping bounds by the records",
        "pipeline/torch_loaders.py",
        "    if _of(type(optimizer)) != _OPTIMIZER:\n",
        "    if False:\n",
        OPACUS,
    ),
)
