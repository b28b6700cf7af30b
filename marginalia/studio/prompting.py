"""The prompts of books: what they are and where they come from, tried before they are kept, and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import anyio.to_thread

from marginalia.pipeline.defaults import default_prompts
from marginalia.pipeline.engine import Pipeline
from marginalia.pipeline.ports import Manuscript, Ports
from marginalia.pipeline.run import Run
from marginalia.pipeline.summarising import Summariser
from marginalia.pipeline.trying import SummaryTrials, Trial, try_template
from marginalia.prompt.macros.table import MacroTable
from marginalia.prompt.rendering import Rendering
from marginalia.prompt.templates import Check, TemplateKind
from marginalia.store import Store
from marginalia.studio.inspecting import HoldsTurn, NewRun
from marginalia.studio.names import BookLike, book_id
from marginalia.values import PLAIN_PROMPTS, TEMPLATES, Book, Prompts, Syntax, Turn

Origin: TypeAlias = Literal["book", "user", "built in"]
Layers: TypeAlias = tuple[tuple[Origin, Prompts], ...]
PROMPTS = (*TEMPLATES, *PLAIN_PROMPTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sourced:
    """One prompt of a book: its text, its syntax, where it comes from, and what would stand there without that."""

    text: str
    syntax: Syntax
    origin: Origin
    default: str = ""
    default_syntax: Syntax = "macros"
    default_origin: Origin = "built in"


class Prompting:
    """``studio.prompting``: the prompts of books, and trying others. Reading and keeping block a little."""

    def __init__(
        self,
        store: Store,
        pipeline: Pipeline,
        ports: Ports,
        summariser: Summariser,
        *,
        rendering: Rendering,
        new_run: NewRun,
    ) -> None:
        self._store = store
        self._pipeline = pipeline
        self._new_run = new_run
        self._summaries = SummaryTrials(ports, summariser)
        self._rendering = rendering
        self.render = rendering.render
        self.macros: Callable[[], MacroTable] = ports.macros

    def of(self, book: BookLike) -> Mapping[str, Sourced]:
        """The prompts of a book by the names of their fields."""
        layers = self._layers(book)
        return {name: _sourced(name, layers) for name in PROMPTS}

    def _layers(self, book: BookLike) -> Layers:
        manuscript = self._store.library.manuscript(book_id(book))
        return (
            ("book", manuscript.book.prompts),
            ("user", manuscript.defaults),
            ("built in", default_prompts()),
        )

    def check(
        self, source: str, *, kind: TemplateKind, syntax: Syntax = "macros", known: Iterable[str] = ()
    ) -> Check:
        """What can be said about a template without rendering it; it may call the macros of extensions.

        *known* are names beside those of its kind, such as the slots that lore gives it.
        """
        return self._rendering.check(source, kind=kind, syntax=syntax, macros=self.macros(), known=known)

    async def try_out(
        self,
        book: BookLike,
        name: str,
        changes: Prompts,
        *,
        turn: Turn | HoldsTurn | None = None,
    ) -> Trial:
        """What the template *name* would come to if the prompts set in *changes* were those of the book.

        The pipeline's own steps render it, with the dice that the next generation will throw. A plain prompt is seen
        in the master template. Nothing is kept.
        """
        manuscript = await anyio.to_thread.run_sync(self._store.library.manuscript, book_id(book))
        prompts = changes.over(manuscript.book.prompts, manuscript.defaults, default_prompts())
        if name in {"summary_prompt", "meta_summary_prompt"}:
            meta = name == "meta_summary_prompt"
            job = partial(self._summaries.trial, manuscript, prompts, meta=meta)
            return await anyio.to_thread.run_sync(job)
        run = self._run_with(manuscript, prompts, turn)
        return await try_template(self._pipeline, run, name if name in TEMPLATES else "master_template")

    def _run_with(self, manuscript: Manuscript, prompts: Prompts, turn: Turn | HoldsTurn | None) -> Run:
        book = replace(manuscript.book, prompts=prompts)
        return self._new_run(replace(manuscript, book=book), turn, None, preview=True)

    def keep(self, book: BookLike, name: str, text: str, *, syntax: Syntax = "macros") -> Book:
        """Make *text* the book's own prompt; a blank one, or the default itself, lets the book follow the default."""
        record = self._store.books.get(book_id(book))
        below = _sourced(name, self._layers(record)[1:])
        own = None if not text.strip() or (text, syntax) == (below.text, below.syntax) else text
        return self._store.books.save(replace(record, prompts=_with(record.prompts, name, own, syntax)))

    def keep_for_all(self, book: BookLike, name: str, text: str, *, syntax: Syntax = "macros") -> None:
        """Make *text* what all books of the user fall back on, *book* among them; a blank one leaves the built-in."""
        defaults, built_in = self._store.settings.default_prompts(), default_prompts()
        own = (text.strip(), syntax) != ((getattr(built_in, name) or "").strip(), "macros")
        wanted = text if text.strip() and own else None
        self._store.settings.set_default_prompts(_with(defaults, name, wanted, syntax))
        record = self._store.books.get(book_id(book))
        if (getattr(record.prompts, name) or "").strip():
            self._store.books.save(replace(record, prompts=_with(record.prompts, name, None)))

    def follow_default(self, book: BookLike, name: str) -> Origin:
        """Take away the text that a book uses now: its own, else that of the user's settings; says which it was."""
        origin = self.of(book)[name].origin
        if origin == "book":
            self.keep(book, name, "")
        elif origin == "user":
            defaults = self._store.settings.default_prompts()
            self._store.settings.set_default_prompts(_with(defaults, name, None))
        return origin


def _sourced(name: str, layers: Layers) -> Sourced:
    found: list[tuple[Origin, Prompts]] = [
        (origin, each) for origin, each in layers if (getattr(each, name) or "").strip()
    ]
    (origin, prompts), *others = found or [layers[-1]]
    text, syntax = getattr(prompts, name) or "", prompts.syntax_of(name)
    if not others:
        return Sourced(
            text=text,
            syntax=syntax,
            origin=origin,
            default=text,
            default_syntax=syntax,
            default_origin=origin,
        )
    below, default = others[0]
    return Sourced(
        text=text,
        syntax=syntax,
        origin=origin,
        default=getattr(default, name) or "",
        default_syntax=default.syntax_of(name),
        default_origin=below,
    )


def _with(prompts: Prompts, name: str, text: str | None, syntax: Syntax = "macros") -> Prompts:
    """*prompts* with another text; which of them are in Jinja is said one by one from then on."""
    jinja = {each for each in TEMPLATES if prompts.syntax_of(each) == "jinja"} - {name}
    if text is not None and syntax == "jinja" and name in TEMPLATES:
        jinja.add(name)
    kept = tuple(each for each in TEMPLATES if each in jinja and (each == name or getattr(prompts, each)))
    changes: dict[str, Any] = {name: text, "syntax": "macros", "jinja": kept}
    return replace(prompts, **changes)
