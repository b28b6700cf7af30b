"""Lore tests: kept with the lorebook, made against the prompts of the parts they ask about."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import marginalia as mg
from marginalia.extensions.api import Form, Table
from marginalia.extensions.lore_lint import LoreLint
from marginalia.extensions.lore_tests import KEPT, LoreTest
from marginalia.lore.book import Scope
from tests.extensions.helpers import studio_with

BELL = [LoreTest(entry="Quiet Bell", part=3), LoreTest(entry="Quiet Bell", part=1, inside=False)]


def world_of(studio: mg.Studio, book: mg.Book) -> tuple[mg.Book, mg.Lorebook]:
    """A lorebook whose bell is called by the last two parts."""
    world = studio.lorebooks.create(name="World")
    studio.lorebooks.add_entry(
        world,
        name="Quiet Bell",
        payload="It does not ring.",
        match=mg.Match(any=(mg.Pattern(text="bell"),)),
        scope=Scope(parts=2),
    )
    return studio.books.save(replace(book, lorebook_id=world.id)), world


TEXTS = ("Snow fell.", "The bell was quiet.", "Wolves came.", "Fire held.", "Dawn.")


async def test_tests_hold_or_fail_with_the_reason_of_the_verdict() -> None:
    studio, book = studio_with(texts=TEXTS)
    with studio:
        book, world = world_of(studio, book)
        studio.lore_tests.store(world, BELL)
        report = await studio.lore_tests.run(book)
        assert report.passed, report
        assert str(report) == "2 of 2 lore tests hold."
        studio.lore_tests.store(world, [*BELL, LoreTest(entry="Quiet Bell", part=5)])
        report = await studio.lore_tests.run(book)
        assert [each.test.part for each in report.failures] == [5]
        assert "bell" in report.failures[0].reason
        assert "FAILS: at part 5 *Quiet Bell* must be in." in str(report)


async def test_the_number_after_the_last_stands_for_the_next_part() -> None:
    studio, book = studio_with(texts=TEXTS[:2])
    with studio:
        book, _ = world_of(studio, book)
        assert (await studio.lore_tests.run(book, [LoreTest(entry="Quiet Bell", part=3)])).passed
        beyond = await studio.lore_tests.run(book, [LoreTest(entry="Quiet Bell", part=4)])
        assert beyond.failures[0].reason == "The story has only 2 parts."


async def test_an_entry_that_is_not_there_fails_either_way() -> None:
    studio, book = studio_with(texts=TEXTS)
    with studio:
        book, _ = world_of(studio, book)
        report = await studio.lore_tests.run(book, [LoreTest(entry="Nobody", part=1, inside=False)])
        assert report.failures[0].reason == "The book's lore has no such entry."


async def test_tests_of_lorebooks_below_are_made_too_and_a_book_without_lore_has_none() -> None:
    studio, book = studio_with(texts=TEXTS)
    with studio:
        assert (await studio.lore_tests.run(book)).results == ()
        book, world = world_of(studio, book)
        top = studio.lorebooks.create(name="Top", subbooks=[world.id])
        studio.lore_tests.store(world, BELL)
        book = studio.books.save(replace(book, lorebook_id=top.id))
        assert len((await studio.lore_tests.run(book)).results) == 2


async def test_a_run_changes_nothing() -> None:
    studio, book = studio_with(texts=TEXTS)
    with studio:
        book, world = world_of(studio, book)
        studio.lore_tests.store(world, BELL)
        before = (studio.books.get(book.id), studio.story.parts(book), studio.lorebooks.get(world))
        await studio.lore_tests.run(book)
        assert (studio.books.get(book.id), studio.story.parts(book), studio.lorebooks.get(world)) == before


def test_tests_are_in_the_backup_of_a_book_and_come_in_with_a_marginalia_file() -> None:
    studio, book = studio_with()
    with studio:
        book, world = world_of(studio, book)
        studio.lore_tests.store(world, BELL)
        data = studio.books.backup(book)
    file = {
        "format": "marginalia-lorebook", "version": 2, "root": "a", "lorebooks": [
            {"uuid": "a", "name": "World", "entries": [], "marginalia": {KEPT: [{"entry": "Bell", "part": 2}]}}
        ],
    }  # fmt: skip
    with mg.Studio(":memory:", extensions=()) as other:
        again = other.books.clone(data)
        assert again.lorebook_id is not None
        assert other.lore_tests.of(again.lorebook_id) == tuple(BELL)
        (imported,) = other.lorebooks.import_file(json.dumps(file).encode()).lorebooks
        assert other.lore_tests.of(imported) == (LoreTest(entry="Bell", part=2),)


def test_what_is_no_test_is_refused_or_left_out() -> None:
    studio, book = studio_with()
    with studio:
        _, world = world_of(studio, book)
        for bad in (LoreTest(entry=" ", part=1), LoreTest(entry="x", part=0)):
            with pytest.raises(mg.InvalidInput):
                studio.lore_tests.store(world, [bad])
        kept = {KEPT: [{"entry": 3}, 7, {"entry": "x", "part": 2}]}
        studio.lorebooks.save(replace(studio.lorebooks.get(world), raw=kept))
        assert studio.lore_tests.of(world) == (LoreTest(entry="x", part=2),)


async def test_the_panel_shows_what_fails_first_and_makes_the_tests_again_only_after_a_change() -> None:
    studio, book = studio_with(LoreLint(), texts=TEXTS)
    with studio:
        panel = next(each for each in studio.extensions.panels if each.panel.title == "Lore tests")
        shown = await studio.extensions.shown(panel, studio, book, None)
        assert shown == "No lore tests are kept with this book's lore."
        book, world = world_of(studio, book)
        studio.lore_tests.store(world, [*BELL, LoreTest(entry="Quiet Bell", part=5)])
        first = await studio.extensions.shown(panel, studio, book, None)
        assert isinstance(first, Table)
        assert [row[:4] for row in first.rows] == [
            (5, "Quiet Bell", "in", False),
            (3, "Quiet Bell", "in", True),
            (1, "Quiet Bell", "out", True),
        ]
        assert first.note == "2 of 3 hold."
        assert await studio.extensions.shown(panel, studio, book, None) is first
        studio.story.edit(studio.story.branch(book)[3], "The bell rang.")
        again = await studio.extensions.shown(panel, studio, book, None)
        assert isinstance(again, Table)
        assert again.note == "3 of 3 hold."


async def test_the_panel_adds_tests_with_the_lorebook_of_their_entry_and_takes_them_away() -> None:
    studio, book = studio_with(LoreLint(), texts=TEXTS)
    with studio:
        book, world = world_of(studio, book)
        top = studio.lorebooks.create(name="Top", subbooks=[world.id])
        book = studio.books.save(replace(book, lorebook_id=top.id))
        (panel,) = [each for each in studio.extensions.panels if each.panel.title == "Lore tests"]
        form = panel.panel.form
        assert isinstance(form, Form)
        wanted = form.read(studio, book)
        assert wanted.part == len(TEXTS) + 1
        form.write(studio, book, replace(wanted, entry="Quiet Bell", part=3))
        form.write(studio, book, replace(wanted, entry="Quiet Bell", part=1, must_be="out"))
        assert studio.lore_tests.of(world) == tuple(BELL)
        shown = await studio.extensions.shown(panel, studio, book, None)
        assert isinstance(shown, Table)
        assert shown.note == "2 of 2 hold."
        form.write(studio, book, replace(wanted, entry="Quiet Bell", part=1))
        assert studio.lore_tests.of(world)[1] == LoreTest(entry="Quiet Bell", part=1)
        form.write(studio, book, replace(wanted, entry="Quiet Bell", part=1, must_be="not tested"))
        assert studio.lore_tests.of(world) == (BELL[0],)
        with pytest.raises(mg.InvalidInput, match="no test of"):
            form.write(studio, book, replace(wanted, entry="Quiet Bell", part=1, must_be="not tested"))
        with pytest.raises(mg.InvalidInput, match="'Loud Bell'"):
            form.write(studio, book, replace(wanted, entry="Loud Bell"))
