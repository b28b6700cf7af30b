"""What can be learned about a server before it writes: its models, its context length, how it counts tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from marginalia.errors import ModelError, ModelErrorKind
from marginalia.inference.answer import AnswerReader
from marginalia.inference.client import OpenAIClient, lesson
from marginalia.inference.connection import api_url, is_local, root_url
from marginalia.inference.dialect import Dialect
from marginalia.inference.exchange import LOOK_TIMEOUT, Exchange, as_json, as_object, number_of
from marginalia.inference.text_counter import TextCounter
from marginalia.inference.wire import as_sent, with_additional
from marginalia.values import Message, Provider

_MODEL_LIST_CONTEXT = (
    "loaded_context_length",
    "max_model_len",
    "context_length",
    "context_window",
    "max_context_length",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionReport:
    """What a connection test found.

    ``models`` is empty where the server has no list. ``context`` is in tokens, ``context_source`` says who told it.
    ``counting`` names the path that counts whole chats exactly, ``counting_texts`` who counts single texts and how;
    ``learned`` is what the server wants differently.
    """

    models: tuple[str, ...] = ()
    context: int | None = None
    context_source: str = ""
    counting: str = ""
    counting_texts: str = ""
    learned: tuple[str, ...] = ()


class Probe:
    """Looks at servers through the keys and the memory of *client*."""

    def __init__(self, client: OpenAIClient) -> None:
        self._client = client
        self._exchange = Exchange(client)
        self.texts = TextCounter(self._exchange)
        self._counting: dict[tuple[str, str], str] = {}

    async def test(self, provider: Provider) -> ConnectionReport:
        """Ask for the model list, then for one token without streaming (cases REQ-019 to REQ-022).

        Raises :class:`ModelError` when the key is wrong, nobody answers, or the one token is refused.
        """
        models = await self._model_list(provider)
        learned = await self._ask_for_one_token(provider)
        self._counting.pop(_identity(provider), None)
        context, source = await self._context(provider, models)
        await self.count(provider, (Message(role="user", content="Hello"),))
        return ConnectionReport(
            models=tuple(str(model["id"]) for model in models if model.get("id")),
            context=context,
            context_source=source,
            counting=self._counting.get(_identity(provider), ""),
            counting_texts=await self._way_to_count(provider),
            learned=learned,
        )

    async def _way_to_count(self, provider: Provider) -> str:
        self.texts.forget(provider)
        try:
            return await self.texts.way(provider)
        except ModelError:
            return ""

    async def models(self, provider: Provider) -> tuple[str, ...]:
        """The ids in the server's model list; empty when it has none."""
        return tuple(str(model["id"]) for model in await self._model_list(provider) if model.get("id"))

    async def context(self, provider: Provider) -> tuple[int, str] | None:
        """How many tokens the model takes as it is loaded now, and who told it; ``None`` when nobody does."""
        length, source = await self._context(provider, await self._model_list(provider))
        return None if length is None else (length, source)

    async def count(self, provider: Provider, messages: Sequence[Message]) -> int | None:
        """The exact number of prompt tokens of *messages*, the chat template included; ``None`` where nobody counts.

        One request when the way is known, a few at the first time. A server that cannot count is not asked again until
        the next connection test.
        """
        known = self._counting.get(_identity(provider))
        if known == "":
            return None
        sent = {"model": provider.model, "messages": [as_sent(message) for message in messages]}
        ways = {
            "/chat/completions/input_tokens": api_url(provider, "/chat/completions/input_tokens"),
            "/tokenize": root_url(provider, "/tokenize"),
        }
        for way in [known] if known else ways:
            try:
                found = as_json(await self._exchange(provider, "POST", ways[way], sent, timeout=LOOK_TIMEOUT))
            except ModelError as error:
                if error.status is None:
                    # Nobody answered, which says nothing about whether the server can count.
                    return None
                continue
            if number := number_of(found):  # no chat has none
                self._counting[_identity(provider)] = way
                return number
        self._counting[_identity(provider)] = ""
        return None

    async def _model_list(self, provider: Provider) -> list[dict[str, Any]]:
        try:
            found = as_json(await self._exchange(provider, "GET", api_url(provider, "/models")))
        except ModelError as error:
            # Some keys may write but not list, and some servers have no list: only what stops the writing counts.
            if error.status is None or error.kind in (ModelErrorKind.AUTH, ModelErrorKind.TIMEOUT):
                raise
            return []
        data = as_object(found).get("data")
        return [as_object(each) for each in cast("list[object]", data)] if isinstance(data, list) else []

    async def _ask_for_one_token(self, provider: Provider) -> tuple[str, ...]:
        spoken, learned = [self._client.dialect(provider)], list[str]()
        while True:
            try:
                body = _one_token(provider, spoken[-1])
                _check_answer(
                    await self._exchange(provider, "POST", api_url(provider, "/chat/completions"), body)
                )
            except ModelError as error:
                found = lesson(provider, spoken, error)
                if found is None:
                    raise
                spoken.append(found[0])
                learned.append(found[1])
            else:
                await self._client.remember(provider, spoken[-1])
                return tuple(learned)

    async def _context(self, provider: Provider, models: list[dict[str, Any]]) -> tuple[int | None, str]:
        entry = next(
            (model for model in models if model.get("id") == provider.model),
            models[0] if len(models) == 1 else {},
        )
        if (told := _context_of(entry)) is not None:
            return told, "the server's model list"
        props = as_object(await self._ask(provider, "GET", root_url(provider, "/props")))
        told = _positive(as_object(props.get("default_generation_settings")).get("n_ctx"))
        if told is not None or not is_local(provider.base_url):
            return told, "/props" if told is not None else ""
        return await self._local_context(provider)

    async def _local_context(self, provider: Provider) -> tuple[int | None, str]:
        """Where servers on one's own machine tell it: LM Studio, Ollama, KoboldCpp."""
        for path, name in (("/api/v0/models", "data"), ("/api/ps", "models")):
            found = as_object(await self._ask(provider, "GET", root_url(provider, path))).get(name)
            for model in map(as_object, cast("list[object]", found) if isinstance(found, list) else ()):
                if provider.model in (model.get("id"), model.get("model"), model.get("name")):
                    told = _positive(model.get("loaded_context_length") or model.get("context_length"))
                    if told is not None:
                        return told, path
        path = "/api/extra/true_max_context_length"
        told = _positive(as_object(await self._ask(provider, "GET", root_url(provider, path))).get("value"))
        return told, path if told is not None else ""

    async def _ask(
        self, provider: Provider, method: str, url: str, body: Mapping[str, Any] | None = None
    ) -> object:
        """What is there, or ``None``: these paths are nobody's duty."""
        try:
            return as_json(await self._exchange(provider, method, url, body, timeout=LOOK_TIMEOUT))
        except ModelError:
            return None


def _one_token(provider: Provider, dialect: Dialect) -> dict[str, Any]:
    messages = dialect.messages((Message(role="user", content="Hello"),))
    body: dict[str, Any] = {"model": provider.model, "messages": [as_sent(each) for each in messages]}
    body = with_additional(body, provider.additional_parameters) | {dialect.limit: 1}
    body.pop("stream", None)
    body.pop("stream_options", None)
    return body


def _check_answer(content: bytes) -> None:
    """Raise what is wrong with an answer of status 200: a web page, an error inside it, no completion at all."""
    reader = AnswerReader()
    for _ in (*reader.feed(content), *reader.end()):
        pass


def _identity(provider: Provider) -> tuple[str, str]:
    return provider.base_url, provider.model


def _context_of(model: Mapping[str, Any]) -> int | None:
    # What is loaded now counts; what the model was trained for may be far more than this server gives it.
    told = _positive(as_object(model.get("meta")).get("n_ctx"))
    if told is None:
        told = next(filter(None, (_positive(model.get(name)) for name in _MODEL_LIST_CONTEXT)), None)
    top = _positive(as_object(model.get("top_provider")).get("context_length"))
    return told if top is None or told is None else min(told, top)


def _positive(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
