"""The results of the search as a table: on the terminal, and for docs/sensitivity-table.md."""

from __future__ import annotations

from collections.abc import Sequence

from prepriv.audit.sensitivity_search import SearchResult
from prepriv.guarantees.printed import down, up

LOOSE = 5.0  # a total-shift bound this many times above what the search reaches is marked
HEAD = (
    "step or chain",
    "n x d",
    "rows moved",
    "row shift",
    "total shift",
    "rows dropped",
    "of the bound",
    "",
)

MARK = b"# How close the search comes to each bound"
_TEXT = (
    f"{MARK.decode()}\n"
    + """
Each cell has the largest value that the adversarial search found for a pair of neighbours, over the declared bound.
Shifts are those of the common rows, and each of the four numbers has its own worst pair. "Of the bound" is the ratio
of the total shifts, or of the dropped rows where no row moves. "Loose" means that the bound is more than {loose:g} times what the
search reached. Either the bound is loose or the search is weak there; it says nothing about real data.
The search proves nothing. The proofs are in [proofs/](proofs/index.md).

Written by `prepriv audit sensitivity all --seconds {seconds:g} --seed {seed} --table docs/sensitivity-table.md`;
{pairs} pairs of neighbours were tried.
"""
)

_PAPER = """
## Bounds of Provable Privacy with Non-Private Pre-Processing that the search beats

| step | case | beaten by a factor | entry |
|---|---|---|---|
"""


def row_of(result: SearchResult) -> tuple[str, ...]:
    """One line: name, size, found / bound of the four quantities, the ratio, a remark."""
    case, found, bound = result.case, result.found, result.bound
    pairs = [
        f"{getattr(found, q):.4g} / {up(getattr(bound, q), 4)}"
        if getattr(bound, q) + getattr(found, q) > 0
        else "0"
        for q in ("rows_moved", "row_shift", "total_shift", "rows_dropped")
    ]
    ratio = main_ratio(result)
    remark = "BEATEN" if not result.holds else "loose" if 0 <= ratio < 1 / LOOSE else ""
    return (
        case.name,
        f"{case.n} x {case.space.d}",
        *pairs,
        "free" if ratio < 0 else f"{ratio:.2f}",
        remark,
    )


def main_ratio(result: SearchResult) -> float:
    """Found over bound of the total shift, or of the dropped rows if no row moves; -1 if both bounds are zero."""
    if result.bound.total_shift > 0 or result.found.total_shift > 0:
        return result.ratio("total_shift")
    return result.ratio("rows_dropped") if result.bound.rows_dropped > 0 else -1.0


def markdown(results: Sequence[SearchResult], *, seconds: float, seed: int) -> str:
    """The whole page."""
    tried = sum(r.pairs for r in results)
    lines = [_TEXT.format(loose=LOOSE, seconds=seconds, seed=seed, pairs=f"{tried:,}")]
    lines.append("| " + " | ".join(HEAD) + " |")
    lines.append("|---|---|---|---|---|---|---|---|")
    lines += ["| " + " | ".join(row_of(r)) + " |" for r in results]
    text = "\n".join(lines) + "\n"
    beaten = [r for r in results if r.paper_factor > 1]
    if beaten:
        text += _PAPER
        for r in beaten:
            kind = r.case.name.split("/")[0]
            text += f"| {kind} | {r.case.name} | x {down(r.paper_factor, 3)} | [errata](errata.md) |\n"
    return text
