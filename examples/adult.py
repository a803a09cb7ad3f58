"""Adult census income at epsilon = 1, with every way to pay for a step.

Categorical cells are free. Two numeric columns with missing cells are paid for by sensitivity, and centring by budget.
Prints the price of every way and the accuracy. The accuracy without privacy and that of the automatic recipe, which
pays for everything by budget, are printed next to it.

    python examples/adult.py PATH/adult.csv.gz
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import prepriv
from prepriv import preprocessing as pre

# Declared from the codebook of the census, not from the records.
NUMERIC = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 20_000),
    "capital-loss": (0, 3_000),
    "hours-per-week": (1, 99),
}
BLANKED = ("age", "hours-per-week")
CATEGORIES = {
    "workclass": "Private, Self-emp-not-inc, Self-emp-inc, Federal-gov, Local-gov, State-gov, Without-pay, Never-worked",
    "education": "Bachelors, Some-college, 11th, HS-grad, Prof-school, Assoc-acdm, Assoc-voc, 9th, 7th-8th, 12th, Masters, "
    "1st-4th, 10th, Doctorate, 5th-6th, Preschool",
    "marital-status": "Married-civ-spouse, Divorced, Never-married, Separated, Widowed, Married-spouse-absent, "
    "Married-AF-spouse",
    "occupation": "Tech-support, Craft-repair, Other-service, Sales, Exec-managerial, Prof-specialty, Handlers-cleaners, "
    "Machine-op-inspct, Adm-clerical, Farming-fishing, Transport-moving, Priv-house-serv, Protective-serv, Armed-Forces",
    "relationship": "Wife, Own-child, Husband, Not-in-family, Other-relative, Unmarried",
    "race": "White, Asian-Pac-Islander, Amer-Indian-Eskimo, Other, Black",
    "sex": "Female, Male",
    "native-country": "United-States, Mexico, Philippines, Germany, Canada, Puerto-Rico, El-Salvador, India, Cuba, England, "
    "China, South, Jamaica, Italy, Dominican-Republic, Japan, Guatemala, Poland, Vietnam, Columbia",
}


def load(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(train, test), 80/20 by a fixed rule; every 50th cell of two numeric columns blanked by a fixed rule."""
    table = pd.read_csv(path)
    row = np.arange(len(table))
    for j, column in enumerate(BLANKED):
        table[column] = table[column].astype(float).mask((row * 7919 + j * 3571) % 50 == 0)
    test = row % 5 == 0
    return table[~test], table[test]


def domain(n: int) -> prepriv.Domain:
    """What is public about the table."""
    columns: dict[str, prepriv.Numeric | prepriv.Categorical] = {
        name: prepriv.Numeric(low, high, "impute" if name in BLANKED else "midpoint")
        for name, (low, high) in NUMERIC.items()
    }
    columns |= {
        name: prepriv.Categorical(tuple(c.strip() for c in text.split(",") if c.strip() != "Other"))
        for name, text in CATEGORIES.items()
    }
    return prepriv.Domain(columns, ("<=50K", ">50K"), n, "replace-one", "label")


def steps() -> list[pre.Step]:
    """Impute by sensitivity (2 % of the cells are blank: declared cap 2.5 %), centre by budget."""
    return [
        pre.MeanImputer(payment=prepriv.Sensitivity({"missing": 0.025})),
        pre.Center(payment=prepriv.Budget(0.02)),
        pre.Rescale(10.0),
    ]


def main(path: Path) -> dict[str, float]:
    """Train with and without privacy; returns the two accuracies."""
    train, test = load(path)
    declared = domain(len(train))
    private = prepriv.PrivateClassifier(declared, epsilon=1.0, delta=1e-5, steps=steps()).fit(
        train, train["label"]
    )
    plain = prepriv.PrivateClassifier(declared, epsilon=math.inf, steps=steps()).fit(train, train["label"])
    print(private.guarantee_)
    for price in private.report_.prices:
        cost = f"x {price.factor:.4f}" if price.open else "not available"
        print(f"  {price.step:12} {price.way:12} {cost:13} {'paid' if price.chosen else '':5} {price.note}")
    recipe = prepriv.PrivateClassifier(declared, epsilon=1.0, delta=1e-5).fit(train, train["label"])
    result = {
        "private": private.score(test, test["label"]),
        "private, automatic recipe": recipe.score(test, test["label"]),
        "without privacy": plain.score(test, test["label"]),
    }
    print("  ".join(f"{name}: {100 * value:.2f} %" for name, value in result.items()))
    return result


if __name__ == "__main__":
    main(Path(sys.argv[1]))
