"""Looking at prompts before they are sent: what would be different, what a server's cache holds, what falls out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Protocol, TypeAlias

import anyio.to_thread

from marginalia.errors import InvalidInput
from marginalia.inference import Models
from marginalia.inference.connection import api_url
from marginalia.inference.wire import request_body
from marginalia.pipeline import slots
from marginalia.pipeline.again import asked_provider
from marginalia.pipeline.engine import Pipeline
from marginalia.pipeline.layout import (
    asked_to_keep,
    keeps_what_moved,
    late_lore,
    moved_kept,
    steady_story,
)
from marginalia.pipeline.ports import Call, Manuscript, Measures
from marginalia.pipeline.run import Run
from marginalia.pipeline.sending import LastSent
from marginalia.prompt.budget import ContextTooSmall
from marginalia.prompt.cache import Beginning, same_beginning
from marginalia.prompt.exporting import as_curl, as_json, as_text
from marginalia.prompt.layout import STABLE, is_stable
from marginalia.prompt.receipt import Receipt
from marginalia.prompt.segment import Sent
from marginalia.prompt.segments import Prompt
from marginalia.store import Store
from marginalia.studio.names import book_id
from marginalia.studio.wishes import Rung, WhatIf
from marginalia.values import Book, BookId, PartId, Provider, Request, Turn
from marginalia.values import Protocol as SamplingProtocol

Format: TypeAlias = Literal["text", "json", "curl"]
CONTEXTS = (4096, 8192, 16384, 32768, 131072)
_LOOK_BACK = 8
_BUNDLED = "bundled"
AS_IT_IS = WhatIf()


class HoldsTurn(Protocol):
    """A face of a turn that widgets are bound to."""

    def freeze(self) -> Turn:
        """The turn as it is now."""
        ...


class NewRun(Protocol):
    """Makes the run of a preview."""

    def __call__(
        self, manuscript: Manuscript, turn: Turn | HoldsTurn | None, request: Request | None, *, preview: bool
    ) -> Run:
        """A run that was not started."""
        ...


class Inspector:
    """``studio.inspector``: what-ifs, the cache of the server, and prompts as text, JSON or curl.

    Nothing here changes a book, except :meth:`apply` and :meth:`set_stable`.
    """

    def __init__(
        self, store: Store, pipeline: Pipeline, models: Models, counting: Measures, new_run: NewRun
    ) -> None:
        self._store = store
        self._pipeline = pipeline
        self._models = models
        self._counting = counting
        self._new_run = new_run
        self._last = LastSent()
        pipeline.wrap(slots.PREPARE_GENERATION, moved_kept(models.keeps_what_moved))
        pipeline.wrap(slots.PROCESS_LOREBOOK, late_lore)
        pipeline.wrap(slots.PREPARE_CONTENT, steady_story)
        pipeline.wrap(slots.INFERENCE, self._last.watching)

    async def what_if(
        self,
        book: Book | BookId,
        turn: Turn | HoldsTurn | None = None,
        *,
        request: Request | None = None,
        context: int | None = None,
        response: int | None = None,
        lore_tokens: int | None = None,
        lore_share: int | None = None,
        parts: int | None = None,
        stable: bool | None = None,
    ) -> Prompt:
        """The prompt that would be sent with other limits, built by the same steps; the book is left alone.

        See :class:`WhatIf` for what each is.

        Raises:
            InvalidInput: a negative number, or a share over 100.
            ContextTooSmall: not even the base would fit; carries the numbers.
        """
        wish = WhatIf(
            context=context, response=response, lore_tokens=lore_tokens, lore_share=lore_share, parts=parts,
            stable=stable,
        )  # fmt: skip
        return await self.tried(book, turn, wish=wish, request=request)

    async def tried(
        self,
        book: Book | BookId,
        turn: Turn | HoldsTurn | None = None,
        *,
        wish: WhatIf = AS_IT_IS,
        request: Request | None = None,
        provider: Provider | None = None,
        protocol: SamplingProtocol | None = None,
        after: PartId | None = None,
    ) -> Prompt:
        """The prompt that would be sent if *wish* were true, by another provider or protocol, or after another part.

        *after* is the end of any branch of the book. Raises what :meth:`what_if` raises, and ``NotFound`` for an
        *after* that is not in the book.
        """
        known = await anyio.to_thread.run_sync(self._store.library.manuscript, book_id(book))
        other = replace(known, provider=provider or known.provider, protocol=protocol or known.protocol)
        if after is not None:
            other = replace(other, book=replace(other.book, active_leaf=other.tree[after].id))
        run = self._new_run(wish.of_manuscript(other), turn, request, preview=True)
        return await self._pipeline.preview(run)

    async def curve(
        self,
        book: Book | BookId,
        turn: Turn | HoldsTurn | None = None,
        *,
        contexts: Sequence[int] = CONTEXTS,
        response: int | None = None,
        lore_tokens: int | None = None,
    ) -> tuple[Rung, ...]:
        """What contexts of these sizes would hold, in the order they are given."""
        rungs: list[Rung] = []
        for context in contexts:
            try:
                prompt = await self.what_if(
                    book, turn, context=context, response=response, lore_tokens=lore_tokens
                )
            except ContextTooSmall as error:
                rungs.append(Rung.too_small(context, error.budget))
            else:
                rungs.append(Rung.holding(context, prompt))
        return tuple(rungs)

    def apply(self, book: Book | BookId, wish: WhatIf, *, new_protocol: str = "") -> SamplingProtocol | None:
        """Make a what-if true: limits go into the book's protocol or one named *new_protocol*, the rest into the book.

        The protocol is changed for every book that uses it; a book without one is given a new one when there are limits
        to keep. Gives the protocol of the book as it is then.
        """
        manuscript = self._store.library.manuscript(book_id(book))
        record, protocol = manuscript.book, manuscript.protocol
        if wish.limited or new_protocol:
            protocol = self._keep(protocol, wish, new_protocol)
        chosen = protocol.id if protocol is not None else record.protocol_id
        if wish.settings or record.protocol_id != chosen:
            self._store.books.save(replace(wish.of_book(record), protocol_id=chosen))
        return protocol

    def _keep(self, known: SamplingProtocol | None, wish: WhatIf, new_protocol: str) -> SamplingProtocol:
        """Store the limits of *wish*."""
        wanted = wish.of_protocol(known or SamplingProtocol())
        if known is not None and not new_protocol:
            return self._store.protocols.save(wanted)
        return self._store.protocols.create(
            name=new_protocol or "Limits",
            sampling=wanted.sampling,
            max_tokens=wanted.max_tokens,
            reply_tokens=wanted.reply_tokens,
            settings=wanted.settings,
        )

    def set_stable(self, book: Book | BookId, on: bool) -> Book:  # noqa: FBT001 - a switch
        """Turn the stable layout of a book on or off; see :mod:`marginalia.prompt.layout`."""
        record = self._store.books.get(book_id(book))
        return self._store.books.save(replace(record, settings={**record.settings, STABLE: on}))

    def is_stable(self, book: Book | BookId) -> bool:
        """Whether a book has the stable layout."""
        return is_stable(self._store.books.get(book_id(book)).settings)

    def last_sent(self, book: Book | BookId) -> Sent | None:
        """The last prompt that the book's model was sent, by any book; after a new start, by this branch."""
        manuscript = self._store.library.manuscript(book_id(book))
        provider = manuscript.provider
        if provider is None:
            return None
        sent = self._last.to(provider)
        return sent if sent is not None else self._newest_receipt(manuscript, provider)

    def beginning(self, book: Book | BookId, prompt: Sent) -> Beginning:
        """How much of *prompt* begins like the last one that the book's model was sent, and what is first different."""
        provider = self._asked(self._store.library.manuscript(book_id(book)))
        return same_beginning(
            self.last_sent(book),
            prompt,
            self._counting.tokenizer(provider).count,
            keeps_what_moved=keeps_what_moved(provider),
        )

    def export(self, book: Book | BookId, prompt: Sent, form: Format = "text") -> str:
        """*prompt* as readable text, as the JSON body the book's model would be sent, or as a curl command.

        The receipt of a part is given the model and the sampling that it was sent with.
        No key is in it: curl reads ``$API_KEY``. Raises ``InvalidInput`` for another form.
        """
        if form == "text":
            return as_text(prompt)
        if form not in ("json", "curl"):
            raise InvalidInput(f"A prompt cannot be exported as {form!r}, only as text, json or curl.")
        manuscript = self._store.library.manuscript(book_id(book))
        provider, protocol = self._asked(manuscript), manuscript.protocol or SamplingProtocol()
        if isinstance(prompt, Receipt):  # as it was asked then, not as it would be asked today
            provider = replace(asked_provider(provider, prompt), model=prompt.model)
            protocol = replace(protocol, sampling=prompt.sampling)
        call = Call(
            provider=provider,
            protocol=protocol,
            limits=prompt.limits,
            messages=prompt.messages,
        )
        body = request_body(call, self._models.learned(provider))
        if form == "json":
            return as_json(body)
        return as_curl(self._address(provider), body, needs_key=bool(provider.key_ref))

    def _asked(self, manuscript: Manuscript) -> Provider:
        """The book's model as a run would ask it."""
        provider = manuscript.provider or Provider()
        return asked_to_keep(provider, manuscript.book.settings, self._models.keeps_what_moved)

    def _address(self, provider: Provider) -> str:
        if provider.kind == _BUNDLED or not provider.base_url:
            return "http://127.0.0.1:8080/v1/chat/completions"  # the bundled model has another port at every start
        return api_url(provider, "/chat/completions")

    def _newest_receipt(self, manuscript: Manuscript, provider: Provider) -> Sent | None:
        branch = manuscript.tree.branch(manuscript.book.active_leaf)
        for part in reversed(branch[-_LOOK_BACK:]):
            receipt = self._store.story.receipt(part)
            if receipt is not None and (receipt.provider, receipt.model) == (provider.name, provider.model):
                return receipt
        return None
