"""What extensions keep, typed, per book and per user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginalia as mg
from marginalia.extensions.api import Host
from marginalia.extensions.authors_note import Note
from marginalia.extensions.data import typed
from tests.extensions.helpers import extension, studio_with


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    count: int = 0
    names: tuple[str, ...] = ()
    mood: Literal["calm", "wild"] = "calm"
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WithoutDefault:
    count: int


def test_data_of_a_book_comes_back_as_it_was_and_beside_other_settings() -> None:
    found: list[Any] = []
    studio, book = studio_with(extension(lambda host: found.append(host.book_data(Kept)), name="my-own"))
    with studio:
        (data,) = found
        assert data.of(book) == Kept()
        studio.books.save(mg.Book(id=book.id, name="Renamed", settings={"other": 1}))
        stored = data.store(book, Kept(count=3, names=("a", "b"), mood="wild", texts={"x": "y"}))
        assert stored.name == "Renamed"
        assert stored.settings["other"] == 1
        assert stored.settings["extension.my-own"]["count"] == 3
        assert data.of(studio.books.get(book.id)) == Kept(
            count=3, names=("a", "b"), mood="wild", texts={"x": "y"}
        )


def test_data_of_the_user_comes_back_as_it_was() -> None:
    found: list[Any] = []
    with studio_with(extension(lambda host: found.append(host.user_data(Kept))))[0]:
        (data,) = found
        assert data.get() == Kept()
        data.set(Kept(count=5))
        assert data.get() == Kept(count=5)


def test_a_field_that_cannot_be_read_has_its_default() -> None:
    assert typed(Kept, {"count": "many", "mood": "odd", "names": ["a"], "new": 1}) == Kept(names=("a",))


NAMES = st.sampled_from(["text", "depth", "role", "on"])


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner),
        max_leaves=8,
    )
)
def test_nothing_that_is_stored_can_break_a_reader(stored: Any) -> None:
    note = typed(Note, stored)
    assert isinstance(note.text, str)
    assert isinstance(note.depth, int)
    assert note.role in {"system", "user", "assistant"}


@pytest.mark.parametrize("kind", [WithoutDefault, dict])
def test_what_cannot_be_kept_is_refused_at_once(kind: type[Any]) -> None:
    with studio_with(extension(lambda host: host.book_data(kind)))[0] as studio:
        assert [type(each.error) for each in studio.extensions.failures] == [mg.InvalidInput]


async def test_a_macro_reads_what_is_kept_with_its_book() -> None:
    found: list[Any] = []

    def install(host: Host) -> None:
        found.append(host.book_data(Kept))
        host.macro("count", lambda call: str(found[0].of(call.context.facts.book).count))

    studio, book = studio_with(extension(install), user_prompt="{{count}}")
    with studio:
        assert found[0].of(None) == Kept()
        assert (await studio.preview(book)).messages[-1].content == "0"
        book = found[0].store(book, Kept(count=7))
        assert (await studio.preview(book)).messages[-1].content == "7"
