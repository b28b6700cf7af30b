"""Writes the reference from the code: ``python -m docs.generate``; ``--check`` only says whether it is current.

Every page is a function that gives Markdown. A name that nobody has described stops it, so that the reference cannot
lag behind; the tests run the same functions.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import marginalia.errors
from docs import words
from docs.markdown import Undocumented, annotation, default_of, described, prose, table, titled
from docs.surface import extension_page
from marginalia.cli.arguments import parser
from marginalia.export import FORMATS
from marginalia.formats import CODECS
from marginalia.formats.stories import STORY_CODECS
from marginalia.inference.dialect import Dialect
from marginalia.models import BookModel, EntryModel, ProtocolModel, ProviderModel, TurnInput
from marginalia.pipeline import events, steps
from marginalia.prompt.macros.builtin import MACROS, WITHOUT_MEANING
from marginalia.prompt.templates import TemplateKind, known_names

HERE = Path(__file__).parent
GENERATED = "<!-- Written by docs/generate.py. Do not edit. -->\n\n"
MODELS = (TurnInput, BookModel, ProviderModel, ProtocolModel, EntryModel)


def event_page() -> str:
    """All events with their fields."""
    rows = re.findall(r"^(\w+) +\d(?: +(\S.*))?$", events.__doc__ or "", re.MULTILINE)
    answers = described(
        (event.__name__ for event in events.ALL), dict(rows), "The table in marginalia/pipeline/events.py"
    )
    return words.EVENTS + "".join(_event(event, answers[event.__name__]) for event in events.ALL)


def _event(event: type[events.Event], answer: str) -> str:
    base = event.__mro__[1]
    own = [each for each in fields(event) if each.name in inspect.get_annotations(event)]
    paragraphs = [f"\n## {event.__name__}", prose(event)]
    if answer:
        paragraphs.append(f"A listener may answer with: {answer}.")
    if base is not events.Event:
        paragraphs.append(f"Has what `{base.__name__}` has{', and:' if own else '.'}")
    rows = [(f"`{each.name}`", annotation(each.type), default_of(each)) for each in own]
    shown = "\n\n" + table(("field", "type", "default"), rows) if rows else "\n"
    return "\n\n".join(paragraphs) + shown


def step_page() -> str:
    """The eight steps."""
    slots = list(steps.STEPS)
    sentences = described((slot.name for slot in slots), words.STEPS, "STEPS in docs/words.py")
    rows = [
        (
            number,
            f"`{slot.name}`",
            sentences[slot.name],
            f"`{slot.takes.__name__}`",
            f"`{slot.gives.__name__}`",
        )
        for number, slot in enumerate(slots, 1)
    ]
    return words.STEPS_INTRO + table(("", "step", "what it does", "takes", "gives"), rows)


def macro_page() -> str:
    """All macros."""
    silent = {name.lower() for name in WITHOUT_MEANING}
    macros = [macro for macro in MACROS.values() if macro.name.lower() not in silent]
    described((macro.name for macro in macros), words.MACROS, "marginalia/prompt/macros/meanings.py")
    rows = [(", ".join(f"`{name}`" for name in key.split(", ")), text) for key, text in words.MACROS.items()]
    kinds: Sequence[TemplateKind] = (
        "user_prompt",
        "master_template",
        "lore",
        "summary_prompt",
        "meta_summary_prompt",
    )
    values = [(f"`{kind}`", ", ".join(f"`{name}`" for name in known_names(kind))) for kind in kinds]
    return words.MACROS_INTRO + (
        table(("macro", "prints"), rows)
        + "\n## Values\n\nBeside macros, each kind of template can print these names:\n\n"
        + table(("template", "names"), values)
        + words.WITHOUT_MEANING
        + ", ".join(f"`{name}`" for name in sorted(WITHOUT_MEANING, key=str.lower))
        + ".\n"
    )


def format_page() -> str:
    """All formats, in and out."""
    lore = [
        (
            f"`{each.id}`",
            titled(each.id, each.title),
            "yes" if each.blank is not None or each.id == "marginalia" else "only back to where it came from",
        )
        for each in CODECS
    ]
    stories = [(f"`{each.id}`", titled(each.id, each.title)) for each in STORY_CODECS]
    out = [
        (f"`{each.key}`", titled("", each.name), f"`{each.suffix}`", each.media_type)
        for each in FORMATS.values()
    ]
    return (
        "# Formats\n\nA file is told by its content, never by its name.\n\n## Lore\n\n"
        "`studio.lorebooks.import_file` reads all of them, `studio.lorebooks.export` writes:\n\n"
        + table(("format", "what it is", "written"), lore)
        + "\n## Stories\n\n`studio.import_story` reads:\n\n"
        + table(("format", "what it is"), stories)
        + "\n## Export of a story\n\n`studio.story.export(book, format)` writes:\n\n"
        + table(("format", "what it is", "ending", "media type"), out)
    )


def settings_page() -> str:
    """All settings."""
    parts = ["# Settings\n"]
    for model in MODELS:
        rows: list[Sequence[object]] = []
        for name, parameter in model.param.objects("existing").items():
            if name == "name" and not model.named:
                continue
            if not parameter.doc:
                raise Undocumented(f"{model.__name__}.{name} has no doc")
            rows.append((f"`{name}`", parameter.label, " ".join(parameter.doc.split())))
        parts.append(
            f"## {model.__name__}\n\n{prose(model)}\n\n" + table(("field", "label", "what it is"), rows)
        )
    dialect = [(f"`{each.name}`", annotation(each.type), f"`{each.default!r}`") for each in fields(Dialect)]
    about = f"{words.DIALECT} {prose(Dialect)}"
    parts.append(f"{about}\n\n{table(('key', 'type', 'default'), dialect)}")
    parts.append("For every server:\n\n" + _sentences("key", words.PROVIDER_SETTINGS))
    parts.append(words.OF_A_BOOK + _sentences("key", words.BOOK_SETTINGS))
    parts.append("## Of the user\n\nKeys of `studio.settings`.\n\n" + _sentences("key", words.USER_SETTINGS))
    parts.append("## Environment variables\n\n" + _sentences("variable", words.ENVIRONMENT))
    return "\n".join(parts)


def _sentences(head: str, sentences: Mapping[str, str]) -> str:
    return table((head, "what it is"), [(f"`{name}`", text) for name, text in sentences.items()])


def commands(top: argparse.ArgumentParser, before: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """All commands below *top*, by their full names."""
    for action in top._actions:  # noqa: SLF001 - argparse has no public way to look into a parser
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - the same
            for name, below in action.choices.items():
                yield f"{before}{name}", below
                yield from commands(below, f"{before}{name} ")


def command_page() -> str:
    """The command line."""
    top = parser()
    found = dict(commands(top))
    sentences = described(found, words.COMMANDS, "COMMANDS in docs/words.py")
    parts = [words.COMMAND_LINE, "## Before every command\n\n" + _options(top)]
    for name, command in found.items():
        parts.append(f"## marginalia {name}\n\n{sentences[name]}\n\n" + _options(command))
    return "\n".join(part.rstrip() + "\n" for part in parts)


def _options(command: argparse.ArgumentParser) -> str:
    rows = [
        (f"`{_spelling(action)}`", _help(action, command))
        for action in command._actions  # noqa: SLF001 - argparse has no public way to look into a parser
        if not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)  # noqa: SLF001 - the same
    ]
    return table(("option", "what it does"), rows) if rows else ""


def _help(action: argparse.Action, command: argparse.ArgumentParser) -> str:
    if not action.help:
        raise Undocumented(f"{_spelling(action)} of {command.prog} has no help")
    return action.help


def _spelling(action: argparse.Action) -> str:
    if not action.option_strings:
        return str(action.metavar or action.dest)
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    return ", ".join(action.option_strings) + value


def error_page() -> str:
    """The error tree."""
    return f"# Errors\n\n{prose(marginalia.errors)}\n"


PAGES: Mapping[str, Callable[[], str]] = {
    "events": event_page,
    "steps": step_page,
    "macros": macro_page,
    "formats": format_page,
    "settings": settings_page,
    "command-line": command_page,
    "extensions": extension_page,
    "errors": error_page,
}


def page(name: str) -> str:
    """The text of a page of the reference as it should be now."""
    return GENERATED + PAGES[name]().rstrip() + "\n"


def stale() -> tuple[str, ...]:
    """The pages whose files are not what the code says."""
    files = {name: HERE / "reference" / f"{name}.md" for name in PAGES}
    return tuple(
        name
        for name, file in files.items()
        if not file.exists() or file.read_text(encoding="utf-8") != page(name)
    )


def main() -> int:
    """Write what is stale, or only say so."""
    only_check = "--check" in sys.argv[1:]
    try:
        names = stale()
    except Undocumented as lacking:
        sys.stderr.write(f"{lacking}\n")
        return 1
    for name in () if only_check else names:
        (HERE / "reference").mkdir(exist_ok=True)
        (HERE / "reference" / f"{name}.md").write_text(page(name), encoding="utf-8")
    sys.stdout.write(
        "".join(f"{'stale' if only_check else 'written'}: docs/reference/{name}.md\n" for name in names)
    )
    return 1 if only_check and names else 0


if __name__ == "__main__":
    sys.exit(main())
