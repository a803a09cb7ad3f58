"""What a category without a cell costs: OneHotEncoder(drop="first") beside a cell for each, by a private LinearRegression of hours a week (Adult).

`prepriv.private` keeps a cell for each category where codes reach the model. A FunctionTransformer after them, which changes nothing, keeps drop= as it is.
"""

import argparse

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from prepriv import Categorical, Domain, Numeric, private

NUMBERS = {"age": Numeric(15, 95), "education-num": Numeric(0, 20)}
WORDS = ["sex", "race", "marital-status", "workclass"]

ask = argparse.ArgumentParser()
ask.add_argument("table", help="Adult, as a CSV file with names of columns")
ask.add_argument("--epsilon", type=float, default=1.0)
ask.add_argument("--fits", type=int, default=12)
asked = ask.parse_args()

table = pd.read_csv(asked.table, skipinitialspace=True)
# Adult is public: its categories may be read off it.
words = {name: Categorical(sorted(table[name].dropna().astype(str).unique())) for name in WORDS}
X, y = table[[*NUMBERS, *WORDS]], table["hours-per-week"]
domain = Domain(NUMBERS | words, target=Numeric(0, 100), n=len(table))
for name, drop, after in (
    ("one left out", "first", [FunctionTransformer()]),
    ("a cell for each", "first", []),
    ("no drop=", None, []),
):
    codes = make_column_transformer((StandardScaler(), [*NUMBERS]), (OneHotEncoder(drop=drop), WORDS))
    model = private(
        make_pipeline(codes, *after, LinearRegression()), domain, epsilon=asked.epsilon, delta=1e-6
    )
    scores = [model.fit(X, y).score(X, y) for _ in range(asked.fits)]
    print(f"{name}: R2 {np.mean(scores):.4f} (sd {np.std(scores):.4f})", flush=True)
