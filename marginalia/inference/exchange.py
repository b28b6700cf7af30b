"""One request and its whole answer: what is asked beside the answers that stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import anyio.to_thread

from marginalia.inference.client import OpenAIClient
from marginalia.inference.connection import connection
from marginalia.inference.errors import from_response
from marginalia.inference.wire import encoded
from marginalia.values import Provider

LOOK_TIMEOUT = 10.0
"""Seconds for what is nice to know."""

_COUNTS = ("input_tokens", "count", "length", "value", "total_tokens")


class Exchange:
    """Asks with the keys of *client*, and only the hosts that it may ask."""

    def __init__(self, client: OpenAIClient) -> None:
        self._client = client

    async def __call__(
        self,
        provider: Provider,
        method: str,
        url: str,
        body: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - given on to httpx
    ) -> bytes:
        """The content of the answer; raises :class:`ModelError` for one that is no success."""
        content = None if body is None else encoded(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        key = await anyio.to_thread.run_sync(self._client.key_of, provider)
        async with connection(provider, key, timeout=timeout, hosts=self._client.hosts) as client:
            response = await client.request(method, url, content=content, headers=headers)
            if not response.is_success:
                raise from_response(response.status_code, response.headers, response.content)
            return response.content


def as_json(content: bytes) -> object:
    """What *content* says; ``None`` when it is no JSON."""
    try:
        return json.loads(content)
    except ValueError:
        return None


def as_object(value: object) -> dict[str, Any]:
    """*value* if it is a JSON object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def number_of(found: object) -> int | None:
    """The number of tokens in the answer of a counting path, under whichever name it stands; ``None`` in any other."""
    known = as_object(found)
    for name in _COUNTS:
        if isinstance(known.get(name), int):
            return cast("int", known[name])
    tokens = known.get("tokens")
    return len(cast("list[object]", tokens)) if isinstance(tokens, list) else None
