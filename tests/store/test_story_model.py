"""The story against a model so simple that it can be trusted: parents, texts, and copies of everything for undoing."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginalia.errors import InvalidInput
from marginalia.store import Store
from marginalia.values import Book, PartId
from tests.store.helpers import open_store


@dataclass
class Model:
    """A story as two mappings. Ids grow, so that siblings stand in the order of their ids."""

    parents: dict[int, int | None] = field(default_factory=dict[int, int | None])
    texts: dict[int, str] = field(default_factory=dict[int, str])
    leaf: int | None = None

    def children(self, part: int | None) -> list[int]:
        return sorted(each for each, parent in self.parents.items() if parent == part)

    def above(self, part: int | None) -> list[int]:
        path: list[int] = []
        while part is not None:
            path.append(part)
            part = self.parents[part]
        return path

    def deepest(self, part: int) -> int:
        while children := self.children(part):
            part = children[-1]
        return part

    def put(self, part: int, parent: int | None, text: str) -> None:
        self.parents[part], self.texts[part] = parent, text

    def hand_over(self, part: int, to: int | None) -> None:
        for child in self.children(part):
            if child != to:
                self.parents[child] = to

    def drop(self, part: int) -> None:
        del self.parents[part], self.texts[part]

    def delete(self, part: int) -> None:
        parent, children = self.parents[part], self.children(part)
        self.hand_over(part, parent)
        self.drop(part)
        if self.leaf == part:
            line = children or self.children(None)
            self.leaf = parent if parent is not None else self.deepest(line[-1]) if line else None

    def merge(self, part: int, made: int) -> None:
        parent = self.parents[part]
        assert parent is not None
        text = "\n\n".join((self.texts[parent], self.texts[part]))
        self.put(made, self.parents[parent], text)
        self.hand_over(part, made)
        self.drop(part)
        self.leaf = made if self.leaf == part else self.leaf


class Both:
    """The story and its model, changed together and compared after every step."""

    def __init__(self, store: Store, book: Book) -> None:
        self.store, self.book, self.model = store, book, Model()
        self.past: list[Model] = []
        self.future: list[Model] = []

    def act(self, kind: str, one: int, two: int) -> None:
        before = copy.deepcopy(self.model)
        if kind == "undo":
            self._travel(self.past, self.future, self.store.story.undo(self.book) is not None)
        elif kind == "redo":
            self._travel(self.future, self.past, self.store.story.redo(self.book) is not None)
        else:
            self._change(kind, one, two)
            if self.model != before:
                self.past.append(before)
                self.future.clear()
        self.compare()

    def compare(self) -> None:
        parts = {part.id: part for part in self.store.story.parts(self.book)}
        assert {number: part.parent_id for number, part in parts.items()} == self.model.parents
        assert {number: part.text for number, part in parts.items()} == self.model.texts
        assert self.store.books.get(self.book).active_leaf == self.model.leaf
        branch = self.store.story.branch(self.book)
        assert [part.id for part in reversed(branch)] == self.model.above(self.model.leaf)

    def _travel(self, out_of: list[Model], into: list[Model], moved: bool) -> None:
        assert moved is bool(out_of)
        if out_of:
            into.append(self.model)
            self.model = out_of.pop()

    def _change(self, kind: str, one: int, two: int) -> None:
        story, model, numbers = self.store.story, self.model, sorted(self.model.parents)
        part = PartId(numbers[one % len(numbers)]) if numbers else None
        place = PartId(numbers[two % len(numbers)]) if numbers and two % 4 else None
        if kind == "append" or part is None:
            made = story.append(self.book, f"A{one} b. C{two} d.", parent=place)
            model.put(made.id, place, made.text)
            model.leaf = made.id
        elif kind == "fork":
            model.put(story.fork(part).id, model.parents[part], model.texts[part])
        elif kind == "edit":
            story.edit(part, f"E{two} f. G h.")
            model.texts[part] = f"E{two} f. G h."
        elif kind == "delete":
            story.delete(part)
            model.delete(part)
        elif kind == "activate":
            story.activate(self.book, place)
            model.leaf = place
        elif kind == "go_to":
            story.go_to(part)
            model.leaf = model.deepest(part)
        elif kind == "move":
            self._move(part, place)
        elif kind == "merge":
            self._merge(part)
        elif kind == "split":
            self._split(part, two % 14)

    def _move(self, part: PartId, place: PartId | None) -> None:
        if part in self.model.above(place):
            with pytest.raises(InvalidInput):
                self.store.story.move(part, place)
        else:
            self.store.story.move(part, place)
            self.model.parents[part] = place

    def _merge(self, part: PartId) -> None:
        parent = self.model.parents[part]
        if parent is None:
            with pytest.raises(InvalidInput):
                self.store.story.merge(part)
            return
        alone = len(self.model.children(parent)) == 1
        made = self.store.story.merge(part).id
        assert (made == parent) is alone
        self.model.merge(part, made)

    def _split(self, part: PartId, at: int) -> None:
        head, tail = self.model.texts[part][:at].rstrip(), self.model.texts[part][at:].lstrip()
        if not head or not tail:
            with pytest.raises(InvalidInput):
                self.store.story.split(part, at)
            return
        _, made = self.store.story.split(part, at)
        self.model.texts[part] = head
        self.model.put(made.id, part, tail)
        self.model.hand_over(part, made.id)
        self.model.leaf = made.id if self.model.leaf == part else self.model.leaf


KINDS = ["append", "fork", "edit", "delete", "activate", "go_to", "move", "merge", "split", "undo", "redo"]


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 30), st.integers(0, 30)), max_size=20))
@settings(max_examples=40)
def test_the_story_does_what_the_model_does(actions: list[tuple[str, int, int]]) -> None:
    store = open_store(":memory:")
    try:
        both = Both(store, store.books.create(name="B"))
        for action in [("append", 1, 0), ("append", 2, 1), *actions]:
            both.act(*action)
        while both.past:
            both.act("undo", 0, 0)
        assert both.model == Model()
    finally:
        store.close()
