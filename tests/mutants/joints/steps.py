"""Planted bugs: steps of a user's own."""

from __future__ import annotations

from mutant import Mutant

CLOSED = "tests/attacks/test_own_steps_closed.py"
AGAIN = "tests/attacks/test_own_steps_again.py"
KIND = "a default that is a claim: a step of one's own"


def closed(which: str) -> tuple[str, ...]:
    """The tests of steps of one's own whose name holds `which`."""
    return (CLOSED, "-k", which)


def again(which: str) -> tuple[str, ...]:
    """The tests of the joints around such steps whose name holds `which`."""
    return (AGAIN, "-k", which)


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a step that says nothing is 1-Lipschitz",
        KIND,
        "preprocessing/base.py",
        '        """The Lipschitz constant of the fitted map, as a map of rows. inf if there is none, or if the step does not state one."""\n'
        "        return math.inf\n",
        '        """The Lipschitz constant of the fitted map, as a map of rows. inf if there is none, or if the step does not state one."""\n'
        "        return 1.0\n",
        closed("says_nothing_of_its_map"),
    ),
    Mutant(
        "a moved row is never dropped on one side only",
        KIND,
        "preprocessing/base.py",
        "incoming.rows_dropped + (incoming.rows_moved if self.drops else 0.0)",
        "incoming.rows_dropped",
        closed("moved_row_on_one_side"),
    ),
    Mutant(
        "a confidential step may follow dropped rows unsaid",
        KIND,
        "preprocessing/base.py",
        "        return self.paid.leaves\n",
        "        return True\n",
        closed("may_follow_one_that_drops"),
    ),
    Mutant(
        "a parent speaks for the code of its child",
        KIND,
        "_said.py",
        "is_ours(c) or issubclass(speaker, c)",
        "is_ours(c) or issubclass(c, speaker)",
        closed("inherits_no_word"),
    ),
    Mutant(
        "a parent speaks for a helper of its child",
        KIND,
        "_said.py",
        "        if old is not None and not getattr",
        "        if old is None and not getattr",
        closed("helper_that_is_replaced"),
    ),
    Mutant(
        "a dropped row moves by a radius, whatever is made of it",
        "a premise of one thing, used of another",
        "mechanisms/handle.py",
        "needed = radius * (record + 2 * (self.apart.rows_moved + self.apart.rows_dropped))",
        "needed = radius * (record + 2 * self.apart.rows_moved + self.apart.rows_dropped)",
        closed("by_a_diameter and not moment"),
    ),
    Mutant(
        "a dropped row moves a second moment by its square",
        "a premise of one thing, used of another",
        "mechanisms/handle.py",
        "(record + math.sqrt(2) * (self.apart.rows_moved + self.apart.rows_dropped))",
        "(record + math.sqrt(2) * self.apart.rows_moved + self.apart.rows_dropped)",
        closed("by_a_diameter and moment"),
    ),
    Mutant(
        "a record gives as many rows as it likes",
        "a premise of one thing, used of another",
        "mechanisms/handle.py",
        "if rows != self._records:",
        "if rows < self._records:",
        closed("one_row_a_record"),
    ),
    Mutant(
        "rows of a step of one's own stay where they are",
        "a premise of one thing, used of another",
        "placed/handed.py",
        "[known, Inside(planned.step.output(planned.before))]",
        "[known]",
        closed("held_inside_by_the_run"),
    ),
    Mutant(
        "a step may say the same whatever comes in",
        KIND,
        "preprocessing/said.py",
        "if lost or (deaf and not most):",
        "if lost:",
        closed("does_not_count_what_comes_in"),
    ),
    Mutant(
        "a map may hide that it drops rows",
        KIND,
        "placed/handed.py",
        'getattr(training.keep, "__func__", None) is not FittedMap.keep',
        "type(training).keep is not FittedMap.keep",
        closed("attribute_of_its_own"),
    ),
    Mutant(
        "a budget step need not ask",
        KIND,
        "placed/handed.py",
        "silent = step.paid.share > 0 and",
        "silent = step.paid.share > 1 and",
        closed("asks_for_nothing"),
    ),
    Mutant(
        "a learner's account is believed of another run",
        KIND,
        "placed/checks.py",
        "    check_said(type(learner), Learner, CLAIMS, TRAINS)\n",
        "",
        closed("says_itself_what_its_run_costs"),
    ),
    Mutant(
        "a learner of one's own takes as many steps as it likes",
        KIND,
        "runs/run.py",
        "    return Metered(session, learner.name, allowance(learner, z, plan.setting))\n",
        "    return session\n",
        closed("says_itself_what_its_run_costs"),
    ),
    Mutant(
        "labels for every step",
        KIND,
        "placed/handed.py",
        "WithLabels(read, _sealed(rows.labels)) if step.reads_labels else Handed(read)",
        "WithLabels(read, _sealed(rows.labels))",
        closed("labels_are_handed"),
    ),
    Mutant(
        "a space that a later step can change",
        KIND,
        "space.py",
        "own.setflags(write=False)",
        "own.setflags(write=True)",
        again("space_is_read"),
    ),
    Mutant(
        "labels that a step can change",
        KIND,
        "placed/handed.py",
        "    view.setflags(write=False)\n",
        "",
        again("labels_are_read"),
    ),
    Mutant(
        "a step notes records in the plan",
        "what is asked after the run that noted it",
        "runs/run.py",
        "planned.step.paid.fit(copied(planned.step), ",
        "planned.step.paid.fit(planned.step, ",
        again("notes_in_itself_ends"),
    ),
    Mutant(
        "a learner notes records in the plan",
        "what is asked after the run that noted it",
        "runs/run.py",
        "return copied(plan.learner, plan.learner.loss)",
        "return plan.learner",
        again("notes_in_itself_ends"),
    ),
    Mutant(
        "the map for new rows is asked for after the fit",
        "what is asked after the run that noted it",
        "payment.py",
        """        leaves = step.prediction_map(space)  # asked before the step has seen a record
        return step.fit_confidential(access.private(), space, access.n), leaves
""",
        """        return step.fit_confidential(access.private(), space, access.n), step.prediction_map(space)
""",
        again("map_for_new_rows"),
    ),
    Mutant(
        "the map that leaves is the one that mapped private rows",
        "what is asked after the run that noted it",
        "runs/run.py",
        "released.append(as_written(prediction, planned.step))",
        "released.append(kept)",
        again("map_that_leaves"),
    ),
    Mutant(
        "a plan is written down anew each time",
        "what is asked after the run that noted it",
        "plans/plan.py",
        "return copy.deepcopy(self._written) |",
        "return type(self)._written.func(self) |",
        again("written_once"),
    ),
    Mutant(
        "short integers are counted as they are",
        "a premise of one thing, used of another",
        "mechanisms/handle.py",
        "return array.astype(np.float64, copy=False)",
        "return array",
        again("numbers_of_any_kind"),
    ),
    Mutant(
        "a learner that samples is not metered",
        KIND,
        "runs/run.py",
        "if is_ours(type(learner)) or not plan.private:",
        "if is_ours(type(learner)) or not (learner.exact and plan.private):",
        again("whatever_it_samples"),
    ),
    Mutant(
        "what the root class has is no code",
        KIND,
        "_said.py",
        "for p in (*parents, *root.__mro__) if name in vars(p)",
        "for p in parents if name in vars(p) and not hasattr(root, name)",
        again("subclass_replaces"),
    ),
    Mutant(
        "a step may state its premise in one place",
        KIND,
        "preprocessing/said.py",
        "        _check_conditions(step, step.conditions(space, n, incoming), out, incoming)\n",
        "        pass\n",
        again("same_premises"),
    ),
    Mutant(
        "whether a part inherits a premise is no word",
        KIND,
        "preprocessing/said.py",
        "check_said(type(condition), Premise, Premise._words, ",
        'check_said(type(condition), Premise, ("says",), ',
        again("whether_a_part"),
    ),
    Mutant(
        "caps are the same of a part",
        KIND,
        "runs/premises.py",
        "            _check_caps(planned.step)\n",
        "            pass\n",
        again("caps_say"),
    ),
    Mutant(
        "a map may look at the other rows",
        KIND,
        "rehearsals/made_up.py",
        '    if not same:\n        raise ValueError(\n            f"{said} must treat',
        '    if False:\n        raise ValueError(\n            f"{said} must treat',
        again("map_is_rehearsed or residual_is_made"),
    ),
    Mutant(
        "a residual is not rehearsed",
        KIND,
        "rehearsals/rehearsal_training.py",
        "        check_each_row(said, residual, scale * scores, targets)\n",
        "        pass\n",
        again("residual_is_made"),
    ),
    Mutant(
        "rows are kept by their places whatever is public",
        KIND,
        "rehearsals/rehearsal.py",
        "    if not has_places(domain, planned.incoming):\n",
        "    if False:\n",
        again("places_are_public"),
    ),
    Mutant(
        "a mistake is excused by few rows",
        KIND,
        "rehearsals/rehearsal.py",
        "        if enough or isinstance(error, MISTAKES):\n",
        "        if isinstance(error, MISTAKES):\n",
        again("mistakes_of_a_fit"),
    ),
    Mutant(
        "weights of any shape",
        KIND,
        "rehearsals/rehearsal_training.py",
        "    if not (good and np.isfinite(weights).all()):",
        "    if not good:",
        again("hands_back"),
    ),
    Mutant(
        "an error of third-party code leaves with what it saw",
        KIND,
        "runs/failures.py",
        "    if not (names and private):\n",
        "    if True:\n",
        ("tests/runs/test_failures.py",),
    ),
    Mutant(
        "an exit code of third-party code leaves",
        KIND,
        "runs/failures.py",
        "    except BaseException:  # SystemExit",
        "    except Exception:  # SystemExit",
        ("tests/runs/test_failures.py", "-k", "SystemExit"),
    ),
    Mutant(
        "an error of a third-party map leaves while test rows are counted",
        KIND,
        "evaluation/cells.py",
        "sealed(model.maps, model.private, partial(_row_scores, model, table))",
        "_row_scores(model, table)",
        ("tests/runs/test_failures.py", "-k", "test_rows"),
    ),
)
