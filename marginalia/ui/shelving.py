"""The lorebooks as their page shows them: rows in the order they are nested in, forms, reports of imports, exports."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import param

from marginalia.errors import InvalidInput, NotFound
from marginalia.formats import CODECS, Fidelity
from marginalia.lore.book import FilledLorebook, Lorebook
from marginalia.lore.collecting import would_cycle
from marginalia.models.base import Model
from marginalia.ui.forms import described
from marginalia.ui.nested import read, show
from marginalia.ui.words import count

if TYPE_CHECKING:
    from marginalia.formats import Note
    from marginalia.lore.book import Entry
    from marginalia.studio import Studio
    from marginalia.studio.lore_edits import LoreEdit
    from marginalia.studio.lorebooks import ImportReport, LoreShelf
    from marginalia.values import Book, LorebookId

_MOST_NOTES = 400
_GROUPS = ("settings",)


class LorebookModel(Model):
    """A lorebook as a form edits it; its dialect and what it was imported from stay as they are."""

    named = True

    name = param.String(default="", constant=False, label="Name", doc="What the lorebook is about.")
    description = param.String(default="", label="Description", doc="For you; the model never reads it.")
    enabled = param.Boolean(
        default=True, label="In use", doc="Off: neither its entries nor those of lorebooks only it leads to."
    )
    tags = param.List(default=[], item_type=str, label="Tags", doc="Each of its entries has these too.")
    settings_scan_parts = param.Integer(
        default=0, bounds=(0, None), label="Parts looked at", doc="For entries that do not say it themselves."
    )
    settings_token_budget = param.Integer(
        default=0,
        bounds=(0, None),
        label="Tokens at most",
        doc="For all its entries together. 0: no limit of its own.",
    )
    settings_recursive = param.Boolean(
        default=False, label="Lore calls lore", doc="Its entries may be called by other lore."
    )
    settings_recursion_limit = param.Integer(
        default=3,
        bounds=(0, None),
        label="Calls in a row",
        doc="How long a chain of calls may be. 0: no limit.",
    )

    def take(self, lorebook: Lorebook) -> None:
        """Show *lorebook*."""
        show(self, lorebook, _GROUPS)

    def freeze(self, lorebook: Lorebook) -> Lorebook:
        """*lorebook* with what was typed here."""
        made = read(self, lorebook, _GROUPS)
        return replace(made, name=made.name.strip())


def shelf_rows(studio: Studio, book: Book | None) -> list[dict[str, Any]]:
    """Every lorebook once, each below the one that holds it; ``depth`` says how far in."""
    every = {each.id: each for each in studio.lorebooks.all()}
    used = book.lorebook_id if book is not None else None
    return [
        {
            "id": each.id,
            "name": each.name,
            "depth": depth,
            "enabled": each.enabled,
            "entries": len(studio.lorebooks.entries(each)),
            "used": each.id == used,
        }
        for each, depth in _nested(every)
    ]


def folders(lorebooks: Sequence[FilledLorebook]) -> tuple[dict[str, Any], ...]:
    """The lorebooks that are looked at, each below the one that holds it, with all that are below it in turn."""
    every = {each.lorebook.id: each.lorebook for each in lorebooks}
    return tuple(
        {"id": each.id, "name": each.name, "depth": depth, "with": sorted(_within(each.id, every))}
        for each, depth in _nested(every)
    )


def lorebook_page(studio: Studio, number: int, book: Book | None) -> dict[str, Any]:
    """Everything that is shown of one lorebook; raises ``NotFound``."""
    filled = studio.lorebooks.filled(number)
    lorebook, model = filled.lorebook, LorebookModel()
    model.take(lorebook)
    every = {each.id: each.name for each in studio.lorebooks.all()}
    report = studio.lorebooks.report(lorebook)
    return {
        "id": lorebook.id,
        "name": lorebook.name,
        "facts": f"{len(filled.entries):,} entr{'y' if len(filled.entries) == 1 else 'ies'}",
        "fields": described(model, wide=("name",), areas=("description",)),
        "below": [[each, every[each]] for each in lorebook.subbooks if each in every],
        "others": [
            [each, name] for each, name in every.items() if each not in {lorebook.id, *lorebook.subbooks}
        ],
        "formats": _formats(lorebook),
        "used": book is not None and book.lorebook_id == lorebook.id,
        "trash": [[each.id, each.name] for each in studio.lorebooks.deleted_entries(lorebook)],
        "report": report_row(report) if report is not None else None,
    }


def nest(studio: Studio, parent: LorebookId, child: LorebookId) -> Lorebook:
    """Put one lorebook below another. Raises ``InvalidInput`` where it would come to contain itself."""

    def shelf(number: LorebookId) -> FilledLorebook | None:
        try:
            return studio.lorebooks.filled(number)
        except NotFound:
            return None

    above, below = studio.lorebooks.get(parent), studio.lorebooks.get(child)
    if would_cycle(parent, child, shelf):
        raise InvalidInput(
            f"{below.name!r} cannot go below {above.name!r}: it leads to {above.name!r} itself, "
            "so they would hold each other."
        )
    return studio.lorebooks.save(replace(above, subbooks=(*above.subbooks, child)))


def unnest(studio: Studio, parent: LorebookId, child: LorebookId) -> Lorebook:
    """Take a lorebook out from below another; it stays as it is."""
    above = studio.lorebooks.get(parent)
    return studio.lorebooks.save(
        replace(above, subbooks=tuple(each for each in above.subbooks if each != child))
    )


def bulk_edit(
    lorebooks: LoreShelf, entries: Sequence[Entry], what: str, value: str, home: Lorebook | None
) -> LoreEdit | None:
    """What a person chose to do to many entries; ``None`` when there is nothing to do.

    A folder is a lorebook of that name below *home*. A tag with a minus before it is taken away.
    """
    if not entries:
        return None
    edit: Callable[[Sequence[Entry]], LoreEdit]
    words = value.strip(" -")
    match what:
        case "on" | "off":
            edit = partial(lorebooks.edit_entries, enabled=what == "on")
        case "tag" if words and value.startswith("-"):
            edit = partial(lorebooks.edit_entries, untag=words)
        case "tag" if words:
            edit = partial(lorebooks.edit_entries, tag=words)
        case "move" if value.isdigit():
            edit = partial(lorebooks.edit_entries, lorebook=int(value))
        case "folder" if words and home is not None:
            folder = lorebooks.create(name=words)
            lorebooks.save(replace(home, subbooks=(*home.subbooks, folder.id)))
            edit = partial(lorebooks.edit_entries, lorebook=folder)
        case "delete":
            edit = lorebooks.remove_entries
        case _:
            return None
    return edit(entries)


def packed(rows: Iterable[Any]) -> str:
    """Rows as one text: the server's loop would walk through thousands of them value by value."""
    return msgspec.json.encode(list(rows)).decode()


