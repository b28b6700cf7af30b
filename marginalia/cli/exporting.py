"""``marginalia export``."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from marginalia.cli.shop import book_called, lorebook_called, studio_for, write_file
from marginalia.cli.talk import Talk, sized
from marginalia.export import format_named
from marginalia.studio.names import file_name

STANDARD_OUTPUT = Path("-")


def run(options: Namespace, talk: Talk) -> int:
    """Write the active branch of a book, or a lorebook, to a file."""
    return _lore(options, talk) if options.lore else _story(options, talk)


def _story(options: Namespace, talk: Talk) -> int:
    path: Path | None = options.output
    suffix = "" if path is None or path == STANDARD_OUTPUT else path.suffix
    kind = format_named(options.format or suffix or "epub")
    with studio_for(options) as studio:
        book = book_called(studio, options.book)
        progress = talk.sharing(f"Writing {book.name!r} as {kind.name}")
        data = studio.story.export(
            book,
            kind.key,
            first=options.first,
            last=options.last,
            title=options.title,
            author=options.author,
            language=options.language,
            title_page=not options.no_title_page,
            contents=False if options.no_contents else None,
            breaks=options.breaks,
            progress=progress,
        )
    _deliver(data, path or Path(file_name(book.name) + kind.suffix), options, talk)
    talk.note(f"{kind.name}, {sized(len(data))}")
    return 0


def _lore(options: Namespace, talk: Talk) -> int:
    with studio_for(options) as studio:
        lorebook = lorebook_called(studio, options.book)
        talk.step(f"Writing the lorebook {lorebook.name!r}")
        written = studio.lorebooks.export(lorebook, options.format or "marginalia")
    _deliver(written, options.output or Path(written.file_name), options, talk)
    for loss in written.losses:
        talk.note(str(loss))
    return 0


def _deliver(data: bytes, target: Path, options: Namespace, talk: Talk) -> None:
    talk.done()
    if target == STANDARD_OUTPUT:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    write_file(target, data, force=options.force)
    talk.say(str(target))
