"""An API key goes to its server and stays in its file: nothing that is shown, logged, stored or exported has it."""

from __future__ import annotations

import io
import json
import logging
import traceback
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pytest
from bokeh.document import Document

import marginalia as mg
from marginalia.cli import main
from marginalia.errors import ModelError
from marginalia.export import FORMATS
from marginalia.testing import Raw, Refuse, ScriptedServer, Silent, Status, Stream, WordTokenizer
from marginalia.testing.answers import Answer, event
from marginalia.ui.app import Session
from marginalia.ui.connecting import save_provider, try_connection
from marginalia.ui.settings import Sheets
from marginalia.values import Book, Provider

SECRET = "Xq7vKd93"
KEY = f"sk-{SECRET}-{SECRET}-pZ"  # half of it is found, too
WORDS = f"Incorrect API key provided: {KEY}. You sent Authorization: Bearer {KEY}."
ERROR = {"error": {"message": WORDS, "type": "invalid_request_error", "code": "invalid_api_key"}}
FAILURES: dict[str, Answer] = {
    "refused, with the key in its words": Status(401, ERROR),
    "forbidden": Status(403, {"detail": [{"msg": WORDS, "loc": ["header", "authorization"]}]}),
    "the key where the words are cut": Status(400, {"error": {"message": "." * 385 + KEY}}),
    "the key in a text that is no JSON": Raw(data=WORDS.encode(), status=500, content_type="text/plain"),
    "the key in a page": Raw(data=f"<html><title>{KEY}</title></html>".encode(), status=502),
    "an error in the stream": Raw(data=event(delta={"content": "Half "}) + event(**ERROR)),
    "a refusal in the stream": Raw(data=event(delta={"refusal": WORDS}) + b"data: [DONE]\n\n"),
    "a limit": Status(429, ERROR, {"Retry-After": "3600"}),
    "a stream that breaks off": Stream("Half ", "a loaf", disconnect_after=1),
    "silence": Silent(headers=True),
    "nobody there": Refuse(),
}


@dataclass
class Room:
    """A studio with a book whose server wants the key, and everything that was seen of it."""

    home: Path
    studio: mg.Studio
    server: ScriptedServer
    book: Book
    provider: Provider
    seen: dict[str, object] = field(default_factory=dict[str, object])

    async def write(self, answer: Answer) -> mg.Outcome:
        self.server.script(answer)
        run = self.studio.generate(self.book, mg.Turn(instructions="Go on."))
        outcome = await run.settled()
        self.seen[f"run {len(self.seen)}"] = [
            run,
            outcome,
            run.error,
            run.receipt,
            list(shown(outcome.error)),
        ]
        return outcome


@pytest.fixture
async def room(home_of_its_own: Path) -> AsyncIterator[Room]:
    async with ScriptedServer() as server, mg.Studio(tokenizer=WordTokenizer(), extensions=()) as studio:
        made = Provider(name="Rude", base_url=server.base_url, model="m", max_context=4000, max_response=200)
        provider = save_provider(studio, made, KEY)
        provider = studio.providers.save(provider_with(provider, timeout=1, max_retries=0))
        book = studio.books.create(
            name="Salt", provider=provider, protocol=studio.protocols.create(name="Plain", temperature=0.7)
        )
        yield Room(home_of_its_own, studio, server, book, provider)


def provider_with(provider: Provider, **values: object) -> Provider:
    return Provider(**({name: getattr(provider, name) for name in Provider.__slots__} | values))  # type: ignore[arg-type]


def shown(error: BaseException | None) -> Iterator[str]:
    """An error in every form in which somebody may read it, with all that led to it."""
    waiting, known = [error], set[int]()
    while waiting:
        if (each := waiting.pop()) is not None and id(each) not in known:
            known.add(id(each))
            waiting += [each.__cause__, each.__context__]
            yield from (str(each), repr(each), str(vars(each)), *traceback.format_exception(each))


def has_key(found: object) -> bool:
    return SECRET in (found if isinstance(found, str) else f"{found} {found!r}")


def unpacked(data: bytes) -> Iterator[bytes]:
    """*data*, and what is in it when it is an archive."""
    yield data
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield from unpacked(archive.read(name))