def report_row(report: ImportReport) -> dict[str, Any]:
    """A report as the page shows it: a sentence, and what is to be said of single entries, the worst first."""
    worst = list(Fidelity)
    told = [note for note in report.notes if note.remarks or note.fidelity is not Fidelity.TAKEN]
    told.sort(key=lambda note: (bool(note.entry), -worst.index(note.fidelity)))
    lost = report.problem and ("as a story" in report.problem)
    return {
        "file": report.file,
        "text": str(report),
        "refused": bool(report.problem),
        "lorebook": report.lorebooks[0].id if report.lorebooks else 0,
        "counts": [[str(each), number] for each in Fidelity if (number := report.count(each))],
        "notes": [note_row(note) for note in told[:_MOST_NOTES]],
        "more": max(0, len(told) - _MOST_NOTES),
        "story": bool(report.story_too or lost),
        "fields": _offered(report),
    }


def note_row(note: Note) -> dict[str, str]:
    """What became of one entry, in words."""
    return {
        "entry": note.entry or "the file",
        "fidelity": str(note.fidelity),
        "text": "; ".join(note.remarks),
    }


def exported(studio: Studio, number: LorebookId, form: str) -> dict[str, Any]:
    """A lorebook as a file to download, with what its format cannot say."""
    file = studio.lorebooks.export(number, form)
    said = (
        f"{count(len(file.losses), 'thing')} cannot be said in this format:"
        if file.losses
        else "Nothing is lost."
    )
    return {
        "name": file.file_name,
        "data": b64encode(file).decode("ascii"),
        "text": said,
        "notes": [note_row(each) for each in file.losses[:_MOST_NOTES]],
    }


def _nested(every: dict[LorebookId, Lorebook]) -> Iterator[tuple[Lorebook, int]]:
    inside = {below for each in every.values() for below in each.subbooks}
    roots = [each for each in every.values() if each.id not in inside]
    seen: set[LorebookId] = set()
    # Those left over hold each other in a circle, which older files can bring.
    for root in (*_by_name(roots), *_by_name(every.values())):
        stack = [(root, 0)]
        while stack:
            each, depth = stack.pop()
            if each.id in seen:
                continue
            seen.add(each.id)
            yield each, depth
            stack += [(every[below], depth + 1) for below in reversed(each.subbooks) if below in every]


def _within(lorebook: LorebookId, every: dict[LorebookId, Lorebook]) -> set[LorebookId]:
    found, queue = {lorebook}, [lorebook]
    while queue:
        below = [each for each in every[queue.pop()].subbooks if each in every and each not in found]
        found.update(below)
        queue += below
    return found


def _by_name(lorebooks: Iterable[Lorebook]) -> Sequence[Lorebook]:
    return sorted(lorebooks, key=lambda each: each.name.casefold())


def _formats(lorebook: Lorebook) -> list[tuple[str, str]]:
    """What a lorebook can be written as: formats that can be begun anew, and the one it came from."""
    origin = lorebook.raw.get("format")
    return [
        (each.id, each.title)
        for each in CODECS
        if each.id in {"marginalia", origin} or each.blank is not None
    ]


def _offered(report: ImportReport) -> str:
    """What a card says about a story, for a person to take or leave."""
    fields = report.book_fields
    said = [name for name in ("description", "scenario", "first_message", "memory") if getattr(fields, name)]
    return f"It also says something about a story: {', '.join(said).replace('_', ' ')}." if said else ""
