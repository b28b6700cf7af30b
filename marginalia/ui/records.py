"""Models and protocols as their lists show them. These calls block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from marginalia.ui.words import count
from marginalia.values import Book, Protocol, ProtocolId, Provider, ProviderId

if TYPE_CHECKING:
    from marginalia.studio import Studio

Kind: TypeAlias = Literal["models", "protocols"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What a list says about its kind."""

    title: str
    create: str
    none: str
    about: str
    new: str
    form: str
    used: Callable[[Book], int | None]


WORDS: dict[Kind, Words] = {
    "models": Words(
        title="Models",
        create="Connect a model",
        none="No model is connected yet.",
        about="A model writes the parts of a book: one that comes with Marginalia, or any OpenAI-compatible server.",
        new="connect",
        form="model",
        used=lambda book: book.provider_id,
    ),
    "protocols": Words(
        title="Protocols",
        create="New protocol",
        none="There is no protocol yet.",
        about="A protocol says how a model is asked: how daring it shall be, and how much it may read and write.",
        new="new protocol",
        form="protocol",
        used=lambda book: book.protocol_id,
    ),
}


def record_rows(studio: Studio, kind: Kind, book: Book | None) -> list[dict[str, Any]]:
    """Every model (or protocol), by name; which books use it, and whether the open one does."""
    used, books = WORDS[kind].used, studio.books.all()
    rows: list[dict[str, Any]] = []
    for record in sorted(_shelf(studio, kind).all(), key=lambda each: each.name.casefold()):
        users = [each.name for each in books if used(each) == record.id]
        own = _of_model(record) if isinstance(record, Provider) else _of_protocol(record)
        rows.append(
            own
            | {
                "id": record.id,
                "name": record.name,
                "used": book is not None and used(book) == record.id,
                "users": _users(users),
                "fixed": isinstance(record, Provider) and record.kind == "bundled",
            }
        )
    return rows


def record_trash(studio: Studio, kind: Kind) -> list[list[Any]]:
    """What was deleted of a kind, the newest first: id and name."""
    return [[each.id, each.name] for each in reversed(_shelf(studio, kind).trash())]


def delete_record(studio: Studio, kind: Kind, record: int) -> None:
    """Move one to the trash; books that use it find it again when it is restored."""
    _shelf(studio, kind).delete(record)


def restore_record(studio: Studio, kind: Kind, record: int) -> int:
    """Bring one back; its id."""
    return int(_shelf(studio, kind).restore(record).id)


def duplicate_record(studio: Studio, kind: Kind, record: int) -> int:
    """A second one with the same settings (and the same key, which is kept once); its id."""
    if kind == "models":
        provider = studio.providers.get(ProviderId(record))
        made = studio.providers.create(name=f"{provider.name} (copy)", kind=provider.kind)
        copy = replace(provider, id=made.id, uid=made.uid, name=made.name, created=made.created)
        return int(studio.providers.save(copy).id)
    protocol = studio.protocols.get(ProtocolId(record))
    twin = studio.protocols.create(name=f"{protocol.name} (copy)")
    again = replace(protocol, id=twin.id, uid=twin.uid, name=twin.name, created=twin.created)
    return int(studio.protocols.save(again).id)


def _shelf(studio: Studio, kind: Kind) -> Any:  # noqa: ANN401 - one of two repositories
    return cast("Any", studio.providers if kind == "models" else studio.protocols)


def _of_model(provider: Provider) -> dict[str, Any]:
    bundled = provider.kind == "bundled"
    where = "comes with Marginalia, works offline" if bundled else provider.base_url or "no address yet"
    return {
        "facts": " · ".join(filter(None, [provider.model, where])),
        "figures": [
            ["Where", where],
            ["Model", provider.model or "not chosen"],
            ["Context", _tokens(provider.max_context)],
            ["Answer", _tokens(provider.max_response)],
            ["Key", "kept" if provider.key_ref else "none"],
        ],
    }


def _of_protocol(protocol: Protocol) -> dict[str, Any]:
    sampling = protocol.sampling
    figures = [
        ["Temperature", _sent(sampling.temperature)],
        ["Top p", _sent(sampling.top_p)],
        ["Frequency penalty", _sent(sampling.frequency_penalty)],
        ["Presence penalty", _sent(sampling.presence_penalty)],
        ["Context", _tokens(protocol.max_tokens, "the model's")],
        ["Answer", _tokens(protocol.reply_tokens, "the model's")],
    ]
    said = [f"temperature {sampling.temperature:g}"] if sampling.temperature is not None else []
    said += [f"top p {sampling.top_p:g}"] if sampling.top_p is not None else []
    return {"facts": " · ".join(said) or "the server's own defaults", "figures": figures}


def _tokens(number: int | None, unset: str = "not known") -> str:
    return unset if number is None else count(number, "token")


def _sent(number: float | None) -> str:
    return "not sent" if number is None else f"{number:g}"


def _users(names: list[str]) -> str:
    if not names:
        return "No book uses it."
    shown, more = names[:3], len(names) - 3
    rest = f" and {count(more, 'other book')}" if more > 0 else ""
    return f"Used by {', '.join(shown)}{rest}."
