"""A server for several people asks only the hosts that are on its list."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest

from marginalia.errors import InvalidInput, ModelError, ModelErrorKind
from marginalia.inference import Models
from marginalia.inference.connection import connection
from marginalia.inference.hosts import Hosts
from marginalia.testing import ScriptedServer, Status, Stream
from marginalia.values import Message, Provider
from tests.inference.asking import ask, call

LIST = Hosts.listed("models.example, 127.0.0.1:8443 *.inner.example [::1]:8080 fe80::1")


@pytest.mark.parametrize(
    "url",
    [
        "https://models.example/v1",
        "http://MODELS.example:81/v1",
        "https://models.example./v1",
        "http://127.0.0.1:8443/v1",
        "https://a.inner.example/v1",
        "https://a.b.inner.example",
        "http://[::1]:8080/v1",
        "http://[fe80::1]/v1",
    ],
)
def test_a_host_on_the_list_is_asked(url: str) -> None:
    assert LIST.refusal(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://other.example/v1",
        "https://models.example.evil.example/v1",
        "https://xmodels.example/v1",
        "https://models.example@evil.example/v1",
        "https://evil.example/models.example",
        "https://evil.example#models.example",
        "https://evil.example\\@models.example.evil/v1",
        "http://127.0.0.1/v1",
        "http://127.0.0.1:8444/v1",
        "https://inner.example/v1",
        "https://xinner.example/v1",
        "https://.inner.example/v1",
        "http://[::1]/v1",
        "http://2130706433:8443/v1",
        "http://[::1/v1",
        "http://models.example:port/v1",
        "models.example/v1",
        "",
    ],
)
def test_a_host_that_is_not_on_the_list_is_named(url: str) -> None:
    error = LIST.refusal(url)
    if url == "http://models.example:port/v1":  # any port of it is allowed; no connection comes of it
        assert error is None
        return
    assert error is not None
    assert error.kind is ModelErrorKind.PERMISSION
    assert "allows only these hosts: models.example, 127.0.0.1:8443" in str(error)


def test_without_a_list_every_host_is_asked() -> None:
    assert Hosts.listed("").refusal("https://anything.example") is None
    assert Hosts.listed([]).names == ()


@pytest.mark.parametrize("word", ["https://models.example", "models.example/v1", "a b*", "x:y", "*", "[::1"])
def test_what_is_no_host_is_refused_with_examples(word: str) -> None:
    with pytest.raises(InvalidInput, match=r"models\.example:8443"):
        Hosts.listed([word])


async def test_no_request_of_any_kind_reaches_a_host_off_the_list() -> None:
    async with ScriptedServer(default=Stream("No.")) as server:
        models = Models(hosts=Hosts.listed("models.example"))
        provider = server.provider()
        asked = await ask(call(provider), models)
        assert asked.error is not None
        assert "does not ask “127.0.0.1”" in str(asked.error)
        for attempt in (models.probe(provider), models.list_models(provider)):
            with pytest.raises(ModelError, match=r"does not ask “127\.0\.0\.1”"):
                await attempt
        assert await models.count_tokens(provider, (Message(role="user", content="x"),)) is None
        assert server.requests == []


async def test_a_redirect_leads_nowhere_off_the_list() -> None:
    async with ScriptedServer(default=Stream("No.")) as elsewhere:
        away = Status(307, headers={"Location": f"{elsewhere.base_url}/chat/completions"})
        async with ScriptedServer(default=away, models=away) as server:
            hosts = Hosts.listed(httpx.URL(server.base_url).netloc.decode())
            models = Models(hosts=hosts)
            provider = replace(server.provider(), max_retries=0)
            assert (await ask(call(provider), models)).error is not None
            with pytest.raises(ModelError):
                await models.probe(provider)
            # Nobody follows redirects today. Whoever does one day is stopped at the list.
            with pytest.raises(ModelError, match=r"does not ask “127\.0\.0\.1”"):
                async with connection(provider, None, hosts=hosts) as client:
                    await client.post(f"{server.base_url}/chat/completions", json={}, follow_redirects=True)
        assert elsewhere.requests == []


async def test_the_bundled_model_is_on_no_list_and_allowed() -> None:
    models = Models(hosts=Hosts.listed("models.example"))
    async with ScriptedServer([Stream("Yes.")]) as server:
        local = models._local_client
        async with local.stream(call(server.provider())) as arrivals:
            assert [each async for each in arrivals]
        assert models.supports(Provider(kind="bundled"))
