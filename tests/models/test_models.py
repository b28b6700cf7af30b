"""The models read frozen values and give them back; nothing typed changes on the way."""

from __future__ import annotations

import subprocess
import sys

import pytest

from marginalia.lore.book import Entry, Insertion, RegexFilter, TextFilter
from marginalia.models import BookModel, EntryModel, ProtocolModel, ProviderModel, TurnInput
from marginalia.values import Book, BookId, Prompts, Protocol, Provider, ProviderId, Sampling, Turn


def test_importing_the_models_loads_no_panel() -> None:
    code = "import sys, marginalia.models; print(sorted({'panel', 'bokeh', 'duckdb'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_an_empty_turn_field_counts_as_left_alone() -> None:
    turn = TurnInput(scene_setting="The lamp room.", instructions="  \n")
    assert turn.freeze() == Turn(scene_setting="The lamp room.")


def test_a_turn_that_was_taken_is_given_back() -> None:
    turn = Turn(
        scene_setting="Night", pov_character="Mara", present_characters="Mara, Elias", instructions="Go"
    )
    model = TurnInput()
    model.take(turn)
    assert model.freeze() == turn


def test_a_model_has_no_name_until_somebody_gives_one() -> None:
    assert [each().name for each in (BookModel, ProviderModel, ProtocolModel, EntryModel)] == [""] * 4


def test_a_book_keeps_what_the_form_does_not_show() -> None:
    book = Book(id=BookId(3), uid="b3", name="Old", settings={"x": 1}, provider_id=ProviderId(1))
    model = BookModel()
    model.take(book)
    model.name = "New"
    model.tags = [" winter ", "", "winter"]
    kept = model.freeze(book)
    assert (kept.id, kept.uid, kept.settings, kept.provider_id) == (3, "b3", {"x": 1}, 1)
    assert (kept.name, kept.tags) == ("New", ("winter",))


def test_a_blank_prompt_asks_the_next_one() -> None:
    book = Book(prompts=Prompts(style="Plain", syntax="jinja"))
    model = BookModel()
    model.take(book)
    model.style = " "
    assert model.freeze(book).prompts == Prompts(syntax="jinja")


def test_a_provider_goes_through_its_form_unchanged() -> None:
    provider = Provider(
        name="Local", base_url="http://127.0.0.1:1/v1", model="m", max_context=8, reasoning_effort="max"
    )
    model = ProviderModel()
    model.take(provider)
    assert model.freeze(provider) == provider


def test_a_protocol_setting_that_is_empty_is_not_sent() -> None:
    protocol = Protocol(name="P", sampling=Sampling(temperature=0.7, top_p=0.9))
    model = ProtocolModel()
    model.take(protocol)
    model.top_p = None
    assert model.freeze(protocol).sampling == Sampling(temperature=0.7)


def test_a_temperature_out_of_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match="temperature"):
        ProtocolModel(temperature=7)


@pytest.mark.parametrize("kept", [None, TextFilter("varro"), RegexFilter("v.rro")])
def test_an_entry_keeps_its_filter_and_its_place(kept: TextFilter | RegexFilter | None) -> None:
    entry = Entry(name="Varro", filter=kept, insertion=Insertion.BEFORE_USER_PROMPT, note="mine", tags=("a",))
    model = EntryModel()
    model.take(entry)
    assert model.freeze(entry) == entry
