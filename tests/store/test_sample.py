"""The sample book, settings, and the home folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from marginalia.errors import InvalidInput
from marginalia.lore.book import Insertion, RegexFilter
from marginalia.store import Store, database_path, home_folder, plant_sample
from marginalia.values import Prompts, Sampling
from tests.store.helpers import forget


def test_the_sample_book_can_be_read_and_gone_on_with(store: Store) -> None:
    book = plant_sample(store)
    assert book is not None
    assert book.name == "The Lighthouse"
    parts = store.story.branch(book)
    assert len(parts) == 2
    for part in parts:
        assert 90 <= part.words <= 135
        assert None not in (part.turn.scene_setting, part.turn.pov_character, part.turn.instructions)
    manuscript = store.library.manuscript(book.id)
    assert manuscript.provider is not None
    assert (manuscript.provider.kind, manuscript.provider.max_context) == ("bundled", 8192)
    assert manuscript.protocol is not None
    assert manuscript.protocol.sampling == Sampling(
        temperature=0.7, top_p=0.9, frequency_penalty=0.4, presence_penalty=0.3
    )


def test_its_lore_shows_every_everyday_kind_of_entry(store: Store) -> None:
    book = plant_sample(store)
    assert book is not None
    assert book.lorebook_id is not None
    island = store.lorebooks.filled(book.lorebook_id)
    sea = store.lorebooks.filled(island.lorebook.subbooks[0])
    assert (island.lorebook.name, len(island.entries)) == ("The Island", 10)
    assert (sea.lorebook.name, len(sea.entries)) == ("The Sea", 4)
    assert any(isinstance(entry.filter, RegexFilter) for entry in island.entries)
    assert any(entry.tags for entry in island.entries)
    assert any(entry.negative_tags for entry in island.entries)
    assert any(not entry.enabled for entry in island.entries)
    assert any(entry.insertion is Insertion.BEFORE_USER_PROMPT for entry in island.entries)
    everything = [entry.payload for entry in (*island.entries, *sea.entries)]
    texts = [part.text for part in store.story.branch(book)]
    assert (
        sum(len(text.split()) for text in (*everything, *texts)) < 520
    )  # the whole prompt stays under 700 tokens


def test_it_is_planted_once_and_a_deleted_one_stays_deleted(store: Store) -> None:
    book = plant_sample(store)
    assert book is not None
    store.books.delete(book)
    assert plant_sample(store) is None
    assert store.books.all() == ()
    assert plant_sample(store.for_user("odo")) is not None


def test_settings_are_json_per_user(store: Store) -> None:
    assert store.settings.get("theme", "light") == "light"
    store.settings.set("theme", {"name": "dark", "sizes": [1, 2]})
    store.settings.set("theme", {"name": "dark", "sizes": [1]})
    forget(store)
    assert store.settings.get("theme") == {"name": "dark", "sizes": [1]}
    assert store.for_user("odo").settings.get("theme") is None
    store.settings.set("none", None)
    assert store.settings.get("none", "default") is None
    with pytest.raises(InvalidInput):
        store.settings.set("bad", object())


def test_default_prompts_are_a_users_own(store: Store) -> None:
    assert store.settings.default_prompts() == Prompts()
    prompts = Prompts(pov="first person", syntax="jinja")
    store.settings.set_default_prompts(prompts)
    assert store.settings.default_prompts() == prompts
    assert store.for_user("odo").settings.default_prompts() == Prompts()


def test_the_home_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MARGINALIA_HOME", str(tmp_path))
    assert home_folder() == tmp_path
    assert database_path() == tmp_path / "marginalia.db"
    monkeypatch.setenv("MARGINALIA_HOME", " ")
    assert home_folder().name == "marginalia"
