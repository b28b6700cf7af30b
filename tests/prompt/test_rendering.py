"""Rendering for several people: Jinja in processes of its own, which call the macros of extensions over here."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from marginalia.errors import TemplateError
from marginalia.prompt import worker as prompt_worker
from marginalia.prompt import worker_process
from marginalia.prompt.macros.builtin import MACROS
from marginalia.prompt.macros.table import Invocation
from marginalia.prompt.rendering import Rendering
from marginalia.prompt.templates import check, render
from marginalia.prompt.worker import JinjaWorker
from tests.prompt.macros.world import new_context


def _tally(call: Invocation) -> str:
    """Looks at everything an invocation has, and changes what it can."""
    seen = call.context.local.get("hp", "none")
    call.context.local["hp"] = f"{seen}!"
    die, book = call.context.random.randint(1, 1000), call.context.facts.book_name
    return f"{'/'.join(call.arguments)} {seen} {die} {book} {call.place}"


def _broken(_: Invocation) -> str:
    raise ValueError("out of ink")


FOREIGN = MACROS.with_macro("tally", _tally, minimum=1, maximum=2).with_macro("broken", _broken)


@pytest.fixture(scope="module")
def worker() -> Iterator[JinjaWorker]:
    with JinjaWorker(seconds=5.0) as running:
        running.start()
        yield running


@pytest.mark.parametrize(
    "template",
    [
        "{{tally::a::b}} {{.hp}} {{roll::3d100}}",
        "{% for i in [1, 2] %}{{tally::{{i}}}}{{ hp }};{% endfor %}{{getvar::hp}}",
        "{{setvar::hp::9}}{{#tally}}x {{user}}{{/tally}}{{.hp}}",
        "{{ broken }}",
        "{{broken::}}",
    ],
)
def test_a_macro_of_an_extension_is_called_here_and_all_it_changes_counts_there(
    worker: JinjaWorker, template: str
) -> None:
    here, there = new_context(hp="10"), new_context(hp="10")
    results: list[object] = []
    for job in (
        lambda: render(template, context=here, place="p", syntax="jinja", macros=FOREIGN),
        lambda: worker.render(template, context=there, place="p", macros=FOREIGN),
    ):
        try:
            results.append(job())
        except TemplateError as error:
            results.append("out of ink" in str(error))
    assert results[0] == results[1]
    assert there.variables == here.variables
    assert there.random.getstate() == here.random.getstate()


def test_a_template_that_fails_changes_no_variable_of_a_macro_that_it_called(worker: JinjaWorker) -> None:
    context = new_context(hp="10")
    with pytest.raises(TemplateError):
        worker.render("{{tally::a}}{{ 1 // 0 }}", context=context, macros=FOREIGN)
    assert context.local == {"hp": "10"}


def test_the_time_of_an_extensions_macro_is_not_the_templates() -> None:
    def slow(_: Invocation) -> str:
        time.sleep(0.6)
        return "done"

    with JinjaWorker(seconds=0.4) as hasty:
        hasty.start()
        text = hasty.render(
            "{{slow::}}{{ slow }}", context=new_context(), macros=MACROS.with_macro("slow", slow)
        )
    assert text.text == "{{slow::}}done"


@pytest.mark.parametrize(
    "template",
    [
        "{{ wether }}{{getvar::a}}{{.b = 1}}{{tally::x}}{{ harbour }}",
        "{% if %}",
        "{{#if x}}",
        "{{ persona::x }} {{/y",
    ],
)
def test_a_worker_checks_as_this_process_does(worker: JinjaWorker, template: str) -> None:
    found = worker.check(template, kind="master_template", macros=FOREIGN, known=("harbour",))
    assert found == check(
        template, kind="master_template", syntax="jinja", macros=FOREIGN, known=("harbour",)
    )


def test_a_process_that_ended_by_itself_is_replaced_unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "_IDLE_SECONDS", 0.0)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as requests, os.fdopen(writing, "wb"), open(os.devnull, "wb") as answers:  # noqa: PTH123 - the null device
        worker_process.serve(requests, answers)  # comes back, since nobody asks

    with JinjaWorker(seconds=5.0) as worker:
        worker.start()
        process = worker._process
        assert process is not None
        assert process.stdin is not None
        process.stdin.close()  # it reads the end, as it would see no request, and ends well
        process.wait(5)
        assert worker.render("{{ user }}", context=new_context()).text == "Alice"


def test_a_process_that_was_taken_away_is_said_and_replaced() -> None:
    with JinjaWorker(seconds=5.0) as worker:
        worker.start()

        def hit(_: Invocation) -> str:
            os.kill(worker._process.pid, signal.SIGKILL)  # type: ignore[union-attr]
            return ""

        with pytest.raises(TemplateError, match="ended"):
            worker.render("{{ hit }}", context=new_context(), macros=MACROS.with_macro("hit", hit))
        assert worker.render("{{ user }}", context=new_context()).text == "Alice"


TAKEN_OVER = """
import json, sys

