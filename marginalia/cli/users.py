"""``marginalia user``: who may sign in to a server."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from getpass import getpass
from pathlib import Path

from marginalia.cli.people import People
from marginalia.cli.talk import Talk
from marginalia.errors import InvalidInput
from marginalia.store import home_folder

FILE = "people.json"


def people_in(options: Namespace) -> People:
    """The people of the file that is named, else of the one in the home folder."""
    file: Path | None = options.file
    return People(file or home_folder() / FILE)


def run(options: Namespace, talk: Talk) -> int:
    """Do one of the actions."""
    return _ACTIONS[options.action](options, talk)


def _add(options: Namespace, talk: Talk) -> int:
    people = people_in(options)
    there = people.file.exists() and people.knows(options.name)
    people.add(options.name, _password())
    talk.say(f"{options.name}: {'the password was changed' if there else 'added'}, in {people.file}")
    return 0


def _remove(options: Namespace, talk: Talk) -> int:
    people = people_in(options)
    people.remove(options.name)
    talk.say(f"{options.name}: removed from {people.file}; the books stay in the database")
    return 0


def _list(options: Namespace, talk: Talk) -> int:
    people = people_in(options)
    clear = people.in_clear()
    for name in people.names():
        talk.say(f"{name} (the password stands in the file as it is; change it)" if name in clear else name)
    return 0


def _password() -> str:
    """A password, typed twice without being shown; or the first line of what is piped in."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    first = getpass("Password: ")
    if first != getpass("The same once more: "):
        raise InvalidInput("The two passwords differ, so nothing was changed.")
    return first


_ACTIONS: Mapping[str, Callable[[Namespace, Talk], int]] = {"add": _add, "remove": _remove, "list": _list}
