"""The way to every page and sheet of the app, for the tests and pictures that look at all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

from playwright.sync_api import Page


def _place(name: str, page: Page) -> None:
    page.get_by_role("button", name="Places").click()
    page.get_by_role("menuitem", name=re.compile(f"^{name}\\b")).click()
    page.wait_for_timeout(200)


def _tab(name: str, page: Page) -> None:
    tab = page.get_by_role("tab", name=name, exact=True)
    if not tab.is_visible():
        side = "drawer" if name in ("Outline", "Tree", "Summaries") else "contextbar"
        page.get_by_role("button", name=f"Open {side}").click()
    tab.click()
    page.wait_for_timeout(200)


def _button(name: str, page: Page) -> None:
    page.get_by_role("button", name=name, exact=True).click()
    page.wait_for_timeout(200)


def _key(key: str, page: Page) -> None:
    page.get_by_role("region", name="Story").focus()
    page.keyboard.press(key)
    page.wait_for_timeout(250)


def _entry(page: Page) -> None:
    _tab("Lore", page)
    page.get_by_role("listbox", name="Lore entries").get_by_role("option").first.click()


def _large(page: Page) -> None:
    _tab("Lore", page)
    page.get_by_role("button", name="Large", exact=True).click()
    page.get_by_role("button", name="Replay", exact=True).click()
    page.wait_for_timeout(1500)


def _select(page: Page) -> None:
    _tab("Lore", page)
    page.get_by_role("button", name="Select", exact=True).click()
    page.get_by_role("listbox", name="Lore entries").get_by_role("option").first.click()


def _menu(page: Page, item: str = "") -> None:
    page.get_by_role("button", name=re.compile("^Menu of part")).last.click()
    if item:
        page.get_by_role("menuitem", name=item, exact=True).click()
        page.wait_for_timeout(700)


def _compared(page: Page) -> None:
    _tab("Prompt", page)
    page.get_by_label("Compare with").select_option(index=1)


def _what_if(page: Page) -> None:
    _tab("Budget", page)
    page.get_by_text("What if", exact=True).click()


def _form(page: Page, place: str, button: str) -> None:
    _place(place, page)
    page.get_by_role("dialog").get_by_role("button", name=button, exact=True).click()


def _hits(page: Page) -> None:
    _key("Control+f", page)
    page.keyboard.type("the")


def _trash(page: Page) -> None:
    trash = page.get_by_role("button", name="Trash", exact=True)
    if not trash.is_visible():
        page.get_by_role("button", name="Open drawer").click()
    trash.click()


def _nothing(_: Page) -> None:
    """The page as it opens."""


PAGES: Mapping[str, Callable[[Page], None]] = {
    "studio": _nothing,
    "places": partial(_button, "Places"),
    **{
        name.lower(): partial(_tab, name)
        for name in ("Tree", "Summaries", "Outline", "Lore", "Prompt", "Run", "Panels", "Budget")
    },
    **{
        name.lower(): partial(_place, name)
        for name in (
            "Books",
            "Contents",
            "Lorebooks",
            "Models",
            "Protocols",
            "Prompts",
            "Extensions",
            "Copies",
            "Settings",
            "All keys",
        )
    },
    "book": partial(_button, "Settings"),
    "search": partial(_key, "Control+f"),
    "edit": partial(_key, "e"),
    "focus": partial(_key, "f"),
}

#: What opens from those: leaving one is loading the page anew.
WITHIN: Mapping[str, Callable[[Page], None]] = {
    "lore entry": _entry,
    "lore large": _large,
    "lore select": _select,
    "menu": _menu,
    **{item.lower(): partial(_menu, item=item) for item in ("Revisions", "Show Prompt", "Once more…")},
    "compared": _compared,
    "what if": _what_if,
    "new book": partial(_form, place="Books", button="New book"),
    "new model": partial(_form, place="Models", button="Connect a model"),
    "protocol": partial(_form, place="Protocols", button="Edit"),
    "hits": _hits,
    "trash": _trash,
}


def leave(page: Page) -> None:
    """Close what is open over the page."""
    for _ in range(2):
        page.keyboard.press("Escape")
    page.wait_for_timeout(350)  # drawers take their time
