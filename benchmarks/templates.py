"""Templates: parsing and rendering 1,000 lore entries, beside Jinja2 doing the same for `{{ user }}` texts.

    python benchmarks/templates.py [FOLDER]

Without a folder, entries are made up with the lengths and macros of public lorebooks; with one, they are read from the
JSON files in it. Targets (issue 4): 100 ms to parse, 10 ms to render what is parsed.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from jinja2.sandbox import SandboxedEnvironment

from marginalia.errors import TemplateError
from marginalia.prompt.context import Facts, TemplateContext, Variables
from marginalia.prompt.macros.builtin import MACROS
from marginalia.prompt.macros.parser import parse
from marginalia.prompt.templates import render
from marginalia.prompt.worker import JinjaWorker
from marginalia.values import Turn

COUNT = 1000
WORDS = [
    "the",
    "harbour",
    "keeper",
    "counts",
    "ships",
    "by",
    "their",
    "bells",
    "and",
    "no",
    "captain",
    "argues",
]
CONTENT = {"content", "entry", "payload", "text"}


def made_up() -> list[str]:
    """Entries of about 60 to 500 characters with two macros, as public lorebooks have them."""
    random = Random(4)
    texts = (" ".join(random.choices(WORDS, k=random.randint(10, 90))) for _ in range(COUNT))
    return [f"{{{{char}}}} {text} {{{{user}}}}." for text in texts]


def contents(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in CONTENT and isinstance(inner, str):
                yield inner
            else:
                yield from contents(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from contents(inner)


def read(folder: Path) -> list[str]:
    found: dict[str, None] = {}
    for path in sorted(folder.rglob("*.json")):
        try:
            found.update(dict.fromkeys(contents(json.loads(path.read_text(encoding="utf-8-sig")))))
        except ValueError:
            continue
    failed = 0
    for text in found:
        try:
            render(text, context=new_context())
        except TemplateError:
            failed += 1
    print(f"{len(found):,} different entries read; {failed} do not compile and would be used as they are")
    return [text for text in found if re.search(r"\{\{(user|char)\}\}", text) and "{{#" not in text][:COUNT]


def new_context() -> TemplateContext:
    facts = Facts(turn=Turn(pov_character="Alice"), now=datetime(2026, 3, 15, tzinfo=UTC))
    return TemplateContext(facts, Variables(), Random(1))


def best(work: Callable[[], object], turns: int = 5) -> float:
    """Milliseconds of the fastest of *turns*."""
    times = []
    for _ in range(turns):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1000)
    return min(times)


def main() -> None:
    entries = read(Path(sys.argv[1])) if len(sys.argv) > 1 else made_up()
    context = new_context()
    print(f"{len(entries):,} entries, {sum(map(len, entries)) // 1000:,} KB")
    parsing = best(lambda: [parse(text, MACROS) for text in entries])
    for text in entries:
        render(text, context=context)
    rendering = best(lambda: [render(text, context=context) for text in entries])
    print(f"macros: parse {parsing:7.1f} ms (target 100)   cached render {rendering:6.1f} ms (target 10)")
    jinja = SandboxedEnvironment(autoescape=False)
    sources = [
        re.sub(r"\{\{\w+\}\}", "{{ user }}", re.sub(r"\{[%#]|[%#]\}|\{\{(?!\w+\}\})", "", text))
        for text in entries
    ]
    compiling = best(lambda: [jinja.from_string(text) for text in sources], 1)
    templates = [jinja.from_string(text) for text in sources]
    printing = best(lambda: [template.render(user="Alice") for template in templates])
    print(f"jinja2: parse {compiling:7.1f} ms                cached render {printing:6.1f} ms")
    print(
        f"ratio:  parse {compiling / parsing:7.1f} x                 cached render {printing / rendering:6.1f} x"
    )
    with JinjaWorker() as worker:
        worker.start()
        few = sources[:100]
        for text in few:
            worker.render(text, context=context)
        there = best(lambda: [worker.render(text, context=context) for text in few], 3)
    here = best(lambda: [render(text, context=context, syntax="jinja") for text in few], 3)
    print(f"one in Jinja, sandboxed: {here / len(few):.2f} ms here, {there / len(few):.2f} ms in its process")


if __name__ == "__main__":
    main()
