"""Having a server count the tokens of texts, exactly: the paths that servers have for it, and how each is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from marginalia.errors import ModelError
from marginalia.inference.connection import api_url, root_url
from marginalia.inference.exchange import LOOK_TIMEOUT, Exchange, as_json, as_object, number_of
from marginalia.inference.thinking import whole_characters
from marginalia.values import Provider

LLAMA = "llama.cpp"
_PROBE = "Hello"
# llama.cpp takes a list of texts and tokens and passes the tokens on as they are; this is nobody's token.
_BORDER = -1
_MOST_TEXTS = 64
_MOST_CHARACTERS = 400_000


@dataclass(frozen=True, slots=True)
class _Way:
    """A path that counts: where it hangs, and the body for one text. ``server`` is who has it."""

    server: str
    path: str
    url: Callable[[Provider, str], str]
    body: Callable[[str], Mapping[str, Any]]

    @property
    def label(self) -> str:
        return f"{self.server} {self.path}"


def _tokenize(text: str) -> Mapping[str, Any]:
    # llama.cpp reads "content", vLLM "prompt"; both pass over the name they do not know.
    return {"content": text, "prompt": text, "add_special": False, "add_special_tokens": False}


_WAYS = (
    _Way(LLAMA, "/tokenize", root_url, _tokenize),
    _Way("Aphrodite", "/v1/tokenize", lambda provider, _: api_url(provider, "/tokenize"), _tokenize),
    _Way("KoboldCpp", "/api/extra/tokencount", root_url, lambda text: {"prompt": text, "special": False}),
    _Way(
        "text-generation-webui",
        "/v1/internal/token-count",
        lambda provider, _: api_url(provider, "/internal/token-count"),
        lambda text: {"text": text},
    ),
    _Way(
        "TabbyAPI",
        "/v1/token/encode",
        lambda provider, _: api_url(provider, "/token/encode"),
        lambda text: {"text": text, "add_bos_token": False, "encode_special_tokens": False},
    ),
)


class TextCounter:
    """Counts texts where servers can, by the first of the known paths that answers; it is looked for once per model."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._ways: dict[tuple[str, str], _Way | None] = {}

    def forget(self, provider: Provider) -> None:
        """Look again whether the server of *provider* counts."""
        self._ways.pop(_identity(provider), None)

    def server(self, provider: Provider) -> str:
        """Who counts for *provider*, as far as it was found out; asks nobody."""
        way = self._ways.get(_identity(provider))
        return "" if way is None else way.server

    async def way(self, provider: Provider) -> str:
        """Who counts, and by which path, such as ``llama.cpp /tokenize``; empty where nobody does.

        Raises :class:`ModelError` when the server cannot be reached, which says nothing about what it can.
        """
        found = await self._way(provider)
        return "" if found is None else found.label

    async def count(self, provider: Provider, texts: Sequence[str]) -> tuple[Mapping[str, int], str]:
        """The tokens of each of *texts* and the way they were counted; nothing where nobody counts.

        llama.cpp is asked once for dozens of texts, others once for each. Raises like :meth:`way`.
        """
        way = await self._way(provider)
        if way is None:
            return {}, ""
        counted: dict[str, int] = {}
        for batch in _batches(texts) if way.server == LLAMA else ([text] for text in texts):
            try:
                counted |= await self._batch(provider, way, batch)
            except ModelError:
                if not counted:
                    raise
                break
        return counted, way.label

    async def _batch(self, provider: Provider, way: _Way, batch: Sequence[str]) -> Mapping[str, int]:
        found = await self._together(provider, way, batch) if len(batch) > 1 else None
        if found is not None:
            return dict(zip(batch, found, strict=True))
        singles = {
            text: number_of(await self._ask(provider, way, way.body(whole_characters(text))))
            for text in batch
        }
        return {text: number for text, number in singles.items() if number is not None}

    async def _together(self, provider: Provider, way: _Way, batch: Sequence[str]) -> Sequence[int] | None:
        content: list[str | int] = []
        for text in batch:
            content += [whole_characters(text), _BORDER]
        try:
            found = await self._ask(provider, way, {"content": content, "add_special": False})
        except ModelError as error:
            if error.status is None:
                raise
            return None  # an older server, or another one with the same path
        tokens = as_object(found).get("tokens")
        return _between(cast("list[object]", tokens), len(batch)) if isinstance(tokens, list) else None

    async def _ask(self, provider: Provider, way: _Way, body: Mapping[str, Any]) -> object:
        sent = {"model": provider.model, **body}
        return as_json(
            await self._exchange(provider, "POST", way.url(provider, way.path), sent, timeout=LOOK_TIMEOUT)
        )

    async def _way(self, provider: Provider) -> _Way | None:
        known = _identity(provider)
        if known not in self._ways:
            self._ways[known] = await self._look(provider)
        return self._ways[known]

    async def _look(self, provider: Provider) -> _Way | None:
        for way in _WAYS:
            try:
                found = await self._ask(provider, way, way.body(_PROBE))
            except ModelError as error:
                if error.status is None:
                    raise
                continue
            if number_of(found):
                told = as_object(found)
                return _Way("vLLM", way.path, way.url, way.body) if "max_model_len" in told else way
        return None


def _between(tokens: Sequence[object], texts: int) -> list[int] | None:
    """How many tokens stand before each border; ``None`` when these are not as many as there are texts."""
    counts, number = list[int](), 0
    for token in tokens:
        if token == _BORDER:
            counts.append(number)
            number = 0
        else:
            number += 1
    return counts if len(counts) == texts and not number else None


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch, characters = list[str](), 0
    for text in texts:
        if batch and (len(batch) >= _MOST_TEXTS or characters + len(text) > _MOST_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch


def _identity(provider: Provider) -> tuple[str, str]:
    return provider.base_url, provider.model
