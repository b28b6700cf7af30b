"""What a page has shown is freed when it shows something else, so that memory is flat while full collections wait."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from weakref import ref

import panel as pn
import pytest
from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.core.types import ID
from bokeh.document import Document
from bokeh.server.contexts import ApplicationContext
from panel.io.state import set_curdoc
from panel.models.esm import DataEvent
from tornado.httputil import HTTPServerRequest, RequestStartLine
from tornado.ioloop import IOLoop

from marginalia import Studio
from marginalia.testing import ScriptedServer, Stream
from marginalia.ui.app import Session, extension
from marginalia.ui.components import Keys
from marginalia.ui.desk import Desk
from tests.garbage import left_behind
from tests.ui.test_desk import until


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer(default=lambda _: Stream("Once ", "more.")) as server:
        yield server


@pytest.fixture
async def studio(server: ScriptedServer) -> AsyncIterator[Studio]:
    async with Studio(":memory:", extensions=()) as studio:
        provider = studio.providers.create(
            name="Scripted", base_url=server.base_url, model="m", max_context=4096, max_response=200
        )
        book = studio.books.create(name="B", provider=provider, protocol=studio.protocols.create(name="P"))
        studio.story.append(book, "Once.")
        yield studio


@asynccontextmanager
async def served(build: Callable[[Document], None] = lambda doc: None) -> AsyncGenerator[Document]:
    """The document of a session that a real server holds; no browser has come to it."""
    extension()
    server = ApplicationContext(Application(FunctionHandler(build)), io_loop=IOLoop.current())
    asked = HTTPServerRequest(start_line=RequestStartLine("GET", "/", "HTTP/1.0"))
    session = await server.create_session_if_needed(ID("one"), asked)
    with set_curdoc(session.document):
        yield session.document
    await server._discard_session(session, lambda _: True)


async def type_and_write(desk: Desk, words: str) -> None:
    assert desk.shape is not None
    before, parts = desk.prompt, len(desk.shape.branch)
    desk.typed({"instructions": words})
    await until(lambda: desk.prompt is not before)
    await desk.generate()
    await until(lambda: not desk.running and len(desk.shape.branch) > parts)
    await asyncio.sleep(0.1)


async def test_typing_and_writing_leave_nothing_to_a_garbage_collection(studio: Studio) -> None:
    async with served():
        desk = Session(studio).desk
        await desk.open()
        await type_and_write(desk, "The tide comes in.")
        with left_behind() as names:
            for words in ("The tide goes out.", "The boats lie dry.", "The bell rings."):
                await type_and_write(desk, words)
        assert not names
        desk.close()
        await asyncio.sleep(0)


async def test_what_the_browser_said_is_let_go_of_once_it_was_answered() -> None:
    keys, heard = Keys(), asyncio.Event()
    keys.hear(key=lambda _: heard.set())

    def build(document: Document) -> None:
        keys.server_doc(document)

    async with served(build) as document:
        event = DataEvent(model=document.roots[0], data={"do": "key"})
        said = ref(event)
        with left_behind():
            keys._process_event(event)
            del event
            await heard.wait()
            await until(lambda: said() is None)


async def test_a_page_is_freed_after_its_session_ended(studio: Studio) -> None:
    async with served():
        session = ref(Session(studio))

    def freed() -> bool:
        with suppress(KeyError):
            pn.state.cancel_task("gc.collect")  # Panel's own, which holds the page for some seconds
        gc.collect()
        return session() is None

    await until(freed)
