"""The page templates: Jinja2 files of this project, never a user's text."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

_PAGES = Environment(
    loader=PackageLoader("marginalia.export.pages", "."),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def page(template: str, **values: object) -> str:
    """The page that *template* makes of *values*; texts among them are escaped."""
    return _PAGES.get_template(template).render(values)


def safe(markup: str) -> Markup:
    """Markup of ours, which a template takes as it is."""
    return Markup(markup)  # noqa: S704 - made by marginalia.export.markup, which escapes every text
