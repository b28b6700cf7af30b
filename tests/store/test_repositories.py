"""Books, providers and protocols: making, finding, saving, deleting and restoring them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from marginalia.errors import InvalidInput, NotFound
from marginalia.store import Store
from marginalia.values import Book, Prompts, ProviderId, Sampling
from tests.store.helpers import START, forget


def test_a_book_takes_records_or_ids_and_single_prompts(store: Store) -> None:
    provider = store.providers.create(name="Local", base_url="http://127.0.0.1:8080/v1", model="m")
    protocol = store.protocols.create(name="Balanced", temperature=0.8)
    world = store.lorebooks.create(name="World")
    book = store.books.create(
        name="  Salt Road ",
        provider=provider,
        protocol=protocol.id,
        lorebook=world,
        description="A caravan tale",
        tags=[" arid ", "", "arid", "salt"],
        prompts=Prompts(pov="first person", syntax="jinja"),
        master_template="{{ lore }}",
        global_variables={"laps": "4"},
        settings={"extension": {"on": True}},
    )
    assert (book.name, book.tags) == ("Salt Road", ("arid", "salt"))
    assert (book.provider_id, book.protocol_id, book.lorebook_id) == (provider.id, protocol.id, world.id)
    assert book.prompts == Prompts(pov="first person", syntax="jinja", master_template="{{ lore }}")
    assert book.global_variables == {"laps": "4"}
    assert book.settings == {"extension": {"on": True}}
    assert store.books.get(book.id) == store.books.get(book.uid) == store.books.get(book) == book


def test_what_is_stored_is_read_back_from_the_file(filed: Store) -> None:
    provider = filed.providers.create(
        name="Local",
        kind="openai",
        timeout=5.0,
        max_retries=0,
        max_context=4000,
        additional_parameters={"seed": 1, "stop": ["\n"], "nested": {"a": None}},
        enable_reasoning=True,
        reasoning_effort="low",
    )
    protocol = filed.protocols.create(name="P", sampling=Sampling(top_p=0.5), max_tokens=9, reply_tokens=0)
    book = filed.books.create(name="B", provider=provider, prompts=Prompts(style="plain"))
    forget(filed)
    assert filed.providers.get(provider) == provider
    assert filed.protocols.get(protocol) == protocol
    assert filed.books.get(book) == book


def test_a_blank_name_is_refused_with_a_sentence(store: Store) -> None:
    with pytest.raises(InvalidInput, match="needs a name"):
        store.books.create(name="  ")
    with pytest.raises(InvalidInput, match="needs a name"):
        store.protocols.save(replace(store.protocols.create(name="P"), name=""))
    assert store.books.all() == ()


def test_a_reference_to_nothing_is_refused(store: Store) -> None:
    with pytest.raises(NotFound, match="provider 7"):
        store.books.create(name="B", provider=7)


def test_save_writes_what_is_edited_and_never_identity_or_leaf(store: Store, book: Book) -> None:
    part = store.story.append(book, "Snow fell.")
    mixed = replace(
        book, name="Renamed", uid="other", owner="odo", created=START, active_leaf=None, tags=("b", "b")
    )
    saved = store.books.save(mixed)
    assert (saved.name, saved.tags, saved.active_leaf) == ("Renamed", ("b",), part.id)
    assert (saved.uid, saved.owner, saved.created) == (book.uid, "mara", book.created)
    assert saved.updated > book.updated
    assert store.books.get(book) == saved


def test_all_gives_the_oldest_first_and_only_ones_own(store: Store) -> None:
    names = [store.protocols.create(name=name).name for name in ("b", "a", "c")]
    store.for_user("odo").protocols.create(name="x")
    assert [each.name for each in store.protocols.all()] == names


def test_a_deleted_record_is_gone_until_it_is_restored_and_the_book_keeps_working(store: Store) -> None:
    provider = store.providers.create(name="Local", model="m")
    book = store.books.create(name="B", provider=provider)
    store.providers.delete(provider)
    with pytest.raises(NotFound):
        store.providers.get(provider)
    assert store.providers.all() == ()
    assert store.library.manuscript(book.id).provider is None
    assert store.books.save(replace(book, name="C")).provider_id == provider.id
    assert store.providers.trash() == (provider,)
    assert store.providers.restore(provider) == provider
    assert store.library.manuscript(book.id).provider == provider


def test_a_deleted_book_comes_back_with_its_story(store: Store, book: Book) -> None:
    part = store.story.append(book, "Snow fell.")
    store.books.delete(book)
    with pytest.raises(NotFound):
        store.story.part(part)
    store.books.restore(book)
    assert store.story.branch(book) == (part,)


def test_another_users_record_is_not_found_saved_or_deleted(store: Store, book: Book) -> None:
    other = store.for_user("odo")
    for attempt in (other.books.get, other.books.save, other.books.delete, other.books.restore):
        with pytest.raises(NotFound):
            attempt(book)
    with pytest.raises(NotFound):
        other.books.get(book.uid)
    with pytest.raises(NotFound):
        other.books.create(name="B", provider=store.providers.create(name="mine"))
    assert store.books.get(book) == book


def test_a_manuscript_never_holds_another_users_things(store: Store, book: Book) -> None:
    foreign = store.for_user("odo").providers.create(name="theirs")
    database = store._desk.database
    database.write(
        lambda transaction: transaction.rows(
            "UPDATE book SET data = ? WHERE id = ?", f'{{"provider_id": {foreign.id}}}', book.id
        )
    )
    forget(store)
    assert store.books.get(book).provider_id == foreign.id
    assert store.library.manuscript(book.id).provider is None


def test_a_manuscript_is_whole_and_follows_every_change(store: Store) -> None:
    provider, protocol = store.providers.create(name="Local"), store.protocols.create(name="P")
    book = store.books.create(name="B", provider=provider, protocol=protocol)
    store.settings.set_default_prompts(Prompts(tense="past tense"))
    part = store.story.append(book, "Snow fell.")
    manuscript = store.library.manuscript(book.id)
    assert manuscript.book == store.books.get(book)
    assert (manuscript.provider, manuscript.protocol) == (provider, protocol)
    assert manuscript.defaults == Prompts(tense="past tense")
    assert manuscript.tree.branch(part.id) == (part.id,)
    changed = store.providers.save(replace(provider, model="other"))
    assert store.library.manuscript(book.id).provider == changed


def test_a_nonsense_limit_is_refused(store: Store) -> None:
    with pytest.raises(InvalidInput, match="-1"):
        store.providers.create(name="P", max_context=-1)


def test_what_json_cannot_hold_is_refused_and_nothing_is_stored(store: Store) -> None:
    with pytest.raises(InvalidInput, match="cannot be stored"):
        store.books.create(name="B", settings={"f": object()})
    assert store.books.all() == ()


def test_no_field_of_a_provider_is_a_key(store: Store) -> None:
    provider = store.providers.create(name="Local", key_ref="OPENAI_API_KEY")
    assert provider.key_ref == "OPENAI_API_KEY"
    with pytest.raises(TypeError):
        store.providers.create(name="Local", api_key="secret")  # type: ignore[call-arg]


def test_ids_are_numbers_of_their_own_kind(store: Store) -> None:
    assert store.providers.create(name="a").id == ProviderId(1)
    assert store.protocols.create(name="a").id == 1
