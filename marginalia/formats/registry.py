"""Which formats there are, and which of them a document is in: told by its content, never by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from marginalia.errors import FormatError, InvalidInput
from marginalia.formats.agnai import AGNAI
from marginalia.formats.aidungeon import AI_DUNGEON
from marginalia.formats.books import BARE_BOOK, LOREBOOK_V3
from marginalia.formats.cards import CARD
from marginalia.formats.codec import Codec
from marginalia.formats.coerce import Json, is_list, is_object, obj, one_line, rows
from marginalia.formats.koboldai import KOBOLDAI, KOBOLDAI_LIST
from marginalia.formats.marginalia import MARGINALIA
from marginalia.formats.mikupad import MIKUPAD
from marginalia.formats.novelai import NOVELAI
from marginalia.formats.novelai_scenario import NOVELAI_SCENARIO
from marginalia.formats.risuai import RISUAI
from marginalia.formats.sillytavern import SILLYTAVERN

CODECS: Sequence[Codec] = (
    MARGINALIA,
    LOREBOOK_V3,
    CARD,
    NOVELAI,
    NOVELAI_SCENARIO,
    AGNAI,
    RISUAI,
    MIKUPAD,
    KOBOLDAI,
    KOBOLDAI_LIST,
    AI_DUNGEON,
    BARE_BOOK,
    SILLYTAVERN,
)
"""All formats of lore, in the order in which they are asked; the tolerant ones last."""

_BY_ID = {codec.id: codec for codec in CODECS}
_OTHER_NAMES: Mapping[str, str] = {
    "marginalia_v1": "marginalia",
    "marginalia_v2": "marginalia",
    "world_info": "sillytavern",
    "worldinfo": "sillytavern",
    "tavern": "sillytavern",
    "st": "sillytavern",
    "v3": "card",
    "chara_card_v3": "card",
    "character_card": "card",
    "card_v3": "card",
    "ccv3": "card",
    "book": "character_book",
    "risu": "risuai",
    "kobold": "koboldai",
    "story_cards": "aidungeon",
}


def codec(name: str) -> Codec:
    """The format of that name; raises ``InvalidInput`` that lists the names there are."""
    wanted = name.strip().lower().replace("-", "_").replace(" ", "_")
    found = _BY_ID.get(_OTHER_NAMES.get(wanted, wanted))
    if found is None:
        raise InvalidInput(f"There is no format {name!r}. There are: {', '.join(sorted(_BY_ID))}.")
    return found


def recognised(document: Json, called: str) -> Codec:
    """The format that *document* is in; raises ``FormatError`` saying what it is instead."""
    found = next((each for each in CODECS if each.sees(document)), None)
    if found is None:
        raise FormatError(f"{called} is {_instead(document)}.")
    return found


def _instead(document: Json) -> str:
    if is_list(document):
        return _list_instead(rows(document))
    value = obj(document)
    if "format" in value:
        return f"no lorebook: it says that it is {one_line(str(value['format']), 60)!r}"
    if any(name in value for name in ("nodes", "root", "tree")):
        return "a story tree, which is opened as a story and not as a lorebook"
    if "entries" in value:
        return "no lorebook that is known here: its entries have neither keys nor a content"
    if not is_object(document):
        return "no lorebook: a single value"
    names = ", ".join(one_line(name, 30) for name in list(value)[:5])
    return f"no lorebook or card that is known here: it has {names or 'nothing'} at its top"


def _list_instead(found: list[Json]) -> str:
    if not found:
        return "an empty list, so there is nothing to import"
    if any("chat" in obj(each) for each in found):
        return "an export of chats, which is opened as a story and not as a lorebook"
    if any("mes" in obj(each) for each in found):
        return "a chat, which is opened as a story and not as a lorebook"
    return "a list without lore: its rows have neither keys nor a content"
