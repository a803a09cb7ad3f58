"""Pages and data of descriptions, answers and sketches say what their claim promises: a recipient may have no other page."""

import html
import json
import math
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
from prepriv.guarantees.in_words import right_at_most
from prepriv.guarantees.several_rows import TOLD, amounts_of_several
from prepriv.ledger import Ledger
from prepriv.release.summary import cap_in_words

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
        (
            with_cap,
            ("A. Person <b>", "guesses about one record are right at most", "hardly limits", "epsilon 6"),
        ),
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


@pytest.mark.parametrize("kind", ["description", "answers", "sketch"])
def test_a_page_says_what_several_rows_of_one_person_cost_and_how_many_records_are_declared(kind):
    """A finding: answers named who declared the number of records, and not the number; the page of a model alone had several rows."""
    made = _released(kind, Domain(COLUMNS, n=len(ROWS)), None)
    data = json.loads(json_text(made)) if kind == "description" else made.to_json()
    assert data["n"] == len(ROWS)
    texts = [" ".join(data["promise"])]
    if kind != "answers":
        texts.append(html.unescape(description_html(made) if kind == "description" else sketch_html(made)))
    for text in texts:
        found = re.search(
            r"One row, one person: .* at most ([\d.]+) times in 100 with 2 rows .*? and ([\d.]+) times in 100 with 5 rows",
            text,
        )
        assert found
        for right, rows in zip(found.groups(), (2, 5)):
            truth = 100 * norm.cdf(rows * gdp_mu(1.0, 1e-6) / 2)  # of rows that one person has
            assert truth <= float(right) <= truth + 0.2


def test_several_rows_are_of_the_draft_too_and_of_no_unit(tmp_path):
    """What the claim adds up counts, and a unit has no line: all rows of one are covered."""
    drafted = Domain.draft(ROWS.assign(y=ROWS["sex"]), label="y", epsilon=2.0, delta=1e-6)
    told = [
        " ".join(prepriv.ask(ROWS, domain, ["share(sex)"], epsilon=1.0, delta=1e-6).to_json()["promise"])
        for domain in (drafted, Domain(COLUMNS, n=len(ROWS)))
    ]
    right = [float(re.search(r"([\d.]+) times in 100 with 2 rows", text)[1]) for text in told]
    assert right[0] > right[1]
    whole = Domain(COLUMNS, n=30, unit="who", rows_per_unit=1)
    people = ROWS.assign(who=np.arange(len(ROWS)) % 30)
    made = prepriv.ask(people, whole, ["share(sex)"], epsilon=1.0, delta=1e-3).to_json()
    assert "One row, one person" not in " ".join(made["promise"]) and made["n"] == 30


@pytest.mark.parametrize(
    ("cap", "mu"),
    [
        ("epsilon 1, delta 0.00001", gdp_mu(1, 1e-5)),
        ("epsilon 2, delta 0.0001", gdp_mu(2, 1e-4)),
        ("mu^2 0.3", math.sqrt(0.3)),
    ],
)
def test_what_a_cap_allows_about_several_rows_is_no_less_than_what_a_claim_within_it_does(cap, mu):
    """An officer's: "74.9 with 5 rows" of a model alone, and in the next line "all uses ... at most 73.2", which was about one record."""
    said = amounts_of_several(cap)
    for rows in TOLD:
        told = float(re.search(rf"([0-9.]+) times in 100 with {rows} rows", said)[1])
        assert told >= 100 * norm.cdf(rows * mu / 2)  # of a mechanism that takes all of the cap
        assert told > 100 * right_at_most(cap)
    one, of_units = (cap_in_words({"cap": cap}, unit) for unit in (None, "patient"))
    assert said in one and "guesses about one record are right" in one
    assert (
        "About all rows" not in of_units and "guesses about all rows of one `patient` are right" in of_units
    )
