"""The prompts as their sheet shows them: the texts and their origins, what may stand in them, lint, the preview."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from marginalia.errors import InvalidInput
from marginalia.models import BookModel
from marginalia.prompt.macros.builtin import MACROS
from marginalia.prompt.macros.meanings import MEANINGS, VARIABLES
from marginalia.prompt.templates import Check, TemplateKind, known_names
from marginalia.ui.words import count
from marginalia.values import PLAIN_PROMPTS, TEMPLATES, Prompts

if TYPE_CHECKING:
    from marginalia.pipeline.trying import Trial
    from marginalia.prompt.macros.table import Macro
    from marginalia.prompt.segments import Prompt
    from marginalia.studio import Studio
    from marginalia.studio.prompting import Sourced
    from marginalia.ui.components.base import Said
    from marginalia.values import Book

LONGEST = 200_000
"""How many characters of one prompt are taken from a page."""
_SHOWN = 40_000
_LABELS: Mapping[str, str] = {
    "master_template": "Master template",
    "user_prompt": "User prompt",
    "summary_prompt": "Summary prompt",
    "meta_summary_prompt": "Meta summary prompt",
    "pov": "Point of view",
    "tense": "Tense",
    "style": "Style",
}
_ORIGINS: Mapping[str, str] = {
    "book": "from this book",
    "user": "from your settings",
    "built in": "built in",
}
CARET = "\u2038"
"""Where the caret goes in what is inserted."""
_BLOCKS: Sequence[tuple[str, str, str, str]] = (
    ("if", "only when there is something", "{{#if ‸}}{{/if}}", "{% if ‸ %}{% endif %}"),
    (
        "if … else",
        "one text or the other",
        "{{#if ‸}}{{else}}{{/if}}",
        "{% if ‸ %}{% else %}{% endif %}",
    ),
    ("unless", "only when there is nothing", "{{#unless ‸}}{{/unless}}", "{% if not ‸ %}{% endif %}"),
    (
        "each",
        "once for every item of a list",
        "{{#each ‸}}{{.}}{{/each}}",
        "{% for item in ‸ %}{{ item }}{% endfor %}",
    ),
    ("comment", "for you; prints nothing", "{{! ‸ }}", "{# ‸ #}"),
)
_EXAMPLE = re.compile(r"`(\{\{[^`…]*\}\})`")


def prompt_rows(prompts: Mapping[str, Sourced]) -> list[dict[str, Any]]:
    """The prompts of a book, templates first."""
    docs = BookModel.param
    return [
        {
            "name": name,
            "label": _LABELS[name],
            "doc": str(docs[name].doc).partition(" Empty:")[0],
            "template": name in TEMPLATES,
            "text": each.text,
            "syntax": each.syntax,
            "origin": each.origin,
            "from": _ORIGINS[each.origin],
            "below": _ORIGINS[each.default_origin],
        }
        for name, each in prompts.items()
    ]


def name_rows(studio: Studio) -> dict[str, list[dict[str, Any]]]:
    """What may stand in templates: the variables of each, and blocks and macros (``""``); with what is inserted."""
    variables = {kind: list(_variables(cast("TemplateKind", kind))) for kind in TEMPLATES}
    return variables | {"": [*(_row("block", *each) for each in _BLOCKS), *_macros(), *_foreign(studio)]}


def _row(group: str, name: str, meaning: str, insert: str, jinja: str) -> dict[str, Any]:
    return {"group": group, "name": name, "meaning": meaning, "insert": insert, "jinja": jinja}


def _variables(kind: TemplateKind) -> Iterator[dict[str, Any]]:
    for name in known_names(kind):
        yield _row("variable", name, VARIABLES[name], f"{{{{{name}}}}}", f"{{{{ {name} }}}}")


def _macros() -> Iterator[dict[str, Any]]:
    for names, meaning in MEANINGS.items():
        macro = MACROS[names.split(", ")[0]]
        example = _EXAMPLE.search(meaning)
        insert = example[1] if example and _wants(macro) else _call(macro)
        yield _row("macro", names, meaning.replace("`", ""), insert, _in_jinja(macro, insert))


def _foreign(studio: Studio) -> Iterator[dict[str, Any]]:
    for macro in studio.prompting.macros().values():
        if macro.foreign:
            call = _call(macro)
            yield _row("macro", macro.name, "a macro of an extension", call, _in_jinja(macro, call))


def _wants(macro: Macro) -> int:
    """How many arguments a macro has to be given."""
    return 1 if macro.choices else macro.minimum


def _call(macro: Macro) -> str:
    """A call with room for what the macro has to be given."""
    arguments = f"::{CARET}{'::' * (_wants(macro) - 1)}" if _wants(macro) else ""
    return f"{{{{{macro.name}{arguments}}}}}"


def _in_jinja(macro: Macro, call: str) -> str:
    """The same call in Jinja, where a name alone is Jinja's own."""
    if macro.optional_block:
        return f"{{{{#{macro.name}}}}}{CARET}{{{{/{macro.name}}}}}"
    return call if _wants(macro) else f"{{{{ {macro.name} }}}}"


