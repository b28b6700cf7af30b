"""Stories in saves: KoboldAI's with its other versions, NovelAI's scenarios, mikupad's sessions, a card's greetings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from marginalia.formats.base import BookFields
from marginalia.formats.cards import CARD, book_fields
from marginalia.formats.coerce import Json, Object, is_object, obj, one_line, rows, text, texts
from marginalia.formats.koboldai import KOBOLDAI
from marginalia.formats.mikupad import MIKUPAD, value_of
from marginalia.formats.novelai_scenario import NOVELAI_SCENARIO
from marginalia.formats.stories.tree import Leaf, StoryCodec, StoryFile


class _Branches:
    """Grows a tree out of whole versions of a story: what two of them begin with is there once."""

    def __init__(self) -> None:
        self.leaves: list[Leaf] = []
        self._known: dict[tuple[str | None, str], str] = {}

    def add(self, parent: str | None, said: str, kept: Object | None = None) -> str:
        """The part that says that after *parent*: the one that is there, else a new one."""
        known = self._known.get((parent, said))
        if known is None:
            known = self._known[parent, said] = f"part {len(self.leaves)}"
            self.leaves.append(Leaf(key=known, parent=parent, text=said, kept=kept or {}))
        return known

    def line(self, said: Sequence[str]) -> str | None:
        """A whole version of the story; its last part."""
        at: str | None = None
        for each in said:
            at = self.add(at, each)
        return at


def _read_kobold(document: Json, file: str) -> Sequence[StoryFile]:
    save = obj(document)
    tree = _Branches()
    prompt = text(save.get("prompt"))
    at = tree.add(None, prompt) if prompt.strip() else None
    for said, others, kept in _actions(save):
        parent = at
        at = tree.add(parent, said, kept)
        for other, more in others:
            tree.add(parent, other, more)
    for line in rows(save.get("altbranches")):
        tree.line(texts(rows(line)))
    fields = BookFields(
        memory=text(save.get("memory")), authors_note=text(save.get("authorsnote") or save.get("authornote"))
    )
    return [
        StoryFile(
            format="koboldai",
            title="KoboldAI save",
            name=one_line(text(save.get("story_name"))) or file or "KoboldAI story",
            leaves=tuple(tree.leaves),
            active=at,
            fields=fields,
            lore_too=bool(rows(save.get("worldinfo")) or obj(obj(save.get("worldinfo_v2")).get("entries"))),
        )
    ]


def _actions(save: Object) -> Iterator[tuple[str, list[tuple[str, Object]], Object]]:
    if is_object(save.get("actions")):
        found = obj(obj(save["actions"]).get("actions"))
        for key in sorted(found, key=_number):
            raw = obj(found[key])
            yield text(raw.get("Selected Text")), _options(rows(raw.get("Options")), "text"), _rest(raw)
        return
    about = obj(save.get("actions_metadata"))
    for number, said in enumerate(rows(save.get("actions"))):
        raw = obj(about.get(str(number)))
        yield text(said), _options(rows(raw.get("Alternative Text")), "Text"), {}


def _options(found: list[Json], name: str) -> list[tuple[str, Object]]:
    return [(text(raw.get(name)), _rest(raw)) for raw in map(obj, found) if text(raw.get(name)).strip()]


def _rest(raw: Object) -> Object:
    return {
        name: value for name, value in raw.items() if name not in {"Selected Text", "Options", "text", "Text"}
    }


def _number(key: str) -> tuple[int, str]:
    return (int(key), key) if key.isascii() and key.isdigit() and len(key) < 10 else (0, key)  # noqa: PLR2004 - digits


def _read_scenario(document: Json, file: str) -> Sequence[StoryFile]:
    scenario = obj(document)
    fields = NOVELAI_SCENARIO.read(document, file).book_fields
    prompt = text(scenario.get("prompt"))
    return [
        StoryFile(
            format="novelai_scenario",
            title="NovelAI scenario",
            name=fields.name,
            description=fields.description,
            tags=texts(rows(scenario.get("tags"))),
            leaves=(Leaf(key="prompt", parent=None, text=prompt),) if prompt.strip() else (),
            active="prompt",
            fields=fields,
            lore_too=bool(rows(obj(scenario.get("lorebook")).get("entries"))),
        )
    ]


def _read_mikupad(document: Json, file: str) -> Sequence[StoryFile]:
    session = obj(document)
    leaves: list[Leaf] = []
    for by_hand, said in _runs(rows(value_of(session, "prompt"))):
        parent = leaves[-1].key if leaves else None
        kept: Object = {"by_hand": by_hand}
        leaves.append(Leaf(key=f"part {len(leaves)}", parent=parent, text=said, kept=kept))
    return [
        StoryFile(
            format="mikupad",
            title="mikupad session",
            name=one_line(text(value_of(session, "name"))) or file or "mikupad session",
            leaves=tuple(leaves),
            active=leaves[-1].key if leaves else None,
            fields=BookFields(
                memory=text(obj(value_of(session, "memoryTokens")).get("text")),
                authors_note=text(obj(value_of(session, "authorNoteTokens")).get("text")),
            ),
            lore_too=bool(rows(obj(value_of(session, "worldInfo")).get("entries"))),
        )
    ]


def _runs(chunks: list[Json]) -> Iterator[tuple[bool, str]]:
    """What was typed and what was predicted, in turns; a prediction comes in many pieces."""
    said: list[str] = []
    before: bool | None = None
    for raw in map(obj, chunks):
        by_hand = raw.get("type") == "user"
        if before is not None and by_hand != before:
            yield before, "".join(said)
            said = []
        before = by_hand
        said.append(text(raw.get("content")))
    if before is not None and "".join(said).strip():
        yield before, "".join(said)


def _read_card(document: Json, file: str) -> Sequence[StoryFile]:
    card = obj(document)
    fields = book_fields(obj(card["data"]) if is_object(card.get("data")) else card)
    greetings = [each for each in (fields.first_message, *fields.greetings) if each.strip()]
    leaves = [Leaf(key=f"greeting {at}", parent=None, text=each) for at, each in enumerate(greetings)]
    return [
        StoryFile(
            format="card",
            title="character card",
            name=fields.name or file or "Character",
            description=fields.description,
            leaves=leaves,
            active="greeting 0" if leaves else None,
            fields=fields,
            lore_too=True,
        )
    ]


KOBOLD_STORY = StoryCodec(id="koboldai", title="KoboldAI save", sees=KOBOLDAI.sees, read=_read_kobold)
SCENARIO_STORY = StoryCodec(
    id="novelai_scenario", title="NovelAI scenario", sees=NOVELAI_SCENARIO.sees, read=_read_scenario
)
MIKUPAD_STORY = StoryCodec(id="mikupad", title="mikupad session", sees=MIKUPAD.sees, read=_read_mikupad)
CARD_STORY = StoryCodec(id="card", title="character card", sees=CARD.sees, read=_read_card)
