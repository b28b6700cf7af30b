"""The first paint: the end of the story stands in the page itself, before any script has run or a socket is open.

What the components draw later takes its place; until then it looks as they will. These calls block a little.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from markupsafe import Markup

from marginalia.errors import MarginaliaError
from marginalia.ui.preferences import Panes, style_of
from marginalia.ui.reading import find_book
from marginalia.ui.safe import safe
from marginalia.ui.theme import ground

if TYPE_CHECKING:
    from marginalia.models import Preferences
    from marginalia.studio import Studio
    from marginalia.values import BookId

_PARTS = 2

#: The page's template: the text under the scripts, and a quiet line where the frame comes with a spinner.
TEMPLATE = """{% extends "base.html" %}
{% block loader_css %}
#loader { position: fixed; inset: auto 0 10px; display: none; justify-content: center; z-index: 1400; pointer-events: none; }
.spinner { width: 10px; height: 10px; border-radius: 50%; background: #a08a78; animation: mg-wait 1.2s ease-in-out infinite; }
@keyframes mg-wait { 50% { opacity: .25; } }
@media (prefers-reduced-motion: reduce) { .spinner { animation: none; } }
#loader-error { display: none; font: 14px/1.5 system-ui, sans-serif; color: #a3261b; background: #fbf8f2; padding: 10px 16px; border-radius: 8px; }
{% endblock %}
{% block loader %}{{ first_text | default("", true) }}{{ super() }}{% endblock %}
"""  # noqa: E501 - style rules, one to a line

_STYLE = """
body { background: %(paper)s !important; }
#mg-first { %(variables)s position: fixed; inset: 0; z-index: 1; pointer-events: none; background: %(paper)s; color: %(ink)s; overflow: hidden; }
#mg-first * { box-sizing: border-box; }
#mg-first .head { position: absolute; inset: 0 0 auto; height: 52px; border-bottom: 1px solid %(rule)s; }
#mg-first .side { position: absolute; top: 53px; bottom: 0; background: %(ground)s; }
#mg-first .left { left: 0; width: %(left)spx; border-right: 1px solid %(rule)s; } #mg-first .right { right: 0; width: %(right)spx; border-left: 1px solid %(rule)s; }
#mg-first .column { position: absolute; top: 53px; bottom: 195px; left: %(left)spx; right: %(right)spx; overflow: hidden; display: flex; flex-direction: column; justify-content: flex-end; padding: 0 24px 86px; }
#mg-first article { width: 100%%; max-width: calc(var(--mg-measure) + 88px); margin: 0 auto; padding: 2px 44px 28px; font: var(--mg-size)/var(--mg-leading) var(--mg-font); letter-spacing: var(--mg-spacing); font-feature-settings: "onum", "kern", "liga"; hyphens: auto; text-wrap: pretty; overflow-wrap: anywhere; }
#mg-first article + article { padding-bottom: 0; } #mg-first p { margin: 0; } #mg-first p + p { text-indent: 1.6em; }
@media (max-width: 1179px) { #mg-first .left { display: none; } #mg-first .column { left: 0; } }
@media (max-width: 899px) { #mg-first .right { display: none; } #mg-first .column { right: 0; } }
@media (max-width: 480px) { #mg-first .column { padding-inline: 12px; } #mg-first article { padding-inline: 6px; font-size: min(var(--mg-size), 20px); } }
"""  # noqa: E501 - the same


def is_own_name(host: str) -> bool:
    """Whether a page that was asked for at *host* (as the request's header has it) is read by nobody else's scripts.

    Another site can have its own name lead to this machine, and then read what is answered there; it cannot do so with
    an address or with ``localhost``. The websocket asks for more: it knows the names that it may be reached by.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or name.endswith(".localhost") or bool(ip_address(name))
    except ValueError:
        return False


def first_text(
    studio: Studio, book: BookId | None, panes: Panes, chosen: Preferences, *, dark: bool
) -> Markup:
    """The end of the story that will be opened, as part of the page; nothing where there is none."""
    try:
        found = find_book(studio, book)
        parts = studio.story.tree(found).branch(found.active_leaf)[-_PARTS:] if found is not None else ()
        texts = [studio.story.part(part).text for part in parts]
    except MarginaliaError:
        return Markup("")  # what is wrong is said where the eye will be, when the page is there
    if not any(texts):
        return Markup("")
    variables = " ".join(f"{name}: {value};" for name, value in style_of(chosen).items())
    left, right = panes.left_width if panes.left else 0, panes.right_width if panes.right else 0
    style = _STYLE % (ground(dark=dark) | {"variables": variables, "left": left, "right": right})
    articles = "".join(f"<article>{safe(text)}</article>" for text in texts)
    sides = '<i class="side left"></i>' * panes.left + '<i class="side right"></i>' * panes.right
    return Markup(  # noqa: S704 - the style is ours, and the texts were cleaned
        f'<style>{style}</style><div id="mg-first" aria-hidden="true"><div class="head"></div>{sides}'
        f'<div class="column">{articles}</div></div>'
    )
