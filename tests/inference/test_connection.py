"""What an exchange with a server leaves behind."""

from __future__ import annotations

from weakref import ref

from marginalia.inference.connection import api_url, connection
from marginalia.testing import ScriptedServer
from marginalia.values import Provider
from tests.garbage import left_behind


async def test_a_response_is_freed_with_its_exchange_and_all_that_was_sent_with_it() -> None:
    async with ScriptedServer(models=("m",)) as server:
        provider = Provider(base_url=server.base_url, model="m")
        with left_behind():
            async with connection(provider, None) as client:
                response = await client.get(api_url(provider, "/models"))
            answer = ref(response)
            del response
            assert answer() is None
