"""``marginalia backup``: books and the whole database."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from marginalia.cli.shop import book_called, studio_for, write_file
from marginalia.cli.talk import Talk, sized
from marginalia.errors import InvalidInput, MarginaliaError
from marginalia.store import database_path
from marginalia.store.backup_copies import Keep, listed, put_back
from marginalia.store.backup_verify import verify
from marginalia.store.mending import mend
from marginalia.studio.names import file_name
from marginalia.studio.shelf import BACKUPS, BackupContents

SUFFIX = ".marginalia"
_NONE_YET = "There is no copy yet; make one with: marginalia backup database"


def run(options: Namespace, talk: Talk) -> int:
    """Do one of the actions."""
    return _ACTIONS[options.action](options, talk)


def _book(options: Namespace, talk: Talk) -> int:
    with studio_for(options) as studio:
        book = book_called(studio, options.book)
        data = studio.books.backup(book, progress=talk.sharing(f"Backing up {book.name!r}"))
        contents = studio.books.contents(data)
    talk.done()
    target = options.output or Path(f"{file_name(book.name)}-{contents.created:%Y%m%d-%H%M%S}{SUFFIX}")
    write_file(target, data, force=options.force)
    talk.say(str(target))
    talk.note(f"{sized(len(data))}: {_counts(contents)}")
    return 0


def _show(options: Namespace, talk: Talk) -> int:
    data = options.file.read_bytes()
    with studio_for(options) as studio:
        contents = studio.books.contents(data)
    taken, made_by = contents.created.astimezone(UTC), contents.made_by or "unknown"
    talk.say(f"{contents.name} ({taken:%Y-%m-%d %H:%M} UTC, Marginalia {made_by})")
    talk.say(_counts(contents))
    for note in contents.notes:
        talk.note(note)
    return 0


def _restore(options: Namespace, talk: Talk) -> int:
    if options.into is None and options.story_only:
        raise InvalidInput("--story-only says what of a book stays; name the book with --into.")
    if options.into is not None and options.name is not None:
        raise InvalidInput("--name is for a new book. With --into the book is called as in the backup.")
    data = options.file.read_bytes()
    with studio_for(options) as studio:
        talk.step("Checking the backup")
        contents = studio.books.contents(data)
        progress = talk.sharing(f"Restoring {contents.name!r}")
        if options.into is None:
            book = studio.books.clone(data, name=options.name, progress=progress)
        else:
            target = book_called(studio, options.into)
            book = studio.books.restore(target, data, story_only=options.story_only, progress=progress)
    talk.done()
    talk.say(f"{book.name} (book {book.id})")
    talk.note(_counts(contents))
    for note in contents.notes:
        talk.note(note)
    return 0


def _database(options: Namespace, talk: Talk) -> int:
    keep = Keep(recent=options.keep, weeks=options.weeks)
    with studio_for(options) as studio:
        talk.step("Copying the database and reading the copy")
        copy = studio.copies.take()
        gone = studio.copies.prune(keep)
    talk.done()
    talk.say(str(copy.path))
    talk.note(f"{sized(copy.size)}; {len(gone)} older copies were deleted.")
    return 0


def _list(_: Namespace, talk: Talk) -> int:
    copies = listed(database_path().parent / BACKUPS)
    for copy in copies:
        talk.say(f"{copy.taken:%Y-%m-%d %H:%M} UTC  {sized(copy.size):>10}  {copy.path}")
    if not copies:
        talk.note(_NONE_YET)
    return 0


def _verify(options: Namespace, talk: Talk) -> int:
    paths = options.files or [copy.path for copy in listed(database_path().parent / BACKUPS)]
    failed = 0
    if not paths:
        talk.note(_NONE_YET)
    for number, path in enumerate(paths, 1):
        talk.step(f"[{number}/{len(paths)}] {path.name}")
        try:
            examined = verify(path)
            problems = examined.problems
        except MarginaliaError as error:
            problems = (str(error),)
        talk.done()
        failed += bool(problems)
        talk.say(f"{path}: {' '.join(problems) or 'whole'}")
    return 1 if failed else 0


def _put_back(options: Namespace, talk: Talk) -> int:
    database = database_path()
    talk.step("Reading the copy")
    aside = put_back(options.file, database, now=datetime.now(UTC), anyway=options.anyway)
    talk.done()
    talk.say(str(database))
    for path in aside:
        talk.note(f"What was there is now {path}.")
    return 0


def _mend(_: Namespace, talk: Talk) -> int:
    talk.step("Reading the journal")
    mended = mend(database_path(), now=datetime.now(UTC))
    talk.done()
    talk.say(f"{sized(mended.kept)} of {sized(mended.bytes)} of the journal were saved.")
    for path in mended.aside:
        talk.note(f"What was there is now {path}.")
    return 0


def _counts(contents: BackupContents) -> str:
    lore = f", lore: {', '.join(contents.lorebooks)}" if contents.lorebooks else ""
    return (
        f"{contents.parts} parts ({contents.words} words) with {contents.texts} texts, {contents.summaries} summaries, "
        f"{contents.receipts} receipts{lore}"
    )


_ACTIONS: Mapping[str, Callable[[Namespace, Talk], int]] = {
    "book": _book,
    "show": _show,
    "restore": _restore,
    "database": _database,
    "list": _list,
    "verify": _verify,
    "put-back": _put_back,
    "mend": _mend,
}
