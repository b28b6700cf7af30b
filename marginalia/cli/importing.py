"""``marginalia import``."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from marginalia.cli.shop import studio_for
from marginalia.cli.talk import Talk
from marginalia.errors import FormatError, MarginaliaError
from marginalia.store.backup_file import is_backup
from marginalia.studio import Studio


def run(options: Namespace, talk: Talk) -> int:
    """Import the files one by one; a file that cannot be read does not hold up the others."""
    failed = 0
    with studio_for(options) as studio:
        for number, path in enumerate(options.files, 1):
            talk.step(f"[{number}/{len(options.files)}] {path.name}")
            try:
                said = _import(studio, path, options.kind)
            except (MarginaliaError, OSError) as error:
                failed += 1
                why = error.strerror if isinstance(error, OSError) else str(error)
                talk.fail(f"{path}: {why}")
            else:
                talk.done()
                talk.say(said)
    if failed:
        talk.note(f"{failed} of {len(options.files)} files were not imported.")
    return 1 if failed else 0


def _import(studio: Studio, path: Path, kind: str | None) -> str:
    data = path.read_bytes()
    if kind == "book" or (kind is None and is_backup(data)):
        return f"{path}: the book {studio.books.clone(data).name!r}"
    readers: dict[str, Callable[[Studio, Path], str]] = {"lore": _lore, "story": _story}
    refusals: dict[str, list[str]] = {}
    for name in readers if kind is None else (kind,):
        try:
            return readers[name](studio, path)
        except FormatError as error:
            refusals.setdefault(str(error), []).append(name)
    raise FormatError(" ".join(f"As {' and '.join(names)}: {said}" for said, names in refusals.items()))


def _lore(studio: Studio, path: Path) -> str:
    return f"{path}: {studio.lorebooks.import_file(path)}"


def _story(studio: Studio, path: Path) -> str:
    return f"{path}: {studio.import_story(path)}"
