"""What a page has shown is freed when it shows something else, so that memory is flat while full collections wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from weakref import ref

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
from marginalia.ui.components.base import Piece
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
async def served(*shown: Piece) -> AsyncGenerator[Document]:
    """The document of a session that a real server holds; no browser has come to it."""

    def build(doc: Document) -> None:
        for each in shown:
            each.server_doc(doc)

    extension()
    server = ApplicationContext(Application(FunctionHandler(build)), io_loop=IOLoop.current())
    asked = HTTPServerRequest(start_line=RequestStartLine("GET", "/", "HTTP/1.0"))
    session = await server.create_session_if_needed(ID("one"), asked)
    with set_curdoc(session.document):
        yield session.document
    session.destroy()


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
    async with served(keys) as document:
        event = DataEvent(model=document.roots[0], data={"do": "key"})
        said = ref(event)
        with left_behind():
            keys._process_event(event)
            del event
            await heard.wait()
            await until(lambda: said() is None)
