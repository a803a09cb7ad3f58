"""What neighbouring data sets are: the two adjacencies, and all in which they differ."""

from __future__ import annotations

from typing import Literal, TypeAlias

from prepriv._arguments import shown

Adjacency: TypeAlias = Literal["replace-one", "add-or-remove-one"]
ADJACENCIES: tuple[Adjacency, ...] = ("replace-one", "add-or-remove-one")


def check_adjacency(adjacency: str) -> Adjacency:
    """Return `adjacency`, if it is one of the two that exist.

    Parameters
    ----------
    adjacency : str
        "replace-one" or "add-or-remove-one".

    Returns
    -------
    str

    Raises
    ------
    ValueError
        For anything else, naming the two.

    Examples
    --------
    >>> from prepriv.adjacency import check_adjacency
    >>> check_adjacency("replace-one")
    'replace-one'
    """
    for known in ADJACENCIES:
        if isinstance(adjacency, str) and adjacency == known:
            return known
    raise ValueError(f"adjacency must be one of {', '.join(ADJACENCIES)}; got {shown(adjacency)}")


def n_is_public(adjacency: Adjacency) -> bool:
    """Whether neighbouring data sets have equally many records: then the true number of records is public.

    Of units with several rows each the number of units is, and that of rows is not (`Domain.n_is_public`).

    >>> n_is_public("replace-one"), n_is_public("add-or-remove-one")
    (True, False)
    """
    return check_adjacency(adjacency) == "replace-one"


def rows_changed(adjacency: Adjacency) -> int:
    """In how many rows neighbouring data sets differ: one leaves and one comes, or one alone does.

    A sum of rows of norm at most r moves by at most r times that; a sum of orthogonal ones by r times its root.

    >>> rows_changed("replace-one"), rows_changed("add-or-remove-one")
    (2, 1)
    """
    return 2 if n_is_public(adjacency) else 1
