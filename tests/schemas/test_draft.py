"""The draft of a schema: what is no list of categories, and what identifies a record, is left out or pointed at."""

from __future__ import annotations

import pyarrow as pa
import pytest
import yaml

from prepriv.schemas.declared_file import BadSchema
from prepriv.schemas.first_schema import _LONGEST, FEW_ROWS, draft
from prepriv.schemas.schema import Schema

N = 300


def table(n=N, **more):
    columns = {
        "number": [0.5 * i for i in range(n)],
        "job": ["clerk", "smith", "?"] * (n // 3) + ["clerk"] * (n % 3),
        "label": [i % 2 for i in range(n)],
    }
    return pa.table(columns | more)


def body(drafted):
    return Schema.model_validate(yaml.safe_load(drafted.text)).model_dump()["columns"]


def test_what_needs_no_look_gets_no_note():
    drafted = draft(table(), "label")
    assert drafted.notes == () and "LOOK AT" not in drafted.text
    assert set(body(drafted)) == {"number", "job"} and body(drafted)["job"]["categories"] == [
        "clerk",
        "smith",
    ]


def test_too_many_texts_are_left_out_and_not_listed():
    dates = [f"day {i // 2}" for i in range(N)]
    drafted = draft(table(date=dates), "label")
    assert "date" not in body(drafted) and "day 7" not in drafted.text
    assert len(drafted.notes) == 1 and f"# LOOK AT {drafted.notes[0]}\n" in drafted.text
    assert "'date': left out" in drafted.notes[0] and "150 different texts" in drafted.notes[0]
    assert "declare it by hand" in drafted.notes[0]
    most = draft(table(date=[f"day {i % _LONGEST}" for i in range(N)]), "label")
    assert most.notes == () and len(body(most)["date"]["categories"]) == _LONGEST


@pytest.mark.parametrize("gap", [False, True])
def test_whole_numbers_or_texts_that_never_repeat_are_pointed_at(gap):
    number = [None if gap and i == 5 else 7 * i for i in range(N)]
    drafted = draft(table(id=number), "label")
    assert (
        "id" in body(drafted)
        and len(drafted.notes) == 1
        and "'id': no value stands twice" in drafted.notes[0]
    )
    assert draft(table(id=[*number[:-1], 7]), "label").notes == ()
    few = table(FEW_ROWS - 1, id=list(range(FEW_ROWS - 1)))
    assert draft(few, "label").notes == ()
    names = table(FEW_ROWS, id=[f"person {i}" for i in range(FEW_ROWS)])
    assert "'id': no value stands twice" in draft(names, "label").notes[0]


def test_a_label_with_a_value_for_each_record_is_no_label():
    with pytest.raises(BadSchema, match="300 different values, too many") as caught:
        draft(table(word=[f"SECRET-{i}" for i in range(N)]), None)
    assert "SECRET" not in str(caught.value)


def test_a_name_cannot_end_its_comment():
    drafted = draft(table(**{"a\nsteps: [x]\x85y": [f"t{i}" for i in range(N)]}), "label")
    assert "steps" not in yaml.safe_load(drafted.text) and len(drafted.notes[0].splitlines()) == 1


def test_one_column_is_no_table():
    with pytest.raises(BadSchema, match="it has one column"):
        draft(table().select(["label"]), None)
