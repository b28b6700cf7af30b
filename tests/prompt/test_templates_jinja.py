"""Jinja templates: what they can do, what they cannot, and the process that can be killed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import anyio
import jinja2
import pytest

from marginalia.errors import TemplateError
from marginalia.prompt.context import Span
from marginalia.prompt.templates import check, render
from marginalia.prompt.worker import JinjaWorker
from tests.prompt.hostile import DATA, HOSTILE
from tests.prompt.macros.world import new_context
from tests.waits import wait_beside


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_template_is_stopped(name: str) -> None:
    start = time.thread_time()
    with pytest.raises(TemplateError):
        render(HOSTILE[name], context=new_context(), data=DATA, syntax="jinja")
    assert time.thread_time() - start < 3


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_template_is_text_to_macros_but_for_its_names(name: str) -> None:
    template = HOSTILE[name]
    names = re.sub(r"\{\{\s*[A-Za-z_][\w.]*\s*\}\}", "Error", template)
    text = render(template, context=new_context(), data={}).text
    assert text in {template, names}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ ['b', 'a']|sort(attribute='__class__')|join }}", "ba"),
        ("{{ ['a']|map(attribute='__class__')|first|default('nothing') }}", "nothing"),
        ("{{ ['a']|selectattr('__class__')|list|length }}", "0"),
    ],
)
def test_filters_that_take_attributes_find_none(template: str, text: str) -> None:
    assert render(template, context=new_context(), syntax="jinja").text == text


BLOCKS = ["{{#x}}", "{{#if x}}", "{{/x}}", "{{^x}}", "{{if x}}", "{{ if x }}"]
NAMES = ["{{.x}}", "{{ .x }}", "{{$x}}", "{{.}}", "{{../x}}", "{{@index}}", "{{&x}}", "{{{x}}}"]
CALLS = ["{{x::y}}", "{{ x :: y }}", "{{//x}}", "{{! x }}", "{{.x = 1}}", "{{.x++}}", "{{$x || y}}"]


@pytest.mark.parametrize("tag", [*BLOCKS, *NAMES, *CALLS])
def test_no_claimed_form_is_valid_jinja(tag: str) -> None:
    with pytest.raises(jinja2.TemplateSyntaxError):
        jinja2.Environment(autoescape=True).parse(tag)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% raw %}{{#if x}}{{ user }}{% endraw %}", "{{#if x}}{{ user }}"),
        ("{# {{#if x}} #}ok", "ok"),
        ("{{ '{{#if x}}' }}", "{{#if x}}"),
        ("{{ {'a': {'b': 1}}['a']['b'] }}", "1"),
        ("{{#if user}}{% if style %}A{% else %}B{% endif %}{{else}}C{{/if}}", "A"),
        ("{% for i in [1, 2] %}{{#if user}}{{ loop.index }}{{/if}}{% else %}none{% endfor %}", "12"),
        ("{% for i in [1, 2, 3] %}{{if {{i}}}}{{ i }}{{else}}-{{/if}}{% endfor %}", "123"),
        ("{{if nothing::x}}{{else}}", "xError"),
        (
            "{{#random}}only{{/random}} {{#reverse}}{% for i in 'abc' %}{{ i }}{% endfor %}{{/reverse}}",
            "only cba",
        ),
        ("{{#each items}}{{.}}{{@index}}{% if user %};{% endif %}{{else}}none{{/each}}", "a0;b1;"),
        ("{{setvar::x::{{incvar::n}}}}{{ 1 + 1 }}{{.x}}", "21"),
        ("{% macro twice(a) %}{{ a }}{{#if a}}{{ a }}{{/if}}{% endmacro %}{{ twice('x') }}", "xx"),
        ("{{ wether }}|{% if wether %}x{% endif %}|{{ style|default('y') }}", "Error||terse"),
        ("{{ nobody::x }}{{foo::{{user}}}}", "{{ nobody::x }}{{foo::Alice}}"),
        ("a\n{{trim}}\nb{{noop::}}", "a\nError\nb{{noop::}}"),
        ("{\n{{.x = 5}}}{ {{.x}} {%- if true %} y{% endif %}", "{\n}{ 5 y"),
    ],
)
def test_macros_and_jinja_work_together(template: str, text: str) -> None:
    assert render(template, context=new_context(), data={"items": ["a", "b"]}, syntax="jinja").text == text


def test_a_mistake_names_the_line_of_the_source() -> None:
    with pytest.raises(TemplateError, match="Line 4"):
        render("{{setvar::x::\n\n}}\n{% nonsense %}", context=new_context(), syntax="jinja")


def test_data_that_is_printed_has_spans_in_jinja_too() -> None:
    template = "{{ lore }}-{{#lore}}{{.}}{{/lore}}-{% if lore %}{{ lore }}{% endif %}-{{ lore|upper }}"
    found = render(template, context=new_context(), data={"lore": "Varro"}, syntax="jinja")
    assert found.text == "Varro-Varro-Varro-VARRO"
    assert found.spans == (Span(0, 5, "lore"), Span(6, 11, "lore"), Span(12, 17, "lore"))


def test_unknown_names_are_listed() -> None:
    found = render(
        "{{ wether }}{{#if tpyo}}{{/if}}{{reverse::{{other}}}}", context=new_context(), syntax="jinja"
    )
    assert found.unknown == ("wether", "other")


def test_a_check_knows_the_names_that_jinja_can_print_and_no_others() -> None:
    found = check("{{ user }}{{ trim }}{{ setvar }}{{ style }}{{roll::2d6}}", kind="lore", syntax="jinja")
    assert (found.unknown, found.macros) == (("trim", "setvar"), ("user", "roll"))
    rendered = render("{{ trim }}{{ setvar }}", context=new_context(), syntax="jinja")
    assert (rendered.text, rendered.unknown) == ("ErrorError", ("trim", "setvar"))


def test_nothing_runs_while_a_template_is_compiled() -> None:
    start = time.thread_time()
    with pytest.raises(TemplateError, match="larger than"):
        render(
            "{% if false %}{{ ('a' * 10**9)|length }}{% endif %}{{ 'a' * 10**9 }}",
            context=new_context(),
            syntax="jinja",
        )
    assert time.thread_time() - start < 0.5


@pytest.fixture(scope="module")
def worker() -> Iterator[JinjaWorker]:
    with JinjaWorker(seconds=2.0) as running:
        running.start()
        yield running


def test_a_worker_renders_as_this_process_does(worker: JinjaWorker) -> None:
    template = "{{ user }} {{.hp -= 3}}{{.hp}} {{roll::3d100}} {{ lore }} {{ tpyo }} {{lastMessageId::}}"
    here, there = new_context(hp="10"), new_context(hp="10")
    expected = render(template, context=here, data={"lore": "Varro"}, place="p", syntax="jinja")
    assert worker.render(template, context=there, data={"lore": "Varro"}, place="p") == expected
    assert there.variables == here.variables
    assert there.random.getstate() == here.random.getstate()


def test_a_worker_passes_a_templates_failure_on(worker: JinjaWorker) -> None:
    with pytest.raises(TemplateError, match="never closed"):
        worker.render("{{#if user}}", context=new_context())


def test_a_worker_that_hangs_is_killed_and_replaced() -> None:
    with JinjaWorker(seconds=0.3) as impatient:
        impatient.start()
        with pytest.raises(TemplateError, match=r"stopped after 0\.3 seconds"):
            impatient.render(HOSTILE["split again"], context=new_context())
        assert impatient.render("{{ user }}", context=new_context()).text == "Alice"


async def test_nobody_elses_loop_waits_while_hostile_templates_render(worker: JinjaWorker) -> None:
    def attack(name: str) -> None:
        with pytest.raises(TemplateError):
            worker.render(HOSTILE[name], context=new_context(), data=DATA)

    async def attacks() -> None:
        for name in (
            "nested ranges",
            "exponential macros",
            "power tower, variable",
            "split again",
            "tests in tests",
        ):
            await anyio.to_thread.run_sync(attack, name)

    assert await wait_beside(attacks) < 0.1
