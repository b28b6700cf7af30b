"""``marginalia doctor``: what is here, what is wrong with it, and what to do."""

from __future__ import annotations

import locale
import os
import platform
import shutil
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from marginalia.cli.talk import Talk, sized
from marginalia.errors import MarginaliaError, StoreLocked
from marginalia.inference import KeyStore, LocalModel, LocalStatus
from marginalia.store import database_path, home_folder
from marginalia.store.backup_copies import listed
from marginalia.store.backup_verify import verify_own
from marginalia.studio import Studio
from marginalia.studio.shelf import BACKUPS

_LIBRARIES = (
    "panel",
    "bokeh",
    "panel-material-ui",
    "duckdb",
    "httpx",
    "jinja2",
    "python-docx",
    "fpdf2",
    "uharfbuzz",
    "xllamacpp",
)
_LITTLE_SPACE = 500_000_000
_LARGE_JOURNAL = 50_000_000
_OLD_COPY = timedelta(days=8)
_OPEN_TO_OTHERS = 0o077


class Level(StrEnum):
    """How bad a finding is."""

    WELL = "ok"
    ODD = "look"
    BAD = "BAD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at: how it is, and what to do if it is not well."""

    what: str
    said: str
    level: Level = Level.WELL
    advice: str = ""


def run(options: Namespace, talk: Talk) -> int:
    """Look at everything and tell it; 1 when something is broken."""
    home, database = home_folder(), database_path()
    worst = Level.WELL
    for finding in examine(home, database, options.user, now=datetime.now(UTC)):
        talk.say(f"{finding.level.value:>4}  {finding.what}: {finding.said}")
        if finding.advice:
            talk.say(f"      {finding.advice}")
        worst = Level.BAD if Level.BAD in {worst, finding.level} else worst
    return 1 if worst is Level.BAD else 0


def examine(home: Path, database: Path, user: str, *, now: datetime) -> Iterator[Finding]:
    """Everything there is to say, one by one, as it is found out."""
    yield from _versions()
    yield _encoding()
    yield _home(home)
    yield from _space(home)
    whole = True
    for finding in _database(database):
        whole = whole and finding.level is not Level.BAD and "in use" not in finding.said
        yield finding
    yield _copies(home / BACKUPS, database, now)
    yield _model(home)
    yield from _keys(home)
    if whole and database.exists():
        yield from _connections(user)


def _versions() -> Iterator[Finding]:
    python = platform.python_version()
    yield Finding(what="Python", said=f"{python} on {platform.system()} {platform.machine()}")
    yield Finding(what="Marginalia", said=_version_of("marginalia"))
    found = [f"{name} {_version_of(name)}" for name in _LIBRARIES]
    yield Finding(what="Libraries", said=", ".join(found))


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _encoding() -> Finding:
    names = {
        "terminal": sys.stdout.encoding or "none",
        "files": sys.getfilesystemencoding(),
        "locale": locale.getpreferredencoding(do_setlocale=False),
    }
    said = ", ".join(f"{what} {name}" for what, name in names.items())
    odd = [what for what, name in names.items() if name.lower().replace("-", "") != "utf8"]
    if not odd:
        return Finding(what="Encodings", said=said)
    advice = "Names and texts may be shown with ? in them. Set PYTHONUTF8=1, or a UTF-8 locale."
    return Finding(what="Encodings", said=said, level=Level.ODD, advice=advice)


def _home(home: Path) -> Finding:
    if not home.exists():
        return Finding(what="Home", said=f"{home} will be made at the first start")
    if not home.is_dir():
        advice = "Choose another folder with --home or MARGINALIA_HOME."
        return Finding(what="Home", said=f"{home} is no folder", level=Level.BAD, advice=advice)
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        advice = (
            "Give yourself the right to read and write it, or choose another folder with MARGINALIA_HOME."
        )
        return Finding(what="Home", said=f"{home} cannot be written", level=Level.BAD, advice=advice)
    return Finding(what="Home", said=str(home))


def _space(home: Path) -> Iterator[Finding]:
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    if free < _LITTLE_SPACE:
        advice = "Free some space: the database cannot be copied or tidied without, and writing ends when it is full."
        yield Finding(what="Disk", said=f"only {sized(free)} free", level=Level.BAD, advice=advice)
    else:
        yield Finding(what="Disk", said=f"{sized(free)} free")


