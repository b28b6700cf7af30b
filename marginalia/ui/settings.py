"""The sheets of the settings dialog: which fields they have, and what saving one does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from marginalia.models import BookModel, ProtocolModel
from marginalia.ui.bookcase import usual
from marginalia.ui.connecting import UNCONNECTED
from marginalia.ui.forms import described, fill
from marginalia.ui.providing import provider_actions, provider_fields, submit_provider
from marginalia.ui.work import aside
from marginalia.values import Book, Protocol, ProtocolId, Provider, ProviderId

if TYPE_CHECKING:
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.reading import Library

_BOOK = ("name", "description", "tags", "provider_id", "protocol_id", "lorebook_id", "pov", "tense", "style")
# The sampling settings, each with its switch, and where each starts when it is switched on.
_SAMPLING = {"temperature": 0.8, "top_p": 0.95, "frequency_penalty": 0.0, "presence_penalty": 0.0}


@dataclass(frozen=True, slots=True)
class _Saved:
    text: str = "Saved."
    close: bool = False

    def answer(self) -> dict[str, Any]:
        return {"ok": True, "text": self.text, "close": self.close}


class Sheets:
    """Builds the sections of a dialog and takes them back. Reading blocks a little: call ``sections`` on a thread."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def sections(self, name: str) -> tuple[str, list[dict[str, Any]]]:
        """The title and the sections of a sheet; ``connect``, ``new book`` and ``new protocol`` make something."""
        book = self._desk.book
        match name:
            case "connect":
                return "Connect a model", [self._model_section(Provider(), intro=UNCONNECTED)]
            case "new protocol":
                return "New protocol", [self._protocol_section(Protocol())]
            case "new book":
                return "New book", [self._new_book_section()]
            case _ if book is None:
                return "New book", [self._new_book_section()]
            case _:
                return book.name or "Settings", self._all_sections(book)

    def record(self, form: str, number: int) -> tuple[str, list[dict[str, Any]]]:
        """The form of one model or protocol (as ``form`` says), whichever book it is of; raises ``NotFound``."""
        studio = self._desk.studio
        if form == "protocol":
            protocol = studio.protocols.get(ProtocolId(number))
            return protocol.name, [self._protocol_section(protocol)]
        provider = studio.providers.get(ProviderId(number))
        return provider.name, [self._model_section(provider)]

    def _all_sections(self, book: Book) -> list[dict[str, Any]]:
        studio = self._desk.studio
        provider = _known(self._desk.library.providers, book.provider_id)
        protocol = _known(self._desk.library.protocols, book.protocol_id)
        return [
            self._book_section(book),
            self._model_section(studio.providers.get(ProviderId(provider)) if provider else Provider()),
            self._protocol_section(studio.protocols.get(ProtocolId(protocol)) if protocol else Protocol()),
        ]

    # The sections.

    def _book_section(self, book: Book) -> dict[str, Any]:
        model = BookModel()
        model.take(book)
        fields = described(
            model, only=_BOOK, wide=("name",), areas=("description", "style"), choices=self._choices()
        )
        return _section("book", "Book", book.id, fields, actions=[["prompts", "Save, and go to the prompts"]])

    def _new_book_section(self) -> dict[str, Any]:
        model, library = BookModel(), self._desk.library
        provider, protocol = usual(self._desk.studio, self._desk.book, library)
        model.param.update(provider_id=provider, protocol_id=protocol)
        only = ("name", "description", "provider_id", "protocol_id", "lorebook_id")
        fields = described(model, only=only, wide=("name",), areas=("description",), choices=self._choices())
        return _section("book", "Book", 0, fields, save="Create")

    def _model_section(self, provider: Provider, *, intro: str = "") -> dict[str, Any]:
        studio = self._desk.studio
        if provider.kind == "bundled":
            local = studio.models.local
            intro = local.why_absent() or f"The model that comes with Marginalia. {local.where_log}"
        return _section(
            "model", "Model", provider.id, provider_fields(studio, provider), intro=intro,
            actions=provider_actions(studio, provider),
        )  # fmt: skip

    def _protocol_section(self, protocol: Protocol) -> dict[str, Any]:
        model = ProtocolModel()
        model.take(protocol)
        fields = described(model, wide=("name",), switched=_SAMPLING)
        return _section("protocol", "Protocol", protocol.id, fields)

    def _choices(self) -> dict[str, list[tuple[Any, str]]]:
        library: Library = self._desk.library
        return {
            "provider_id": [(None, "none"), *library.providers],
            "protocol_id": [(None, "none"), *library.protocols],
            "lorebook_id": [(None, "none"), *library.lorebooks],
        }

    # Taking a section back.

    async def submit(self, said: Said) -> dict[str, Any]:
        """Save (or test) what a section holds; ``ok`` with a text, or ``errors`` by field."""
        values, record = dict(said["values"]), int(said["id"])
        match said["form"]:
            case "model":
                return await submit_provider(self._desk, values, record, str(said.get("action")))
            case "protocol":
                return await self._submit_protocol(values, record)
            case _:
                answer = await self._submit_book(values, record)
                if answer["ok"] and said.get("action") == "prompts":
                    self._desk.wish("prompts")  # a sheet of its own
                    return answer | {"close": True}
                return answer

    async def _submit_book(self, values: dict[str, Any], record: int) -> dict[str, Any]:
        studio, model = self._desk.studio, BookModel()
        book = await aside(studio.books.get, record) if record else Book()
        model.take(book)
        if errors := _wrong(model, values):
            return errors
        changed = model.freeze(book)
        if record:
            await aside(studio.books.save, changed)
            await self._desk.refresh_library()
            await self._desk.refresh()
            return _Saved().answer()
        made = await aside(
            studio.books.create, name=changed.name, description=changed.description, provider=changed.provider_id,
            protocol=changed.protocol_id, lorebook=changed.lorebook_id,
        )  # fmt: skip
        await self._desk.refresh_library()
        await self._desk.open_book(made.id)
        return _Saved(close=True).answer()

    async def _submit_protocol(self, values: dict[str, Any], record: int) -> dict[str, Any]:
        protocols, model = self._desk.studio.protocols, ProtocolModel()
        protocol = await aside(protocols.get, record) if record else Protocol()
        model.take(protocol)
        if errors := _wrong(model, values):
            return errors
        made = model.freeze(protocol)
        if record:
            await aside(protocols.save, made)
        else:
            made = await aside(protocols.create, name=made.name)
            await aside(protocols.save, model.freeze(made))
            await self._desk.choose(protocol=made.id)
        await self._desk.refresh_library()
        await self._desk.refresh()
        return _Saved(close=not record).answer()


def _section(
    name: str,
    label: str,
    record: int,
    fields: list[dict[str, Any]],
    *,
    intro: str = "",
    save: str = "Save",
    actions: list[list[str]] | None = None,
) -> dict[str, Any]:
    return {
        "name": name, "label": label, "id": record, "fields": fields, "intro": intro, "save": save,
        "actions": actions or [],
    }  # fmt: skip


def _wrong(model: Any, values: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - one of the models
    errors = fill(model, values)
    if not errors and not model.name.strip():
        errors = {"name": "It needs a name."}
    return {"ok": False, "text": "Nothing was saved yet.", "errors": errors} if errors else {}


def _known(pairs: tuple[tuple[int, str], ...], wanted: int | None) -> int | None:
    return wanted if any(each == wanted for each, _ in pairs) else None
