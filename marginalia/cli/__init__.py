"""The command line: ``marginalia serve | import | export | backup | user | doctor``.

What a command makes goes to standard output, how it is getting on to standard error. Exit codes: 0, all was done; 1, it
was not, and why stands on standard error; 2, the command was not understood; 130, it was interrupted.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from marginalia.cli.arguments import parser
from marginalia.cli.talk import Talk
from marginalia.errors import MarginaliaError

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["main"]

FAILED = 1
INTERRUPTED = 130

# The app takes a second to load; who asks for help or makes a backup does not wait for it.
_COMMANDS: Mapping[str, str] = {
    "serve": "marginalia.cli.serve",
    "import": "marginalia.cli.importing",
    "export": "marginalia.cli.exporting",
    "backup": "marginalia.cli.backups",
    "user": "marginalia.cli.users",
    "doctor": "marginalia.cli.doctor",
}


class _Command(Protocol):
    """What a command's module has."""

    def run(self, options: Namespace, talk: Talk) -> int: ...


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what *arguments* (``None``: those of the process) ask for; returns the exit code."""
    options = parser().parse_args(arguments)
    talk = Talk(sys.stdout, sys.stderr)
    if options.home is not None:
        os.environ["MARGINALIA_HOME"] = str(options.home)
    try:
        command = cast("_Command", import_module(_COMMANDS[options.command]))
        return command.run(options, talk)
    except MarginaliaError as error:
        talk.fail(str(error))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        todo = " Free some space, and do it again." if error.errno == errno.ENOSPC else ""
        talk.fail(f"{where}{error.strerror or error}.{todo}")
    except KeyboardInterrupt:
        talk.fail("Interrupted; what was done until now is kept.")
        return INTERRUPTED
    return FAILED
