"""Connecting a model: a preset, the server's own list, what the test finds, and what is checked while typing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from marginalia import Studio
from marginalia.testing import Json, ScriptedServer
from tests.browser.conftest import App

pytestmark = pytest.mark.browser


def test_a_known_server_is_connected_with_its_list_its_context_and_its_peculiarities(
    tmp_path: Path, start_app: Callable[[], App], open_page: Callable[..., Page]
) -> None:
    with Studio(tmp_path / "marginalia.db") as studio:
        book = studio.books.create(
            name="Bare", protocol=studio.protocols.create(name="Plain", temperature=0.8)
        )
    with ScriptedServer(
        default=Json(text="OK"), models=["a", "b"], context=4096, counts_tokens=True
    ) as server:
        page = open_page(start_app().url + f"?book={book.id}")
        page.get_by_role("combobox", name="Model").select_option(label="Connect a model…")
        dialog = page.get_by_role("dialog", name="Connect a model")
        choose_preset(dialog)
        address = dialog.get_by_label("Address")
        address.fill(server.base_url)
        test = dialog.get_by_role("button", name="Test connection")
        test.click()
        expect(dialog.get_by_role("status")).to_contain_text("Choose one")
        name = dialog.get_by_role("combobox", name="Model", exact=True)
        assert name.evaluate("input => [...input.list.options].map((each) => each.value)") == ["a", "b"]
        name.fill("b")
        type_parameters(dialog)
        test.click()
        for fact in ("It wrote one token as “b”.", "4,096 tokens (/props)", "exactly: llama.cpp /tokenize"):
            expect(dialog.get_by_role("listitem").filter(has_text=fact)).to_be_visible()
        expect(dialog.get_by_label("Context", exact=True)).to_have_value("4096")
        dialog.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_role("combobox", name="Model").locator("option:checked")).to_have_text("vLLM")
        assert server.completions[-1].body["min_p"] == 0.05
        switch_sampling(page)


def choose_preset(dialog: Locator) -> None:
    known = dialog.get_by_label("Server", exact=True)
    known.select_option("Mistral")
    expect(dialog).to_contain_text("It wants a key. It refuses parameters")
    known.select_option("vLLM")
    expect(dialog.get_by_label("Address")).to_have_value("http://127.0.0.1:8000/v1")
    expect(dialog.get_by_label("Name", exact=True)).to_have_value("vLLM")


def type_parameters(dialog: Locator) -> None:
    dialog.get_by_text("What this server takes").click()
    more = dialog.get_by_label("Additional parameters")
    more.fill('{"min_p"')
    expect(dialog).to_contain_text("This is no JSON")
    expect(more).to_have_attribute("aria-invalid", "true")
    more.fill('{"min_p": 0.05}')
    expect(dialog).not_to_contain_text("This is no JSON")


def switch_sampling(page: Page) -> None:
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("tab", name="Protocol").click()
    expect(page.get_by_label("Temperature", exact=True)).to_have_value("0.8")
    page.get_by_role("switch", name="Send Temperature").uncheck()
    page.get_by_role("switch", name="Send Top p").check()
    expect(page.get_by_label("Top p", exact=True)).to_have_value("0.95")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
