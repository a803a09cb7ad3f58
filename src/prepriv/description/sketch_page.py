"""A sketch as one HTML page with pictures, or as JSON: nothing but what was released, and what follows from it."""

from __future__ import annotations

import json
import os
from html import escape
from pathlib import Path

from prepriv._text import printable
from prepriv.description.estimates import short_number
from prepriv.description.look import notes_of_claim
from prepriv.description.sketch import SketchedTable
from prepriv.release.pictures import COLOURS, label, page_style, stroke, svg
from prepriv.release.writing import write_atomically

_MOST_BARS, _MOST_CLASSES, _MOST_PICTURES = 24, len(COLOURS), 200


def save(found: SketchedTable, path: str | os.PathLike[str]) -> None:
    """Write the page (.html) or the data (.json). ValueError for another ending."""
    path = Path(path)
    if path.suffix not in (".html", ".json"):
        raise ValueError(f"a sketch is saved as .html or .json; got {path.name}")
    write_atomically(path, to_html(found) if path.suffix == ".html" else json_text(found))


def json_text(found: SketchedTable) -> str:
    """The data as text."""
    return json.dumps(found.to_json(), indent=1, allow_nan=False) + "\n"


def to_html(found: SketchedTable) -> str:
    """One self-contained page."""
    look = found.priced.look
    columns = list(found.sketch.plan.columns)
    body = [
        "<main>\n<h1>A sketch of a table</h1>",
        f"<p><b>It holds {escape(found.what)}.</b></p>",
        *(
            f"<p>{_text(said)}</p>"
            for said in notes_of_claim(found.guarantee_, look.delta, look.n, found.promised)
        ),
        f"<p>{escape(found.check)}</p>",
        *(f"<p><b>{_text(note)}</b></p>" for note in found.notes),
        '<p class="lead">Bars are noisy counts. The line on a bar is its 95 % interval, made from the noise alone.</p>',
        *(f"<h2>{_text(name)}</h2>{sketch_picture(found, name)}" for name in columns[:_MOST_PICTURES]),
        f"<details><summary>Everything, as data</summary><pre>{_text(json_text(found))}</pre></details>",
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>prepriv sketch</title>\n'
        f"<style>\n{page_style()}\n</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _text(words: str) -> str:
    return escape(printable(words, keep="\n"))


def sketch_picture(found: SketchedTable, column: str) -> str:
    """Lying bars of the noisy counts of one column, a colour for each class, with their 95 % intervals."""
    table = found.table(column)
    names = found.sketch.names(column)[:_MOST_BARS]
    classes = list(dict.fromkeys(label for _, label in table))[:_MOST_CLASSES]
    top = max(1.0, *(table[name, y].high for name in names for y in classes))
    parts: list[str] = []
    for j, y in enumerate(classes):
        parts.append(f'<rect x="{150 + 90 * j}" y="2" width="10" height="10" fill="{COLOURS[j]}"/>')
        parts.append(label(164 + 90 * j, 11, y if len(y) <= 10 else f"{y[:9]}…", "start"))
    at = 22
    for name in names:
        parts.append(
            label(140, at + 5 * len(classes) + 4, name if len(name) <= 20 else f"{name[:19]}…", "end")
        )
        for j, y in enumerate(classes):
            e = table[name, y]
            width, low, high = (290 * max(x, 0.0) / top for x in (e.value, e.low, e.high))
            parts.append(
                f'<rect x="146" y="{at + 10 * j}" width="{width:.1f}" height="9" fill="{COLOURS[j]}"/>'
            )
            parts.append(stroke(146 + low, at + 10 * j + 4.5, 146 + high, at + 10 * j + 4.5))
        at += 10 * len(classes) + 8
    parts.append(label(146 + 290, at + 8, short_number(top), "end"))
    return svg(f"noisy counts of {column} with the label", 460, at + 14, parts)
