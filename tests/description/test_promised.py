"""Pages and data of descriptions, answers and sketches say what their claim promises: a recipient may have no other page."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import prepriv
from prepriv import Categorical, Domain, Numeric
from prepriv.description.description_page import json_text
from prepriv.description.description_page import to_html as description_html
from prepriv.description.sketch_page import to_html as sketch_html
from prepriv.guarantees.gaussian import gdp_mu
from prepriv.ledger import Ledger

RNG = np.random.default_rng(0)
ROWS = pd.DataFrame({"age": RNG.uniform(18, 90, 3000), "sex": RNG.choice(["f", "m"], 3000)})
COLUMNS = {"age": Numeric(18, 90), "sex": Categorical(["f", "m"])}


def _released(kind, domain, ledger):
    options = {"epsilon": 1.0, "delta": 1e-6, "ledger": ledger}
    if kind == "description":
        return prepriv.describe(ROWS, domain, **options)
    if kind == "answers":
        return prepriv.ask(ROWS, domain, ["share(sex)"], **options)
    return prepriv.sketch(ROWS, domain=domain, **options)


@pytest.mark.parametrize("kind", ["description", "answers", "sketch"])
def test_a_page_says_what_is_promised_what_adds_to_it_and_who_declared(kind, tmp_path):
    """A finding: only the pages of models and scores did."""
    named = Domain(COLUMNS, n=len(ROWS), declared_by="A. Person <b>")
    ledger = tmp_path / "l.db"
    Ledger.create(ledger, "people", epsilon=6.0, delta=1e-4)
    with_cap, alone = (_released(kind, named, ledger), _released(kind, Domain(COLUMNS, n=len(ROWS)), None))
    truth = 100 * norm.cdf(gdp_mu(1.0, 1e-6) / 2)
    for made, facts in (
        (with_cap, ("A. Person <b>", "guesses are right at most", "hardly limits", "epsilon 6")),
        (alone, ("whoever ran it", "Other releases about the same people add to it")),
    ):
        data = json.loads(json_text(made)) if kind == "description" else made.to_json()
        texts = [" ".join(data["promise"])]
        if kind != "answers":
            text = description_html(made) if kind == "description" else sketch_html(made)
            text = text.split("Everything, as data")[0]
            texts.append(html.unescape(re.sub(r"<[^>]+>", " ", text)))
        for text in texts:
            assert all(fact in text for fact in facts), (kind, facts, text)
            right = re.search(r"right at most ([\d.]+) times in 100", text)
            assert right and float(right[1]) == pytest.approx(truth, abs=0.1) and float(right[1]) >= truth
            assert "two versions of one record" in text