def _database(database: Path) -> Iterator[Finding]:
    if not database.exists():
        yield Finding(what="Database", said=f"{database} will be made at the first start")
        return
    size = database.stat().st_size
    try:
        examined = verify_own(database)
    except StoreLocked as error:
        yield Finding(what="Database", said=f"{sized(size)}, in use and not read. {error}")
        return
    except MarginaliaError as error:
        advice = (
            "If that does not help: marginalia backup list shows the copies, and marginalia backup put-back FILE puts "
            "one back."
        )
        yield Finding(what="Database", said=str(error), level=Level.BAD, advice=advice)
        return
    rows = examined.rows
    counts = ", ".join(f"{rows.get(table, 0)} {table}s" for table in ("book", "part", "lorebook", "receipt"))
    yield Finding(what="Database", said=f"{sized(size)}, schema {examined.schema}, every row read: {counts}")
    for problem in examined.problems:
        advice = "Nothing is lost by it; please report it with this output."
        yield Finding(what="Database", said=problem, level=Level.ODD, advice=advice)
    yield from _journal(database)


def _journal(database: Path) -> Iterator[Finding]:
    journal = database.with_name(database.name + ".wal")
    size = journal.stat().st_size if journal.exists() else 0
    if size > _LARGE_JOURNAL:
        advice = "It is merged at the next start; keep it beside the database until then."
        yield Finding(what="Journal", said=sized(size), level=Level.ODD, advice=advice)


def _copies(folder: Path, database: Path, now: datetime) -> Finding:
    copies = listed(folder)
    if not copies:
        advice = "Make one with: marginalia backup database" if database.exists() else ""
        level = Level.ODD if database.exists() else Level.WELL
        return Finding(what="Copies", said="none yet", level=level, advice=advice)
    said = f"{len(copies)}, the newest of {copies[0].taken:%Y-%m-%d %H:%M} UTC"
    if now - copies[0].taken > _OLD_COPY:
        advice = "Make a new one with: marginalia backup database"
        return Finding(what="Copies", said=said, level=Level.ODD, advice=advice)
    return Finding(what="Copies", said=said)


def _model(home: Path) -> Finding:
    local = LocalModel(home)
    if local.status is not LocalStatus.ABSENT:
        return Finding(what="Bundled model", said="installed")
    return Finding(what="Bundled model", said="not installed", level=Level.ODD, advice=local.why_absent())


def _keys(home: Path) -> Iterator[Finding]:
    secrets = {
        "keys": "your API keys",
        "cookie-secret": "what signs who is signed in",
        "people": "who signs in",
    }
    for path in sorted(home.glob("*")):
        if path.name.partition(".")[0] not in secrets or not path.is_file():
            continue
        if os.name != "posix" or not path.stat().st_mode & _OPEN_TO_OTHERS:
            continue
        what = secrets[path.name.partition(".")[0]]
        advice = f"Other people on this machine can read {what}. Forbid it with: chmod 600 {path}"
        yield Finding(what="Keys", said=f"{path} is readable by others", level=Level.BAD, advice=advice)


def _connections(user: str) -> Iterator[Finding]:
    """The connections to models, without asking any server."""
    try:
        with Studio(user=user, extensions=()) as studio:
            yield from list(_connected(studio, studio.keys))
    except MarginaliaError as error:
        yield Finding(what="Studio", said=str(error), level=Level.BAD)


def _connected(studio: Studio, keys: KeyStore) -> Iterable[Finding]:
    for provider in studio.providers.all():
        what, said = f"Model {provider.name!r}", provider.base_url or provider.kind
        if not studio.models.supports(provider):
            yield Finding(what=what, said=f"{said}: no way to ask it", level=Level.ODD)
        elif refusal := studio.models.client.hosts.refusal(provider.base_url):
            yield Finding(what=what, said=refusal.text, level=Level.ODD)
        elif provider.key_ref and keys.get(provider.key_ref) is None:
            advice = "Enter its key again in the settings, or set the environment variable that it names."
            yield Finding(what=what, said=f"{said}: its key is missing", level=Level.ODD, advice=advice)
        else:
            yield Finding(what=what, said=said)
