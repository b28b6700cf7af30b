"""Stories of other tools as trees of parts: chats with swipes, looms, saves."""

from __future__ import annotations

from collections.abc import Sequence

from marginalia.errors import FormatError
from marginalia.formats.coerce import is_object, obj
from marginalia.formats.intake import open_document, stem
from marginalia.formats.registry import CODECS
from marginalia.formats.stories.chats import OPEN_WEBUI, TAVERN_CHAT
from marginalia.formats.stories.looms import EXOLOOM, LOOMSIDIAN, LOOMSIDIAN_VAULT, PYLOOM
from marginalia.formats.stories.saves import CARD_STORY, KOBOLD_STORY, MIKUPAD_STORY, SCENARIO_STORY
from marginalia.formats.stories.tree import KEPT, Leaf, StoryCodec, StoryFile

__all__ = ["KEPT", "STORY_CODECS", "Leaf", "StoryFile", "read_stories"]

MOST_PARTS = 200_000

STORY_CODECS: Sequence[StoryCodec] = (
    TAVERN_CHAT,
    OPEN_WEBUI,
    PYLOOM,
    EXOLOOM,
    LOOMSIDIAN,
    LOOMSIDIAN_VAULT,
    SCENARIO_STORY,
    MIKUPAD_STORY,
    KOBOLD_STORY,
    CARD_STORY,
)
"""All formats of stories, in the order in which they are asked."""


def read_stories(data: bytes, file: str = "") -> tuple[StoryFile, ...]:
    """The stories in a file of any known format; most have one.

    Raises:
        FormatError: it is no such file; the sentence says what it is, and where it is broken.
    """
    called = f"{file!r}" if file else "This file"
    document = open_document(data, file).document
    codec = next((each for each in STORY_CODECS if each.sees(document)), None)
    if codec is None:
        lore = next((each.title for each in CODECS if each.sees(document)), None)
        if lore:
            raise FormatError(f"{called} is no story but {lore}; import it as a lorebook.")
        names = ", ".join(list(obj(document))[:5]) if is_object(document) else "a list"
        raise FormatError(f"{called} is no story that is known here: it has {names or 'nothing'} at its top.")
    stories = tuple(codec.read(document, stem(file)))
    if any(len(each.leaves) > MOST_PARTS for each in stories):
        raise FormatError(f"{called} has more than {MOST_PARTS:,} parts, which cannot be taken at once.")
    return stories