def changes_of(said: Said) -> Prompts:
    """The texts that a page has typed and not kept; raises ``InvalidInput`` for what it cannot have sent."""
    texts: dict[str, Any] = {}
    jinja: list[str] = []
    for name, typed in dict(said.get("changes") or {}).items():
        if name not in (*TEMPLATES, *PLAIN_PROMPTS):
            raise InvalidInput(f"There is no prompt {name!r}.")
        texts[name] = str(typed.get("text") or "")[:LONGEST]
        if typed.get("syntax") == "jinja" and name in TEMPLATES:
            jinja.append(name)
    return Prompts(**texts, jinja=tuple(jinja))


def slots_of(prompt: Prompt | None) -> frozenset[str]:
    """The names that entries of the book's lore give to templates."""
    found = prompt.lore if prompt is not None else ()
    return frozenset(slot for verdict in found if (slot := verdict.entry.where.slot))


def lint_row(source: str, check: Check) -> dict[str, Any]:
    """What is wrong with a template or probably not meant, with where; and what it reads, sets and could print."""
    rows = [
        {"text": hint.text, "line": hint.line, "column": hint.column, "bad": False} for hint in check.hints
    ]
    if not check.valid:
        text = check.message.removeprefix(f"Line {check.line}, column {check.column}: ")
        rows.append({"text": text, "line": check.line, "column": check.column, "bad": True})
    for name in check.unknown:
        line, column = _place(source, name)
        text = f"Nobody knows {name!r}; it is printed as Error."
        rows.append({"text": text, "line": line, "column": column, "bad": True})
    rows.sort(key=lambda row: (row["line"], row["column"]))
    facts = (
        ("Could print", check.names),
        ("Calls", check.macros),
        ("Reads", check.reads),
        ("Sets", check.sets),
    )
    return {
        "valid": check.valid,
        "rows": rows,
        "facts": [[label, ", ".join(names)] for label, names in facts if names],
    }


def _place(source: str, name: str) -> tuple[int, int]:
    """Where a name is first asked for, counted from 1."""
    found = re.search(rf"\{{[{{%][^{{}}]*?(?<![\w.])({re.escape(name)})(?!\w)", source)
    at = found.start(1) if found else max(0, source.find(name))
    return source.count("\n", 0, at) + 1, at - source.rfind("\n", 0, at)


def preview_row(trial: Trial) -> dict[str, Any]:
    """A tried template: its text in pieces, each with the variable that it came from, and its size."""
    if trial.rendered is None:
        return {"pieces": None, "figures": "", "note": trial.note, "problem": trial.problem}
    text = trial.rendered.text
    figures = f"{count(trial.tokens, 'token')} · {count(len(text), 'character')}"
    return {
        "pieces": list(_pieces(trial)),
        "more": max(0, len(text) - _SHOWN),
        "figures": figures,
        "note": trial.note,
        "problem": trial.problem,
    }


UNREADABLE: Mapping[str, Any] = {
    "pieces": None,
    "figures": "",
    "note": "As it was when it could be read last.",
    "problem": "",
}
"""What stands for the preview of a template whose faults are listed already."""


def _pieces(trial: Trial) -> Iterator[list[str]]:
    rendered = trial.rendered
    if rendered is None:
        return
    text, at = rendered.text[:_SHOWN], 0
    for span in rendered.spans:
        if span.start >= len(text):
            break
        if span.start > at:
            yield [text[at : span.start], ""]
        yield [text[max(at, span.start) : span.end], span.name]
        at = max(at, span.end)
    if at < len(text):
        yield [text[at:], ""]


def draft_key(book: Book) -> str:
    """Where a browser keeps what was typed and not kept."""
    return f"mg:prompts:{book.owner}:{book.uid or book.id}"
