"""Chats: SillyTavern's and TavernAI's lines with swipes, and Open WebUI's trees of messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from marginalia.formats.base import Note
from marginalia.formats.coerce import (
    Json,
    Object,
    flag,
    is_list,
    is_object,
    obj,
    one_line,
    pick,
    rows,
    text,
    texts,
    whole,
)
from marginalia.formats.stories.tree import Message, StoryCodec, StoryFile, from_messages

_OWN_FIELDS = frozenset({"mes", "swipes", "is_user"})


def _lines(document: Json) -> list[Object]:
    return [obj(each) for each in rows(document)] if is_list(document) else [obj(document)]


def _sees_chat(document: Json) -> bool:
    found = _lines(document)
    header = {"user_name", "character_name"} & found[0].keys() if found else set[str]()
    return bool(found) and (bool(header) or any("mes" in each and "is_user" in each for each in found))


def _read_chat(document: Json, file: str) -> Sequence[StoryFile]:
    found = _lines(document)
    header = found[0] if "mes" not in found[0] else {}
    messages, active = _chat_messages([each for each in found if "mes" in each])
    leaves, part_of = from_messages(messages)
    name = file or one_line(text(header.get("character_name"))) or "Chat"
    return [
        StoryFile(
            format="sillytavern_chat",
            title="SillyTavern chat",
            name=name,
            leaves=leaves,
            active=part_of.get(active) if active is not None else None,
            kept=header,
        )
    ]


def _chat_messages(lines: list[Object]) -> tuple[list[Message], str | None]:
    messages: list[Message] = []
    active: str | None = None
    for number, line in enumerate(lines):
        versions = list(_versions(line))
        chosen = next((at for at, (_, shown) in enumerate(versions) if shown), 0)
        kept = {name: value for name, value in line.items() if name not in _OWN_FIELDS}
        extra = obj(line.get("extra"))
        mine = flag(line.get("is_user"))
        for at, (version, shown) in enumerate(versions):
            message = Message(
                key=f"{number}/{at}",
                parent=active,
                mine=mine,
                text=version,
                reasoning=text(extra.get("reasoning")) if shown else "",
                model="" if mine else text(pick(extra, "model") or ""),
                kept=kept,
            )
            messages.append(message)
        active = f"{number}/{chosen}"
    return messages, active


def _versions(line: Object) -> Iterator[tuple[str, bool]]:
    """The versions of a message, and whether each is the one that was shown; what was shown may have been edited."""
    swipes = [text(each) for each in rows(line.get("swipes"))]
    shown = text(line.get("mes"))
    chosen = whole(line.get("swipe_id"), 0)
    if not swipes:
        yield shown, True
        return
    if chosen not in range(len(swipes)):
        swipes.append(shown)
        chosen = len(swipes) - 1
    for at, swipe in enumerate(swipes):
        yield (shown, True) if at == chosen else (swipe, False)


def _sees_openwebui(document: Json) -> bool:
    found = rows(document) if is_list(document) else [document]
    return bool(found) and all(is_object(obj(obj(each).get("chat")).get("history")) for each in found)


def _read_openwebui(document: Json, file: str) -> Sequence[StoryFile]:
    found = rows(document) if is_list(document) else [document]
    return [_openwebui(obj(each), file) for each in found]


def _openwebui(export: Object, file: str) -> StoryFile:
    chat = obj(export["chat"])
    history = obj(chat.get("history"))
    raws = {key: obj(each) for key, each in obj(history.get("messages")).items()}
    messages = [_openwebui_message(key, raws[key]) for key in _down(raws)]
    leaves, part_of = from_messages(messages)
    lost = len(raws) - len(messages)
    return StoryFile(
        format="openwebui",
        title="Open WebUI chat",
        name=one_line(text(pick(chat, "title") or export.get("title"))) or file or "Chat",
        tags=texts(rows(obj(export.get("meta")).get("tags"))),
        leaves=leaves,
        active=part_of.get(text(history.get("currentId"))),
        notes=(Note(remarks=(f"{lost} messages hang on nothing and were left out",)),) if lost else (),
        kept={name: value for name, value in export.items() if name != "chat"},
    )


def _openwebui_message(key: str, raw: Object) -> Message:
    return Message(
        key=key,
        parent=_parent(raw),
        mine=raw.get("role") == "user",
        text=text(raw.get("content")),
        model=text(raw.get("model")),
        kept={name: value for name, value in raw.items() if name not in {"content", "childrenIds"}},
    )


def _parent(raw: Object) -> str | None:
    parent = raw.get("parentId")
    return text(parent) if parent is not None else None


def _down(raws: dict[str, Object]) -> Iterator[str]:
    """The keys of the messages, questions before answers; one whose parent is missing begins a chat of its own."""
    below: dict[str | None, list[str]] = {}
    for key, raw in raws.items():
        parent = _parent(raw)
        below.setdefault(parent if parent in raws else None, []).append(key)
    queue = list(below.get(None, ()))
    for key in queue:
        yield key
        queue += below.get(key, ())


TAVERN_CHAT = StoryCodec(id="sillytavern_chat", title="SillyTavern chat", sees=_sees_chat, read=_read_chat)
OPEN_WEBUI = StoryCodec(id="openwebui", title="Open WebUI chat", sees=_sees_openwebui, read=_read_openwebui)
