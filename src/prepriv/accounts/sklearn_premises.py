"""What has to hold of the table and of the fit, where scikit-learn fits what an account is of."""

from __future__ import annotations

WITHIN = (
    "holds only if the table has the columns of the domain, in their order, and no others; every cell lies within its declared "
    "bounds and categories, and none is empty but in columns declared with missing: impute (fix both before the pipeline, record "
    "by record)"
)
SPELLED = (
    "holds only if scikit-learn reads every cell as it is declared: a number is a number and no text, what is missing is nan and "
    "nothing else (no '?', no empty text, no pd.NA), and a category is spelled exactly as in categories=; any other cell stops "
    "the fit, which reveals something about its record"
)
FITTED = "holds only if scikit-learn fitted each part from scratch, in one call of fit on these records, without weights or other arguments"
SPARSE = "holds only if what reads the rows treats sparse and dense ones alike: which of the two they are depends on how many cells are zero"


def of_codes(column: str, most: int) -> str:
    """What has to hold of the cells that an OrdinalEncoder reads: of its codes alone the declared bounds say something."""
    return (
        f"holds only if each cell of {column!r} is one of the {most + 1} categories that its OrdinalEncoder lists, spelled exactly so, in place "
        f"of a number within its declared bounds, which are of the codes 0 to {most}"
    )
