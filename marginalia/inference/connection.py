"""How a server is reached: addresses, proxies, certificates, time limits."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from urllib.parse import urlsplit

import anyio.to_thread
import httpx

from marginalia.errors import ModelError, ModelErrorKind
from marginalia.inference.discretion import keep_secret
from marginalia.inference.errors import LONGEST_DETAIL, model_error
from marginalia.inference.hosts import Hosts
from marginalia.inference.patience import Patience
from marginalia.values import Provider

_LONGEST_CONNECT = 30.0
_MARGIN = 5.0
_CHAT = "/chat/completions"
_SHORTEST_HALF = 4  # fewer characters of a key tell nothing
_UNREACHED = (
    "The server did not take the connection in time. Check that it runs, and the address of the model; "
    "a firewall in between may swallow what is sent."
)
EVERYWHERE = Hosts()
_READ = httpx.ByteStream(b"")


def api_url(provider: Provider, path: str) -> str:
    """The address of *path* below the provider's base URL."""
    base = provider.base_url.strip().rstrip("/").removesuffix(_CHAT)
    return f"{base}{path}"


def root_url(provider: Provider, path: str) -> str:
    """The address of *path* beside ``/v1``, where llama.cpp and vLLM keep their own paths."""
    base = provider.base_url.strip().rstrip("/").removesuffix(_CHAT).removesuffix("/v1")
    return f"{base}{path}"


def is_local(url: str) -> bool:
    """Whether *url* leads to this machine or its network, which no proxy should stand in front of."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith((".localhost", ".local")):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_private


@asynccontextmanager
async def connection(
    provider: Provider,
    key: str | None,
    *,
    timeout: float | None = None,  # noqa: ASYNC109 - given on to httpx
    hosts: Hosts = EVERYWHERE,
) -> AsyncGenerator[httpx.AsyncClient, None]:
    """A client for one exchange with *provider*; failures of the connection become :class:`ModelError`.

    A host that is not among *hosts* is not asked, whether the provider names it or a server leads there.

    There is one client per exchange, never a shared pool: bounded pools of httpx 0.28 leak a slot for every cancelled
    request, and between two parts of a story a kept connection would have been closed by the server anyway.
    """
    # White space around a key is never part of it, and a header with it would be refused in words that hold the key.
    key = (key or "").strip()
    keep_secret(key)
    try:
        hosts.check(provider.base_url)
        async with _client(provider, key, timeout, await _certificates(provider.base_url)) as client:
            answers = list[httpx.Response]()
            client.event_hooks = {"request": [_checked_by(hosts)], "response": [_noted_in(answers)]}
            try:
                yield client
            finally:
                while answers:  # a response and its stream hold each other, and all that was sent
                    answers.pop().stream = _READ
    except ModelError as error:
        raise _without_key(error, key) from error.__cause__
    except httpx.ConnectTimeout as error:
        raise ModelError(ModelErrorKind.TIMEOUT, _UNREACHED) from error
    except httpx.TimeoutException as error:
        raise model_error(ModelErrorKind.TIMEOUT) from error
    except httpx.ConnectError as error:
        raise ModelError(ModelErrorKind.CONNECTION, _nobody_at(provider), detail=str(error)) from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _without_key(model_error(ModelErrorKind.CONNECTION, str(error)), key) from error


def _client(
    provider: Provider, key: str, timeout: float | None, certificates: ssl.SSLContext
) -> httpx.AsyncClient:
    if key and not (key.isascii() and key.isprintable()):
        raise ModelError(
            ModelErrorKind.AUTH,
            "The API key has characters that no key has. Enter the key of this provider again.",
        )
    patience = Patience.of(provider)
    # The clocks of an answer are its own; these are for what is asked beside it, and a little longer than those.
    longest = timeout or patience.longest + _MARGIN
    headers = {"Accept": "text/event-stream, application/json", "Accept-Encoding": "identity"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        return httpx.AsyncClient(
            verify=certificates,
            trust_env=not is_local(provider.base_url),
            timeout=httpx.Timeout(
                longest, connect=min(_LONGEST_CONNECT, timeout or patience.first), pool=None
            ),
            headers=headers,
        )
    except (ImportError, ValueError) as error:
        # A proxy in the environment that is no address, or that needs a package which is not there.
        raise model_error(ModelErrorKind.CONNECTION, str(error)) from error


def _nobody_at(provider: Provider) -> str:
    place = urlsplit(provider.base_url).netloc.rpartition("@")[2]
    return f"The server at {place} cannot be reached. Check that it runs, and the address of the model."


def _checked_by(hosts: Hosts) -> Callable[[httpx.Request], Awaitable[None]]:
    async def check(request: httpx.Request) -> None:
        hosts.check(str(request.url))

    return check


def _noted_in(answers: list[httpx.Response]) -> Callable[[httpx.Response], Awaitable[None]]:
    async def note(response: httpx.Response) -> None:
        answers.append(response)

    return note


def _without_key(error: ModelError, key: str) -> ModelError:
    """*error* as it may be shown: some servers repeat the key that they refuse."""
    if key:
        error.detail = _hidden(error.detail, key)
        error.args = (f"{error.text} {error.detail}".strip(),)
    return error


def _hidden(words: str, key: str) -> str:
    """*words* without *key*, and without the half of it where they were cut in its middle."""
    shown = words.replace(key, "…")
    if len(words) < LONGEST_DETAIL:
        return shown
    halves = (key[:size] for size in range(len(key) - 1, _SHORTEST_HALF - 1, -1))
    half = next((each for each in halves if shown.endswith(each)), "")
    return f"{shown.removesuffix(half)}…" if half else shown


async def _certificates(url: str) -> ssl.SSLContext:
    if not url.strip().lower().startswith("https:"):
        return _no_certificates()
    return await anyio.to_thread.run_sync(_system_certificates)


@cache
def _no_certificates() -> ssl.SSLContext:
    # It trusts nobody, and a plain connection asks it nothing: reading certificates takes 0.2 s.
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@cache
def _system_certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context()


def missing_key(reference: str) -> ModelError:
    """The error for a key that a provider names and nobody has."""
    return ModelError(
        ModelErrorKind.AUTH,
        f"The API key “{reference}” is not set on this machine. Enter the key of this provider again.",
    )
