"""What the canaries of a run showed, for its report: claim, plan and lower bound side by side. docs/self-audit.md."""

from __future__ import annotations

from typing import Any

from prepriv.guarantees.loss_distribution import compose
from prepriv.guarantees.one_run import OneRun, claimed_mu
from prepriv.guarantees.printed import down, up
from prepriv.plans.plan import Plan


def claimed(plan: Plan) -> float:
    """µ of what is claimed of the training alone: that of the best guess of one coin, where it is not a Gaussian curve."""
    parts = plan.learner.parts(plan.learner_noise_multiplier, plan.setting, delta=plan.delta)
    return claimed_mu(compose(parts).symmetrized())


def audit_json(plan: Plan, found: OneRun) -> dict[str, Any]:
    """As plain data: what was counted, and what follows of it."""
    return {
        "canaries": found.canaries,
        "correct": found.correct,
        "noise": found.noise,
        "claimed_mu": claimed(plan),
        "planned_mu": found.planned_mu,
        "estimated_mu": found.estimate,
        "lower_mu": found.lower_mu,
        "refuted": found.refuted,
    }


def audit_in_words(plan: Plan, found: OneRun) -> str:
    """One sentence: claim, what the canaries can reach, estimate and bound."""
    return (
        f"the run audited itself: µ of training is claimed to be at most {up(claimed(plan), 4)}. {found.canaries:,} canaries, which can reach "
        f"{up(found.planned_mu, 4)}, estimate it as {down(found.estimate, 3)}, and as at least {down(found.lower_mu, 3)} (95 % confidence). The noise was "
        f"{found.noise:.4f} times the planned one"
    )


def audit_fragment(plan: Plan, found: OneRun) -> str:
    """Its part of the page, as HTML."""
    said = audit_in_words(plan, found)
    covers = (
        "Canaries are made-up rows in coordinates that no record has. They go through the same clipping, sampling, sum and noise. They do not change "
        "the claim, and what they show depends on no record. They do not test pre-processing, and the bound assumes that the noise of "
        "different coordinates is independent. Whoever ran it states how many were guessed, and no file can show it."
    )
    return f'<p>{said[0].upper()}{said[1:]}.</p><figure>{audit_picture(plan, found)}</figure><p class="mute">{covers}</p>'


def audit_picture(plan: Plan, found: OneRun) -> str:
    """The claim, what canaries can reach, the estimate, and the lower bound, on one line."""
    from prepriv.release.pictures import BLUE, GREY, dot, label, stroke, svg  # which a page alone draws

    most = claimed(plan)
    scale = 480 / (1.15 * max(most, found.estimate, 1e-9))

    def at(mu: float) -> float:
        return 20 + scale * mu

    parts = [stroke(20, 60, 500, 60, GREY), stroke(at(found.lower_mu), 60, at(found.estimate), 60, BLUE)]
    parts += [dot(at(found.estimate), 60), stroke(at(most), 40, at(most), 80, GREY)]
    parts += [
        label(at(most), 30, f"claimed: at most {up(most, 3)}", "end"),
        label(max(at(found.lower_mu), 70), 100, f"shown: at least {down(found.lower_mu, 3)}", "middle", BLUE),
        label(20, 84, "0", "middle"),
    ]
    told = f"The claim is {up(most, 3)}; the canaries show at least {down(found.lower_mu, 3)}."
    return svg("µ, claimed and shown", 520, 116, parts, told)