def say(message):
    content = json.dumps(message).encode()
    sys.stdout.buffer.write(len(content).to_bytes(8, "big") + content)
    sys.stdout.buffer.flush()

say({})
sys.stdin.buffer.read(8)
say(json.loads(sys.argv[1]))
sys.stdin.buffer.read()
"""
STATE = {"local": {}, "shared": {}, "random": [3, [1], None]}


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"text": "x", "spans": [[0]], "unknown": [], **STATE},
        {"text": "x", "spans": [], "unknown": 1, **STATE},
        {
            "text": "x",
            "spans": [],
            "unknown": [],
            "local": {"hp": "0"},
            "shared": {},
            "random": [3, [1], None],
        },
        {"text": "x", "spans": [], "unknown": [], "local": {"hp": "0"}, "shared": [], "random": None},
        {"call": "tally", "arguments": 7, "place": "", "site": 0, **STATE},
        {"call": "user", "arguments": [], "place": "", "site": 0},
        {"call": "__class__", "arguments": []},
        ["no message"],
    ],
)
def test_the_answer_of_a_process_that_was_taken_over_is_refused(
    monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    command = (sys.executable, "-S", "-c", TAKEN_OVER, json.dumps(answer))
    monkeypatch.setattr(prompt_worker, "_COMMAND", command)
    context = new_context(hp="10")
    dice = context.random.getstate()
    with JinjaWorker(seconds=0.7) as worker, pytest.raises(TemplateError):
        worker.render("{{ user }}", context=context, macros=FOREIGN)
    assert context.local == {"hp": "10"}
    assert context.random.getstate() == dice


def test_the_process_is_given_no_secret_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with JinjaWorker(seconds=5.0) as worker:
        worker.start()
        process = worker._process
        assert process is not None
        try:
            with open(f"/proc/{process.pid}/environ", "rb") as file:  # noqa: PTH123 - no file of ours
                assert b"sk-secret" not in file.read()
        except FileNotFoundError:
            pytest.skip("there is no /proc here")


def test_only_jinja_goes_to_a_process_and_only_with_several_people() -> None:
    shared = threading.Event()
    with_several = Rendering(shared.is_set, seconds=5.0)
    try:
        for syntax in ("macros", "jinja"):
            assert with_several.render("{{ user }}", context=new_context(), syntax=syntax).text == "Alice"  # type: ignore[arg-type]
        assert with_several.processes == 0
        shared.set()
        assert with_several.render("{{ user }}", context=new_context(), syntax="macros").text == "Alice"
        assert with_several.processes == 0
        assert with_several.render("{{ user }}", context=new_context(), syntax="jinja").text == "Alice"
        assert with_several.check("{{ x }}", kind="lore", syntax="jinja").unknown == ("x",)
        assert with_several.processes == 1
        for source in ("{{user}}" * 5000, "plain " * 9000):
            there = with_several.render(source, context=new_context(), data={"x": "y"})
            assert there == render(source, context=new_context(), data={"x": "y"})
        assert with_several.processes == 1
    finally:
        with_several.close()
    assert with_several.processes == 0
    with pytest.raises(TemplateError, match="closed"):
        with_several.render("{{ user }}", context=new_context(), syntax="jinja")


def test_one_person_cannot_take_all_threads() -> None:
    """Two templates work, six wait for them, and those beyond are refused at once."""
    rendering, hold, began = Rendering(lambda: True, seconds=30.0), threading.Event(), threading.Semaphore(0)

    def wait(_: Invocation) -> str:
        began.release()
        hold.wait(20)
        return "x"

    macros, results = MACROS.with_macro("wait", wait), list[str]()

    def work() -> None:
        results.append(
            rendering.render("{{ wait }}", context=new_context(), syntax="jinja", macros=macros).text
        )

    threads = [threading.Thread(target=work) for _ in range(8)]
    try:
        for thread in threads:
            thread.start()
        assert all(began.acquire(timeout=20) for _ in range(2))
        deadline = time.monotonic() + 20
        while rendering.waiting < 6 and time.monotonic() < deadline:
            time.sleep(0.01)
        with pytest.raises(TemplateError, match="too many of yours"):
            rendering.render("{{ user }}", context=new_context(), syntax="jinja")
        assert rendering.render("{{user}}", context=new_context()).text == "Alice"
    finally:
        hold.set()
        for thread in threads:
            thread.join(20)
        rendering.close()
    assert results == ["x"] * 8


def test_closing_ends_what_is_being_rendered() -> None:
    rendering = Rendering(lambda: True, seconds=60.0)
    begun = threading.Event()

    def begin(_: Invocation) -> str:
        begun.set()
        return ""

    failures: list[str] = []

    def work() -> None:
        source = "{{ begin }}" + "{% for a in range(9999) %}{% set z = range(9999)|sort %}{% endfor %}"
        try:
            rendering.render(
                source, context=new_context(), syntax="jinja", macros=MACROS.with_macro("begin", begin)
            )
        except TemplateError as error:
            failures.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(10)
    rendering.close()
    thread.join(10)
    assert len(failures) == 1
