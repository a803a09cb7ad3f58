"""The documentation site: `make docs`. Pages are Markdown as they lie here; the reference is made of docstrings."""

from __future__ import annotations

import re
from importlib.metadata import version as installed
from typing import Any

project = "prepriv"
author = "The prepriv maintainers"
release = version = installed("prepriv")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["README.md", "_build"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
suppress_warnings = ["toc.not_included"]  # a page that no list names is found by the search

default_role = "code"
autodoc_default_options = {
    "members": True,
    "member-order": "bysource",
    "exclude-members": "set_fit_request, set_score_request",
}
autodoc_typehints = "none"
napoleon_use_param = (
    False  # types are words and shapes, in which n does not lead to an attribute of that name
)
napoleon_use_rtype = False
add_module_names = False
python_use_unqualified_type_names = True

html_theme = "pydata_sphinx_theme"
html_title = "prepriv"
html_static_path = ["_static"]
html_css_files = ["prepriv.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "collapse_navigation": True,  # a page's menu lists its own part alone
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_end": ["theme-switcher"],
}
html_context = {"default_mode": "auto"}
copyright = "the prepriv maintainers. Licence: Apache-2.0"


def setup(app: Any) -> None:
    """After napoleon and the theme, whose priority is 500."""
    app.connect("autodoc-process-docstring", _plain, priority=600)
    app.connect("html-page-context", _named_arrows, priority=600)


def _named_arrows(_app: Any, _page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    """The arrow that opens a part of the menu is a button without a name in the theme; a screen reader needs one."""
    made = context["generate_toctree_html"]

    def named(kind: str, **options: Any) -> Any:
        menu = made(kind, **options)
        return (
            str(menu).replace("<summary>", '<summary aria-label="Pages below">')
            if kind == "sidebar"
            else menu
        )

    context["generate_toctree_html"] = named


def _plain(_app: Any, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: a hanging indent is no block quote, a bar no substitution, x_ no link. Fields and lists
    are left as they are."""
    for i, line in enumerate(lines):
        if ">>>" not in line and not line.lstrip().startswith(".. "):
            told = line.split("`")
            told[::2] = [re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", part.replace("|", r"\|")) for part in told[::2]]
            lines[i] = "`".join(told)
    before = ""
    for i, line in enumerate(lines):
        if re.match(r"\s*(:(param\w*|type|returns?|raises?|rtype|ivar)\b|\.\. )", line, re.I):
            return
        indent, old = len(line) - len(line.lstrip()), len(before) - len(before.lstrip())
        listed = before.lstrip().startswith("- ") or ">>>" in line + before
        if line.strip() and before.strip() and indent != old and not listed:
            line = " " * old + line.lstrip()
        lines[i] = before = line
