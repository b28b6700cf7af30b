"""What an exchange with a server leaves behind."""

from __future__ import annotations

from weakref import ref

import pytest

from marginalia.errors import ModelError, ModelErrorKind
from marginalia.inference.connection import api_url, connection
from marginalia.testing import ScriptedServer
from marginalia.values import Provider
from tests.garbage import left_behind


async def test_a_server_that_is_not_there_is_named_without_its_secrets() -> None:
    provider = Provider(base_url="http://me:hidden@127.0.0.1:9/v1", model="m")
    with pytest.raises(ModelError) as told:
        async with connection(provider, "sk-secret") as client:
            await client.get(api_url(provider, "/models"))
    assert told.value.kind is ModelErrorKind.CONNECTION
    assert str(told.value).startswith(
        "The server at 127.0.0.1:9 cannot be reached. Check that it runs, and the address of the model."
    )
    assert "hidden" not in str(told.value)


async def test_a_response_is_freed_with_its_exchange_and_all_that_was_sent_with_it() -> None:
    async with ScriptedServer(models=("m",)) as server:
        provider = Provider(base_url=server.base_url, model="m")
        with left_behind():
            async with connection(provider, None) as client:
                response = await client.get(api_url(provider, "/models"))
            answer = ref(response)
            del response
            assert answer() is None