def rows(database: Path) -> Iterator[str]:
    """Every row of every table."""
    with duckdb.connect(str(database), read_only=True) as connection:
        for (table,) in connection.sql("SELECT table_name FROM duckdb_tables()").fetchall():
            yield from map(repr, connection.sql(f'SELECT * FROM "{table}"').fetchall())  # noqa: S608 - our own tables


def files_with_key(home: Path) -> list[str]:
    files = [file for file in home.rglob("*") if file.is_file()]
    assert files
    return [
        str(file) for file in files if any(SECRET.encode() in each for each in unpacked(file.read_bytes()))
    ]


async def everything_written(room: Room) -> None:
    assert (await room.write(Stream("The lamp ", "went out."))).error is None
    for name, answer in FAILURES.items():
        outcome = await room.write(answer)
        assert isinstance(outcome.error, ModelError), name


async def test_what_a_generation_shows_logs_and_stores_has_no_key_whether_it_succeeds_or_fails(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await everything_written(room)
    sent = room.server.completions
    assert {each.headers["authorization"] for each in sent} == {f"Bearer {KEY}"}
    studio = room.studio
    room.seen |= {
        "studio": [studio, studio.models, vars(studio.models), studio.keys, studio.models.client],
        "providers": [studio.providers.all(), room.provider],
        "receipts": [studio.story.receipt(part) for part in studio.story.branch(room.book)],
        "story": studio.story.branch(room.book),
        "requests": [each.raw for each in sent],
    }
    assert [name for name, found in room.seen.items() if has_key(found)] == []
    assert caplog.records
    assert not any(has_key(record.getMessage()) or has_key(vars(record)) for record in caplog.records)


async def test_testing_a_connection_shows_no_key(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for models in (("m",), Status(401, ERROR), Status(500, ERROR)):
        for answer in (Stream("Hello"), Status(401, ERROR), Status(400, ERROR)):
            room.server.models = models
            room.server.script(answer)
            try:
                told = [await try_connection(room.studio, room.provider, typed) for typed in ("", KEY)]
            except ModelError as error:
                told = list(shown(error))
            assert not has_key(told)
    assert not has_key(caplog.text)


async def test_the_page_has_no_key_also_where_the_key_is_entered(room: Room) -> None:
    await everything_written(room)
    session, document = Session(room.studio), Document()
    session.page.server_doc(document)
    await session.desk.open()
    for name in ("settings", "connect"):
        _, sections = Sheets(session.desk).sections(name)
        assert '"key"' in json.dumps(sections)
        assert not has_key(json.dumps(sections))
    assert not has_key(json.dumps(document.to_json(), default=str))
    assert not has_key(document.to_json())
    session.desk.close()


async def test_backups_exports_and_prompts_to_copy_have_no_key(room: Room) -> None:
    await everything_written(room)
    studio, book = room.studio, room.book
    made: dict[str, Callable[[], bytes]] = {
        "backup": lambda: studio.books.backup(book),
        **{name: lambda name=name: studio.story.export(book, name) for name in FORMATS},
    }
    for name, make in made.items():
        assert not any(SECRET.encode() in each for each in unpacked(make())), name
    prompt = await studio.preview(book, mg.Turn(instructions="Go on."))
    for form in ("text", "json", "curl"):
        assert not has_key(studio.inspector.export(book, prompt, form))  # type: ignore[arg-type]
    assert "$API_KEY" in studio.inspector.export(book, prompt, "curl")


async def test_no_file_in_the_home_has_the_key_and_its_own_is_sealed(
    room: Room, capsys: pytest.CaptureFixture[str]
) -> None:
    await everything_written(room)
    room.studio.books.restore(room.book, room.studio.books.backup(room.book))  # keeps what it replaces
    copy = room.studio.copies.take()
    await room.studio.aclose()
    assert room.studio.keys.get(room.provider.key_ref) == KEY
    assert files_with_key(room.home) == []
    for database in (room.home / "marginalia.db", copy.path):
        stored = list(rows(database))
        assert any("The lamp went out." in row for row in stored)
        assert not any(map(has_key, stored))
    main(["doctor"])
    told = capsys.readouterr()
    assert "Rude" in told.out
    assert not has_key(told.out + told.err)
