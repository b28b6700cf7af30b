"""What can be asked for on the command line."""

from __future__ import annotations

import argparse
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - it has no public name
_FORMATS = "md, txt, html, epub, docx or pdf"


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog="marginalia", description="Write long fiction with a language model, and see what it is sent."
    )
    top.add_argument(
        "--home",
        type=Path,
        metavar="FOLDER",
        help="where the database is (else MARGINALIA_HOME, else the system's folder for user data)",
    )
    top.add_argument("--version", action="version", version=f"Marginalia {_version()}")
    top.add_argument("--user", default="local", help="whose books (default: local)")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _serve(commands)
    _import(commands)
    _export(commands)
    _backup(commands)
    _user(commands)
    commands.add_parser("doctor", help="look for trouble, and say what to do about it")
    return top


def _serve(commands: Commands) -> None:
    serve = commands.add_parser("serve", help="start the app for a browser")
    serve.add_argument(
        "--address", default="127.0.0.1", help="on which address to listen (default: this machine only)"
    )
    serve.add_argument("--port", type=_port, default=5006, help="default: 5006; 0 takes a free one")
    serve.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="HOST[:PORT]",
        help="a name by which browsers reach the app, for instance behind a proxy; may be repeated",
    )
    _serve_people(serve)
    serve.add_argument("--show", action="store_true", help="open a browser")
    serve.add_argument(
        "--copy-every",
        type=_hours,
        default=24.0,
        metavar="HOURS",
        help="copy the database (default: 24; 0: never)",
    )


def _serve_people(serve: argparse.ArgumentParser) -> None:
    """What a server for several people wants to know."""
    serve.add_argument(
        "--auth",
        type=Path,
        nargs="?",
        const=Path(),  # where the home folder is, --home may still say
        metavar="FILE",
        help="ask for a name and a password; see marginalia user (default FILE: people.json in the home folder)",
    )
    serve.add_argument(
        "--oauth",
        metavar="PROVIDER",
        help="let another service say who it is: github, google, okta, auth0, azure, generic …; its key and secret "
        "stand in PANEL_OAUTH_KEY and PANEL_OAUTH_SECRET",
    )
    serve.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="with --oauth: who may come in, a name or *@DOMAIN; may be repeated",
    )
    serve.add_argument(
        "--without-login",
        action="store_true",
        help="listen beyond this machine without a login: whoever reaches the address reads and writes your books",
    )
    serve.add_argument("--prefix", default="", metavar="PATH", help="the path of the app, behind a proxy")
    serve.add_argument(
        "--behind-proxy",
        action="store_true",
        help="believe what the proxy says about the browser's address and protocol",
    )
    _serve_limits(serve)


def _serve_limits(serve: argparse.ArgumentParser) -> None:
    """What each of them may ask."""
    serve.add_argument(
        "--provider-host",
        action="append",
        default=[],
        metavar="HOST[:PORT]",
        help="a host that models may be asked at; may be repeated (default: any)",
    )
    for what, called, usual in (("runs", "generations", 4), ("summaries", "summaries", 2)):
        serve.add_argument(
            f"--{what}-per-user",
            type=_count,
            metavar="N",
            help=f"how many {called} each person may have going at once; 0: any number (default: {usual} with a login)",
        )


def _import(commands: Commands) -> None:
    importing = commands.add_parser("import", help="bring in lorebooks, cards, stories and backups of books")
    importing.add_argument(
        "files", type=Path, nargs="+", metavar="FILE", help="what to import; its content says what kind it is"
    )
    importing.add_argument(
        "--as",
        dest="kind",
        choices=("lore", "story", "book"),
        help="what the files are (default: told by content)",
    )


