"""Templates that nobody would write: nothing but a TemplateError comes out, in a time that grows with the text."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.errors import TemplateError
from marginalia.prompt.templates import check, render
from marginalia.values import Syntax
from tests.prompt.macros.world import new_context

PARTS = r"""
{{ }} { } {{{ }}} \ \{{ \{ :: : , ! # / ^ & . $ .. @index {{else}} {{^}} {{else·if·x}} {{if·user}} {{/if}}
{{#if·style}} {{#unless·x}} {{/unless}} {{#each·items}} {{/each}} {{#style}} {{/style}} {{^style}}
{{setvar·x}} {{/setvar}} {{.x·=·1}} {{$y++}} {{.x·+=·{{ {{trim}} {{/trim}} {{random::a,b}} {{random}} {{/random}}
{{roll::2d6}} {{pick::a::b}} {{//}} {{///}} {{!-- --}} {{!·x {{user}} <USER> <bot> text {{space:: {{newline::3}}
{{reverse}} {{time_UTC+2}} {{timeDiff::now:: {{datetimeformat::LLLL·[x] {%·if·x·%} {%·endif·%} {{·x|upper·}}
{#·c·#} {{addvar::x::1e5}} é 🐉
"""


def _parts(text: str) -> list[str]:
    return [part.replace("·", " ") for part in text.split()]


TEMPLATES = st.lists(st.sampled_from([*_parts(PARTS), " ", "\n", "\r\n", "  "]), max_size=40).map("".join)
DATA = {"items": ["a", "b"], "style": "terse\n", "x": None}


@given(TEMPLATES)
def test_no_template_raises_anything_but_a_template_error(template: str) -> None:
    context = new_context()
    try:
        found = render(template, context=context, data=DATA)
    except TemplateError:
        assert not check(template, kind="lore").valid
        return
    assert check(template, kind="lore").valid
    for span in found.spans:
        assert 0 <= span.start < span.end <= len(found.text)


@given(TEMPLATES)
def test_no_jinja_template_raises_anything_but_a_template_error(template: str) -> None:
    with contextlib.suppress(TemplateError):
        render(template, context=new_context(), data=DATA, syntax="jinja")


LEAVES = r"""
{{.x·=·1}} {{.x++}} {{$y·||·z}} {{setvar::a::b}} {{getvar::a}} {{.}} {{@index}} text {{reverse::ab}}
{{reverse::{{user}}}} {{{style}}} {{!·c·}} {{//·c·}} {{foo::x}} {· ·} {{roll::1d100}} {{random::a::b}}
{{addvar::x::5}} {{^}} {{if·user}} {{/if}}
"""
BLOCKS = r"""
{{if·.x·>·2}}|{{/if}} {{if·user}}|{{/if}} {{if·{{.x}}}}|{{/if}} {{if·!style}}|{{/if}}
{{#if·style}}|{{/if}} {{#if·.x}}|{{/if}} {{#setvar·a}}|{{/setvar}} {{#style}}|{{/style}} {{^x}}|{{/x}}
{{^style}}|{{/style}} {{#items}}|{{/items}} {{#each·items}}|{{/each}} {{#unless·.x}}|{{/unless}}
{{#reverse}}|{{/reverse}} {{setvar::a}}|{{/setvar}}
"""


def _block(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    blocks = st.sampled_from(_parts(BLOCKS))
    return st.builds(
        lambda block, parts: block.replace("|", "".join(parts)), blocks, st.lists(inside, max_size=4)
    )


SHARED = st.lists(
    st.recursive(st.sampled_from([*_parts(LEAVES), " ", "\n  "]), _block, max_leaves=12), max_size=6
).map("".join)


@given(SHARED)
def test_both_syntaxes_agree_on_what_they_share(template: str) -> None:
    def outcome(syntax: Syntax) -> object:
        context = new_context()
        try:
            text = render(template, context=context, data=DATA, place="here", syntax=syntax).text
        except TemplateError:
            return None
        return text, context.local, context.shared

    assert outcome("jinja") == outcome("macros")


@given(st.text(alphabet=st.characters(exclude_characters="{}<\\", codec="utf-8")))
def test_plain_text_comes_out_as_it_is(text: str) -> None:
    assert render(text, context=new_context()).text == text


@given(st.text(max_size=60))
def test_a_value_is_printed_as_it_is(value: str) -> None:
    found = render("<{{style}}|{{.kept}}>", context=new_context(kept=value), data={"style": value})
    assert found.text == f"<{value}|{value}>"


@given(TEMPLATES)
def test_a_render_is_the_same_every_time(template: str) -> None:
    def once() -> object:
        context = new_context()
        try:
            return render(template, context=context, data=DATA), context.local, context.shared
        except TemplateError as error:
            return str(error)

    assert once() == once()


HOSTILE = {
    "openers": "{{",
    "comments": "{{!--",
    "ifs": "{{if a}}",
    "closed ifs": "{{if a}}{{/if}}",
    "sections": "{{#style}}",
    "wrong ends": "{{setvar x}}{{/getvar}}",
    "hidden": "{{//}}",
    "triples": "{{{ a ",
    "escapes": "\\{{a}}",
    "elses": "{{else}}",
    "commas": "{{random::a,b,",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_with_the_length_of_a_hostile_template(name: str) -> None:
    def seconds(count: int) -> float:
        template = f"{name} {count}" + HOSTILE[name] * count
        start = time.thread_time()
        with contextlib.suppress(TemplateError):
            render(template, context=new_context())
        return time.thread_time() - start

    small = min(seconds(1_000 + turn) for turn in range(3))
    large = min(seconds(8_000 + turn) for turn in range(3))
    assert large < 40 * small + 0.05
