"""`prepriv reproduce sgd-iteration` and `ptr-utility`: Theorem 15 and Proposition 9 of the paper, what holds beside them."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from prepriv.commands.exits import Stop
from prepriv.commands.printing import print_table
from prepriv.guarantees.printed import up
from prepriv.guarantees.smooth_mechanisms import one_pass_gradient
from prepriv_papers.counterexamples import measured
from prepriv_papers.provable_privacy import errata_learners
from prepriv_papers.provable_privacy.items import PTR_UTILITY, SGD_ITERATION
from prepriv_papers.verdicts import decide

ITEMS = (*SGD_ITERATION, *PTR_UTILITY)
ITEMS_OF = {"sgd_iteration": SGD_ITERATION, "ptr_utility": PTR_UTILITY}
MOST_STOPS = 60  # beyond, linear losses are far below what is printed


def theorem_15(
    n: int,
    differing: int,
    epsilon: float,
    order: float,
    shift: float,
    lipschitz: float = 1.0,
    smoothness: float = 1.0,
) -> dict[str, float]:
    """Its noise, its two bounds as printed, as its own proofs have them, and ours at that noise.

    differing: κ, rows that differ at a total shift of `shift`, τ. lipschitz, smoothness: L, µ. order: α. The last step is
    drawn from 1 … n − κ + 1. ValueError where its condition max(L, τL) √(2α(α−1)) < σ fails.

    >>> round(theorem_15(1000, 10, 0.02, 11.0, 2.0)["printed_srdp"], 2)
    22.17
    """
    last = n - differing + 1
    if not (1 <= differing <= n and n > 1):
        raise ValueError(f"differing must lie in 1 … n = {n}; got {differing}")
    noise = 8 * lipschitz / epsilon * math.sqrt(2 * math.log(n) / n)
    least = max(1.0, shift) * lipschitz * math.sqrt(2 * (order - 1) * order)
    if not least < noise:
        most = epsilon * noise / least
        raise ValueError(
            f"Theorem 15 asks for σ above max(L, τL) √(2α(α−1)) = {least:.4g}, so for ε below {most:.3g} here"
        )
    spread = shift**2 * smoothness**2 * n * math.log(last + 1) / (last * lipschitz**2 * math.log(n))
    ours = one_pass_gradient(lipschitz=lipschitz, smoothness=smoothness, noise=noise, last=last)
    return {
        "noise": noise,
        "printed_rdp": order * epsilon**2 / 2,
        "proof_rdp": 4 * order * lipschitz**2 * math.log(n) / (n * noise**2),
        "ours_rdp": ours.renyi(order),
        "printed_srdp": order * spread / 2,
        "proof_srdp": order * epsilon**2 * spread / 32,
        "ours_srdp": ours.smooth(order, shift),
    }


def where_theorem_15_holds(n: int, epsilon: float, order: float) -> dict[str, float]:
    """κ from which linear losses attain more than αε²/2, and κ up to which ours, which is proved, stays below it.

    By exact integration at each stop; "attained_rdp" is at κ = n. refuted_from is n + 1 if no κ is refuted.
    """
    said, attained = order * epsilon**2 / 2, []
    for last in range(1, min(n, MOST_STOPS) + 1):
        attained.append(errata_learners.theorem_15(n, last, epsilon, order)[1])
        if attained[-1] <= said:
            break
    refuted = sum(a > said for a in attained)
    noise = 8 / epsilon * math.sqrt(2 * math.log(n) / n)
    proved = next(
        (
            last
            for last in range(1, n + 1)
            if one_pass_gradient(lipschitz=1.0, smoothness=1.0, noise=noise, last=last).renyi(order) <= said
        ),
        n + 1,
    )
    return {
        "attained_rdp": attained[0],
        "refuted_from": float(n - refuted + 1),
        "proved_to": float(n - proved + 1),
    }


def proposition_9(
    n: int,
    k: int,
    epsilon: float,
    delta: float,
    gap: float,
    declared: float,
    tail: float,
    lipschitz: float = 1.0,
) -> dict[str, float]:
    """Chance that Algorithm 1 refuses, and the excess risk if it does not, as printed and as it is.

    gap: of the data, at least `declared`, β. tail: Λ, the sum of the eigenvalues beyond the k-th. Rows in the unit ball. One
    record moves the gap by at most 2/n, so the data are at least (gap - β) n/2 records from a gap of β; the threshold is
    log(2/δ)/ε. The constant of its O(·) is taken as 1. A chance above 1 says nothing.

    >>> found = proposition_9(1000, 50, 1.0, 1e-5, 0.0008, 0.0, 1.3e-5)
    >>> round(found["printed_refused"]), round(found["refused"])
    (46826, 67032)
    """
    if not declared <= gap:
        raise ValueError(f"β = {declared} must be at most the gap of the data, {gap}")
    far = (gap - declared) * n * epsilon
    learning = lipschitz * math.sqrt(1 + k * math.log(1 / delta)) / (epsilon * n)
    return {
        "printed_refused": math.exp(-far / 12.2) / (2 * delta),
        "refused": math.exp(-far / 2) / delta,
        "printed_risk": learning + 2 * lipschitz * tail,
        "risk": learning + 2 * lipschitz * math.sqrt(tail),
    }


def sgd_iteration(
    rows: Annotated[int, typer.Option("--rows", "-n", min=2, help="n.")] = 1000,
    differing: Annotated[int, typer.Option(min=1, help="κ: rows that differ at this shift.")] = 10,
    epsilon: Annotated[float, typer.Option(help="ε of its noise.")] = 0.02,
    order: Annotated[float, typer.Option(help="α, above 1.")] = 11.0,
    shift: Annotated[float, typer.Option(help="τ: total shift of the rows.")] = 2.0,
) -> None:
    """Theorem 15 (DP-SGD by iteration), L = µ = 1: as printed, as its proofs have it, and what holds."""
    if not (order > 1 and 0 < epsilon < math.inf and 0 <= shift < math.inf):
        raise Stop("--order must be above 1, --epsilon positive, --shift at least 0")
    found = _calculated(theorem_15, rows, differing, epsilon, order, shift)
    cells = [
        [name, *(f"{found[f'{who}_{key}']:.5g}" for who in ("printed", "proof")), up(found[f"ours_{key}"], 5)]
        for name, key in (("one replaced record (RDP)", "rdp"), (f"total shift {shift:g} (SRDP)", "srdp"))
    ]
    print_table(
        f"Theorem 15: divergence of order {order:g}, n = {rows}, κ = {differing}, ε = {epsilon:g}: σ = {found['noise']:.4g}",
        ("between", "printed", "from its own proof", "ours"),
        cells,
        right=(1, 2, 3),
    )
    decide(SGD_ITERATION, _sgd_numbers(found, rows, differing, epsilon, order))


def _sgd_numbers(
    found: dict[str, float], n: int, differing: int, epsilon: float, order: float
) -> dict[str, Any]:
    """What the verdicts on Theorem 15 look at."""
    numbers = found | where_theorem_15_holds(n, epsilon, order)
    numbers |= {"order": order, "epsilon": epsilon, "differing": float(differing)}
    return numbers | {"errata": measured("L2")}


def default_sgd_iteration() -> dict[str, Any]:
    """The numbers of `prepriv reproduce sgd-iteration` without an option."""
    return _sgd_numbers(theorem_15(1000, 10, 0.02, 11.0, 2.0), 1000, 10, 0.02, 11.0)


def ptr_utility(
    gap: Annotated[float, typer.Option(help="λ_k − λ_(k+1) of the data.")] = 0.000806,
    tail: Annotated[float, typer.Option(help="Λ: sum of the eigenvalues beyond the k-th.")] = 1.3e-5,
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, help="n.")] = 1000,
    rank: Annotated[int, typer.Option(min=1, help="k.")] = 50,
    epsilon: Annotated[float, typer.Option(help="ε of Algorithm 1.")] = 1.0,
    delta: Annotated[float, typer.Option(help="δ of Algorithm 1.")] = 1e-5,
    declared: Annotated[float, typer.Option(help="β, at most the gap.")] = 0.0,
) -> None:
    """Proposition 9 (utility of Algorithm 1), L = 1; the defaults are the data of Figure 3."""
    if not (0 < epsilon < math.inf and 0 < delta < 1 and 0 <= tail < math.inf):
        raise Stop("--epsilon must be positive, --delta in (0, 1), --tail at least 0")
    found = _calculated(proposition_9, rows, rank, epsilon, delta, gap, declared, tail)
    cells = [
        ["chance of a refusal, at most", f"{found['printed_refused']:.4g}", f"{found['refused']:.4g}"],
        ["excess risk otherwise, O(·) read as 1", f"{found['printed_risk']:.4g}", f"{found['risk']:.4g}"],
    ]
    title = f"Proposition 9: n = {rows}, k = {rank}, ε = {epsilon:g}, δ = {delta:g}, gap {gap:g}, β = {declared:g}, Λ = {tail:g}"
    print_table(title, ("", "printed", "what its argument gives"), cells, right=(1, 2))
    decide(PTR_UTILITY, _ptr_numbers(found, (gap - declared) * rows * epsilon, delta))


def _ptr_numbers(found: dict[str, float], far: float, delta: float) -> dict[str, Any]:
    """What the verdicts on Proposition 9 look at."""
    return found | {
        "refusal_share": _refusal_share(),
        "printed_check": found["printed_refused"] / (math.exp(-far / 12.2) / (2 * delta)),
        "errata": measured("P12", "L18"),
    }


def default_ptr_utility() -> dict[str, Any]:
    """The numbers of `prepriv reproduce ptr-utility` without an option."""
    return _ptr_numbers(proposition_9(1000, 50, 1.0, 1e-5, 0.000806, 0.0, 1.3e-5), 0.806, 1e-5)


def _refusal_share() -> float:
    """The largest proved chance of a refusal over the printed one, over 200 distances at which the printed one is below 1."""
    at = [proposition_9(1000, 50, 1.0, 1e-5, 10 ** (-3 + i * 6 / 199) / 1000, 0.0, 0.01) for i in range(200)]
    return max(f["refused"] / f["printed_refused"] for f in at if 0 < f["printed_refused"] < 1)


def _calculated(calculator: Any, *arguments: float) -> dict[str, float]:
    try:
        found: dict[str, float] = calculator(*arguments)
    except ValueError as error:
        raise Stop(str(error)) from None
    return found