def _export(commands: Commands) -> None:
    export = commands.add_parser("export", help="write the active branch of a book, or a lorebook, to a file")
    export.add_argument("book", help="its name, number or identifier")
    export.add_argument("--lore", action="store_true", help="it is a lorebook")
    export.add_argument(
        "-f",
        "--format",
        help=f"{_FORMATS} (default: by the file's name, else epub); with --lore: marginalia, sillytavern, …",
    )
    export.add_argument("-o", "--output", type=Path, metavar="FILE", help="- is standard output")
    export.add_argument("--force", action="store_true", help="replace the file if it is there")
    export.add_argument("--from", dest="first", type=int, metavar="N", help="the first part, counted from 1")
    export.add_argument("--to", dest="last", type=int, metavar="N", help="the last part")
    export.add_argument("--title", help="default: the book's name")
    export.add_argument("--author", default="", help="who stands on the title page")
    export.add_argument("--language", default="en", metavar="TAG", help="of the story (default: en)")
    export.add_argument("--no-title-page", action="store_true", help="leave out the title page")
    export.add_argument("--no-contents", action="store_true", help="leave out the table of contents")
    export.add_argument("--breaks", action="store_true", help="a scene break between parts")


def _backup(commands: Commands) -> None:
    backup = commands.add_parser("backup", help="keep and bring back books, or the whole database")
    actions = backup.add_subparsers(dest="action", required=True, metavar="ACTION")
    book = actions.add_parser("book", help="write one file with everything of a book")
    book.add_argument("book", help="the book's name, number or identifier")
    book.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="where to (default: here, under the name of the book and the time)",
    )
    book.add_argument("--force", action="store_true", help="replace the file if it is there")
    show = actions.add_parser("show", help="check a backup of a book, and say what is in it")
    show.add_argument("file", type=Path, help="a backup of a book")
    restore = actions.add_parser("restore", help="bring a book back from its backup")
    restore.add_argument("file", type=Path, help="a backup of a book")
    restore.add_argument("--into", metavar="BOOK", help="replace this book (default: make a new one)")
    restore.add_argument(
        "--story-only", action="store_true", help="with --into: leave its settings as they are"
    )
    restore.add_argument("--name", help="of the new book")
    _copies(actions)


def _copies(actions: Commands) -> None:
    """What is done with copies of the whole database."""
    database = actions.add_parser(
        "database", help="copy the whole database, and drop copies that are too many"
    )
    database.add_argument(
        "--keep", type=int, default=7, metavar="N", help="the newest N copies stay (default: 7)"
    )
    database.add_argument(
        "--weeks", type=int, default=4, metavar="N", help="and one of each of N weeks (default: 4)"
    )
    actions.add_parser("list", help="the copies of the database")
    verify = actions.add_parser("verify", help="read everything in copies (default: in all)")
    verify.add_argument(
        "files",
        type=Path,
        nargs="*",
        metavar="FILE",
        help="copies of the database (default: all that were made)",
    )
    back = actions.add_parser(
        "put-back", help="put a copy in the place of the database, which is moved aside"
    )
    back.add_argument("file", type=Path, help="a copy of the database")
    back.add_argument(
        "--anyway",
        action="store_true",
        help="also one in which some rows lead nowhere, if every row can be read",
    )
    actions.add_parser(
        "mend", help="save what a damaged journal holds up to the damaged place; the files are moved aside"
    )


def _user(commands: Commands) -> None:
    user = commands.add_parser("user", help="who may sign in to marginalia serve --auth")
    actions = user.add_subparsers(dest="action", required=True, metavar="ACTION")
    add = actions.add_parser("add", help="let somebody sign in, or change a password")
    remove = actions.add_parser("remove", help="let somebody in no longer; the books stay")
    listing = actions.add_parser("list", help="who may sign in")
    for action in (add, remove):
        action.add_argument("name", help="the name that a person signs in with")
    for action in (add, remove, listing):
        action.add_argument(
            "--file", type=Path, metavar="FILE", help="default: people.json in the home folder"
        )


def _version() -> str:
    try:
        return version("marginalia")
    except PackageNotFoundError:  # run from a folder that was never installed
        return "(not installed)"


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:  # noqa: PLR2004 - what a port is
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return number


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("a whole number, 0 or more")
    return number


def _hours(text: str) -> float:
    number = float(text)
    if not 0 <= number < 24 * 366:
        raise argparse.ArgumentTypeError("hours are a number, 0 or more")
    return number
