"""Planted bugs: releases that were paid for and get lost on their way out."""

from __future__ import annotations

from mutant import Mutant

TEST = "tests/commands/test_paid_outputs.py"

ORDER = "tests/release/test_order_of_classes.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a saved model has its columns in declared order, its estimator in ascending order",
        "our own: AUC .83 before a model was saved, .17 after",
        "domain.py",
        "        return _Ordered(found[k] for k in ascending(found))\n",
        "        return _Ordered(found)\n",
        (ORDER, "-k", "wherever"),
    ),
    Mutant(
        "the classes of an earlier file are sorted, and its weights are not",
        "train/serve skew: the class of a score",
        "domain.py",
        '            _Ordered(listed("classes", data["classes"])),',
        '            tuple(data["classes"]),',
        (ORDER, "-k", "earlier"),
    ),
    Mutant(
        "two runs that pay for one file",
        "our own: two charges, one release",
        "commands/outputs.py",
        "        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))\n",
        "        os.close(os.open(lock, os.O_CREAT | os.O_WRONLY, 0o644))\n",
        (TEST, "-k", "two_runs and draft"),
    ),
    Mutant(
        "a release that no disk has room for",
        "our own: charged, and nowhere",
        "commands/outputs.py",
        '        typer.echo(printable(text(), keep="\\n"), nl=False)\n        raise Stop(\n',
        "        raise Stop(\n",
        (TEST, "-k", "cannot_be_written and describe"),
    ),
    Mutant(
        "a draft is lost where its warning is an error",
        "our own: a charge without a release",
        "description/draft.py",
        "        with suppress(DraftWarning):  # a warning made an error: what was paid for is not lost\n",
        "        if told:\n",
        ("tests/description/test_draft_needs.py", "-k", "says_what_the_command"),
    ),
    Mutant(
        "equal quantiles asked for twice",
        "our own: charged, and then more releases than the plan pays for",
        "description/describe.py",
        "tuple(dict.fromkeys(numbers(",
        "tuple(list(numbers(",
        (TEST, "-k", "equal_quantiles"),
    ),
    Mutant(
        "a third-party class is shown with the proof of ours of the same name",
        "a claim that leads to another's proof",
        "release/proofs.py",
        "get(cls.__name__) if is_ours(cls) else None",
        "get(cls.__name__)",
        ("tests/release/test_proofs.py", "-k", "third_party"),
    ),
    Mutant(
        "premises that a test covers lead to no proof",
        "a premise that nobody finds",
        "release/proofs.py",
        "for planned in plan.steps for premise in planned.conditions]",
        "for planned in plan.steps for premise in planned.outgoing.conditions]",
        ("tests/release/test_proofs.py", "-k", "names_the_proof"),
    ),
    Mutant(
        "a deployment record states the claim of the plan, without the draft of its schema",
        "a claim on a part of what left",
        "release/record.py",
        "def _loss(report: Report) -> dict[str, Any]:\n    claim, plan = report.guarantee, report.plan\n",
        "def _loss(report: Report) -> dict[str, Any]:\n    claim, plan = report.plan.guarantee, report.plan\n",
        ("tests/release/test_record.py", "-k", "private_draft"),
    ),
    Mutant(
        "a deployment record says of pre-processing what it costs and not what it rests on",
        "a premise that nobody finds",
        "release/record.py",
        "held = [separated(str(condition)) for condition in planned.conditions]",
        "held = list[str]()",
        ("tests/release/test_record.py", "-k", "step_by_step"),
    ),
    Mutant(
        "a deployment record is written over one with answers",
        "an output that is lost",
        "commands/released.py",
        '    if path.exists():\n        raise Stop(f"{path} is there already, and may hold answers',
        '    if path.is_dir():\n        raise Stop(f"{path} is there already, and may hold answers',
        ("tests/release/test_record.py", "-k", "writes_a_record_once"),
    ),
    Mutant(
        "a thread that encodes rows warns of a record",
        "a data-dependent warning",
        "engines/local.py",
        '        with np.errstate(all="ignore"):  # a thread of its own',
        "        with np.errstate():  # a thread of its own",
        ("tests/engines/test_filling.py", "-k", "no_warning"),
    ),
    Mutant(
        "products take one thread where the first thread of the process asks for it, and nowhere else",
        "a limit that does not hold, or stays for good (threadpoolctl 3.8)",
        "_blas.py",
        'getattr(library, "_real_set_num_threads", library.set_num_threads)(threads)',
        "library.set_num_threads(threads)",
        ("tests/engines/test_filling.py", "-k", "last_that_asked"),
    ),
    Mutant(
        "third-party maps are called by several threads",
        "our own: code that learns what stands beside a row",
        "placed/rows.py",
        "if isinstance(table, Streamed) or not all(_ours_throughout(fitted) for fitted in self.maps):",
        "if isinstance(table, Streamed):",
        ("tests/engines/test_filling.py", "-k", "third_party"),
    ),
    Mutant(
        "third-party maps in a map of ours are called by several threads",
        "our own: code that learns what stands beside a row",
        "placed/rows.py",
        "not all(_ours_throughout(fitted) for fitted in self.maps)",
        "not all(is_ours(type(fitted)) for fitted in self.maps)",
        ("tests/engines/test_filling.py", "-k", "third_party"),
    ),
    Mutant(
        "rows that several threads encode lose which of them a map dropped",
        "a record that counts where the claim says it does not",
        "runs/run.py",
        "return x, block if kept is None else np.where(kept, block, -1), start",
        "return x, block, start",
        ("tests/engines/test_filling.py", "-k", "drops"),
    ),
)
