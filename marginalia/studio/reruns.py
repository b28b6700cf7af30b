"""Writing a part once more from its receipt: exactly as it was, or with today's lore and settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

import anyio.to_thread

from marginalia.errors import InvalidInput
from marginalia.pipeline.again import ASKED, Again
from marginalia.pipeline.engine import Pipeline
from marginalia.pipeline.listener import GenerationListener
from marginalia.pipeline.ports import Manuscript
from marginalia.pipeline.run import Run
from marginalia.prompt.diff import Diff, diff
from marginalia.prompt.receipt import Receipt
from marginalia.prompt.segments import Prompt
from marginalia.prompt.showing import diff_html
from marginalia.store import Store
from marginalia.story.parts import Part
from marginalia.studio.runs import Runs
from marginalia.values import PartId, Provider, Request, Swipe, Turn
from marginalia.values import Protocol as SamplingProtocol

if TYPE_CHECKING:
    from marginalia.story.frames import DataFrame

PartLike: TypeAlias = Part | PartId


class NewRun(Protocol):
    """Makes a run that was not started."""

    def __call__(
        self,
        manuscript: Manuscript,
        turn: Turn | None,
        request: Request | None,
        *,
        listener: GenerationListener | None = None,
        attended: bool = False,
        preview: bool = False,
    ) -> Run:
        """A run on *manuscript*."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """What writing a part once more would send, before it is sent.

    ``diff`` says what is different from what was sent then, with causes; its notes name other settings, and what could
    not be as it was because the receipt does not hold it.
    """

    part: Part
    as_it_was: bool
    prompt: Prompt
    diff: Diff

    @property
    def frame(self) -> DataFrame:
        """A row per piece that would be different from what was sent then."""
        return self.diff.frame

    def _repr_html_(self) -> str:
        return diff_html(self.diff)


class Reruns:
    """``studio.reruns``: look at what a part would be sent once more with :meth:`look`, write it with :meth:`start`."""

    def __init__(self, store: Store, pipeline: Pipeline, new_run: NewRun, runs: Runs) -> None:
        self._store = store
        self._pipeline = pipeline
        self._new_run = new_run
        self._runs = runs

    async def look(self, part: PartLike, *, as_it_was: bool = True) -> Rerun:
        """What :meth:`start` would send; changes nothing.

        Raises:
            InvalidInput: the part was written by hand, or what wrote it is gone and it shall be *as it was*.
            ContextTooSmall: today's settings have no room for it.
        """
        again, manuscript = await anyio.to_thread.run_sync(self._known, part, as_it_was)
        prompt = await self._pipeline.preview(self._run(again, manuscript, as_it_was=as_it_was, preview=True))
        found = await anyio.to_thread.run_sync(diff, again.receipt, prompt)
        notes = (*found.notes, *_notes(again.receipt, manuscript, as_it_was=as_it_was))
        return Rerun(part=again.part, as_it_was=as_it_was, prompt=prompt, diff=replace(found, notes=notes))

    def start(
        self,
        part: PartLike,
        *,
        as_it_was: bool = True,
        listener: GenerationListener | None = None,
        attended: bool = False,
    ) -> Run:
        """Write *part* once more, as a new swipe beside it; returns at once, the run goes on by itself.

        *as_it_was* sends exactly the messages of its receipt with the same sampling and limits to the same model,
        whatever lore, templates, settings and extensions are now; otherwise the same turn is asked for with today's.
        Needs a running event loop. Raises what :meth:`look` raises, and ``Busy`` when the book is being written to.
        """
        again, manuscript = self._known(part, as_it_was)
        self._runs.refuse_second(manuscript.book)
        run = self._run(again, manuscript, as_it_was=as_it_was, listener=listener, attended=attended)
        self._runs.start(run)
        return run

    def _run(
        self,
        again: Again,
        manuscript: Manuscript,
        *,
        as_it_was: bool,
        listener: GenerationListener | None = None,
        attended: bool = False,
        preview: bool = False,
    ) -> Run:
        run = self._new_run(
            manuscript, again.part.turn, Swipe(again.part), listener=listener, attended=attended, preview=preview
        )  # fmt: skip
        if as_it_was:
            run.again = again
        return run

    def _known(self, part: PartLike, as_it_was: bool) -> tuple[Again, Manuscript]:  # noqa: FBT001 - a private switch
        found = self._store.story.part(part)
        receipt = self._store.story.receipt(found)
        if receipt is None:
            raise InvalidInput(
                "This part was written by hand, so nothing was sent for it that could be sent again. Swipe writes "
                "another version of it."
            )
        manuscript = self._store.library.manuscript(found.book_id)
        if as_it_was:
            manuscript = self._as_then(manuscript, receipt)
        return Again(part=found, receipt=receipt), manuscript

    def _as_then(self, manuscript: Manuscript, receipt: Receipt) -> Manuscript:
        """The book with the provider that wrote the part, and a protocol of the same name, or today's."""
        protocols = (manuscript.protocol, *self._store.protocols.all())
        protocol = next(
            (each for each in protocols if each is not None and each.name == receipt.protocol), None
        )
        return replace(
            manuscript,
            provider=self._provider(manuscript, receipt),
            protocol=protocol or replace(manuscript.protocol or SamplingProtocol(), name=receipt.protocol),
        )

    def _provider(self, manuscript: Manuscript, receipt: Receipt) -> Provider:
        known = [each for each in (manuscript.provider, *self._store.providers.all()) if each is not None]
        named = [each for each in known if each.name == receipt.provider]
        for each in (*named, *known):
            if each.model == receipt.model:
                return each
        if named:  # the same place, now with another model: asked for the one it was
            return replace(named[0], model=receipt.model)
        raise InvalidInput(
            f"{receipt.provider!r}, which wrote this part, is not there any more, and nothing else has the model "
            f"{receipt.model!r}. Add it under Models, or run the part again with today's settings."
        )


def _notes(receipt: Receipt, manuscript: Manuscript, *, as_it_was: bool) -> Iterator[str]:
    """What is different beside the messages."""
    if as_it_was:
        if ASKED not in receipt.extra:
            yield "How the model was to reason was not kept when this part was written; it is asked as it is set today."
        return
    provider, protocol = manuscript.provider or Provider(), manuscript.protocol or SamplingProtocol()
    if provider.model != receipt.model:
        yield f"The model is {provider.model or 'none'} instead of {receipt.model}."
    for each in fields(protocol.sampling):
        before, after = getattr(receipt.sampling, each.name), getattr(protocol.sampling, each.name)
        if before != after:
            yield f"The {each.name.replace('_', ' ')} is {_told(after)} instead of {_told(before)}."


def _told(number: float | None) -> str:
    return "the server's own" if number is None else f"{number:g}"
