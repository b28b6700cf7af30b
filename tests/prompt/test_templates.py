"""Rendering and checking templates, seen from outside."""

from __future__ import annotations

import pytest

from marginalia.errors import InvalidInput, TemplateError
from marginalia.prompt.context import Span
from marginalia.prompt.macros.builtin import MACROS
from marginalia.prompt.macros.table import Invocation
from marginalia.prompt.templates import check, known_names, render
from tests.prompt.macros.world import new_context


def test_no_template_is_the_empty_text() -> None:
    assert render(None, context=new_context()).text == ""
    assert render("", context=new_context()).text == ""


def test_data_wins_over_the_context_and_none_asks_the_context() -> None:
    context = new_context()
    assert render("{{style}}", context=context, data={"style": "lush"}).text == "lush"
    assert render("{{style}}", context=context, data={"style": None}).text == "terse"
    assert render("[{{style}}]", context=context, data={"style": ""}).text == "[]"


def test_a_known_name_without_value_is_empty_and_an_unknown_one_an_error() -> None:
    found = render(
        "[{{summaries}}] {{text}} {{text}} {{tpyo}}", context=new_context(), data={"summaries": None}
    )
    assert found.text == "[] Error Error Error"
    assert found.unknown == ("text", "tpyo")


def test_spans_say_where_the_data_stands() -> None:
    found = render("Lore: {{backgroundLore}}!", context=new_context(), data={"backgroundLore": "Varro"})
    assert found.spans == (Span(6, 11, "backgroundLore"),)


@pytest.mark.parametrize(
    "template",
    [
        "{{#backgroundLore}}<{{.}}>{{/backgroundLore}}",
        "{{if user}}\n    {{#if style}}{{backgroundLore}}{{/if}}\n{{/if}}",
        "A\n\n{{trim}}\n{{backgroundLore}}\n{{trim}}\n\nB",
        "{{#unless nothing}}{{#if user}}{{{backgroundLore}}}{{/if}}{{/unless}}{{&backgroundLore}}",
        "\n{{if user}}\n\n   indented\n   {{backgroundLore}} and {{backgroundLore}}   {{/if}}{{trim}}\n",
    ],
)
def test_spans_stay_exact_in_blocks_and_after_trimming(template: str) -> None:
    value = "Varro\n   keeps the tower"
    found = render(template, context=new_context(), data={"backgroundLore": value})
    assert found.spans
    for span in found.spans:
        kept = found.text[span.start : span.end]
        assert [line.strip() for line in kept.splitlines()] == [line.strip() for line in value.splitlines()]


def test_a_value_that_went_through_a_macro_has_no_span() -> None:
    found = render(
        "{{reverse::{{style}}}}{{setvar::x::{{style}}}}{{.x}}", context=new_context(), data={"style": "a b"}
    )
    assert found.text == "b aa b"
    assert found.spans == ()


def test_an_emptied_value_leaves_no_span() -> None:
    found = render("{{if user}}{{style}}{{/if}}", context=new_context(), data={"style": "   "})
    assert (found.text, found.spans) == ("", ())


def test_a_template_that_fails_changes_no_variable() -> None:
    context = new_context(hp="5")
    with pytest.raises(TemplateError):
        render("{{.hp++}}{{$day = 1}}{{.x = aaaaaaaa}}" + "{{.x += {{.x}}}}" * 40, context=context)
    assert context.local == {"hp": "5"}
    assert context.shared == {}


@pytest.mark.parametrize(
    "template",
    [
        "{{reverse::" * 61 + "x" + "}}" * 61,
        "{{if user}}" * 61 + "x" + "{{/if}}" * 61,
        "{{#if user}}" * 50 + "{{reverse::" * 30 + "x" + "}}" * 30 + "{{/if}}" * 50,
    ],
)
def test_nesting_without_end_is_refused(template: str) -> None:
    with pytest.raises(TemplateError, match="deep"):
        render(template, context=new_context())


def test_nesting_up_to_the_limit_is_rendered() -> None:
    template = "{{if user}}" * 59 + "x" + "{{/if}}" * 59
    assert render(template, context=new_context()).text == "x"


def test_a_loop_stops_at_its_steps_and_its_output() -> None:
    many = {"items": ["x" * 100] * 1_000}
    with pytest.raises(TemplateError, match="steps"):
        render("{{#each items}}{{#each items}}.{{/each}}{{/each}}", context=new_context(), data=many)
    with pytest.raises(TemplateError, match="characters"):
        render("{{#each items}}{{#each items}}{{items}}{{/each}}{{/each}}", context=new_context(), data=many)


def test_a_mistake_is_a_sentence_with_its_place() -> None:
    with pytest.raises(
        TemplateError, match=r"^Line 2, column 3: \{\{#if style\}\} is never closed\. Add \{\{/if\}\}"
    ):
        render("Once\n  {{#if style}}upon", context=new_context())


def test_a_pick_depends_on_book_place_and_position_alone() -> None:
    template = "{{pick::a::b::c::d}}{{pick::a::b::c::d}}{{pick::a::b::c::d}}"
    here = [render(template, context=new_context(seed=seed), place="lore 1").text for seed in range(3)]
    places = {render(template, context=new_context(), place=f"lore {number}").text for number in range(9)}
    assert len(set(here)) == 1
    assert len(places) > 1
    edited = render(f"A longer start. {template}", context=new_context(), place="lore 1").text
    assert edited.endswith(here[0])


def test_dice_come_from_the_run_and_a_fork_throws_the_same() -> None:
    context = new_context()
    estimate = render("{{roll::5d100}} {{random::a::b::c}}", context=context.fork()).text
    assert render("{{roll::5d100}} {{random::a::b::c}}", context=context).text == estimate


def shout(call: Invocation) -> str:
    return f"{call.argument(0).upper()}!"


def broken(call: Invocation) -> str:
    raise ZeroDivisionError("by nothing")


def test_an_extension_can_add_a_macro_without_touching_the_table_of_others() -> None:
    table = MACROS.with_macro("shout", shout, minimum=1)
    assert (
        render("{{Shout::{{user}}}} {{shout}} b {{/shout}}", context=new_context(), macros=table).text
        == "ALICE! B!"
    )
    assert render("{{shout::a}}", context=new_context()).text == "{{shout::a}}"
    assert render("{{shout::a}}", context=new_context(), macros=table, syntax="jinja").text == "A!"


def test_a_macro_of_an_extension_that_fails_is_the_templates_failure() -> None:
    table = MACROS.with_macro("broken", broken)
    with pytest.raises(
        TemplateError, match="Line 1, column 3: the macro 'broken' of an extension failed: by nothing"
    ):
        render("a {{broken}}", context=new_context(), macros=table)


@pytest.mark.parametrize("name", ["", "if", "Else", "1st", "a b", "a::b", "_x"])
def test_a_macro_needs_a_name_that_can_be_written(name: str) -> None:
    with pytest.raises(InvalidInput):
        MACROS.with_macro(name, shout)


def test_a_check_names_what_is_unknown_read_and_set() -> None:
    found = check(
        "{{if style}}{{.hp -= 2}}{{else}}{{getglobalvar::day}}{{/if}}"
        "{{#if sceneSeting}}x{{/if}}{{setvar::a::{{$b}}}}{{nmae}}",
        kind="user_prompt",
    )
    assert found.valid
    assert found.unknown == ("sceneSeting", "nmae")
    assert found.reads == ("$day", "$b")
    assert found.sets == (".hp", ".a")
    assert found.macros == ("getglobalvar", "setvar")


def test_a_check_finds_the_place_of_a_mistake() -> None:
    found = check("ok\n{{#each}}", kind="lore")
    assert (found.valid, found.line, found.column) == (False, 2, 1)
    assert "needs a name" in found.message


@pytest.mark.parametrize(
    ("template", "hint"),
    [
        ("{{char}: sleeps", "{{ has no partner"),
        ("sleeps }} here", "}} has no partner"),
        ("{% if x %}", "looks like Jinja"),
        ("{{ user|upper }}", "looks like Jinja"),
        ("{{ f(x) }}", "looks like Jinja"),
        ("a {{/if}}", "closes nothing"),
        ("{{if raining}}x{{/if}}", "always true"),
        ("{{weather::mild}}", "is no macro"),
        ("{{persona}}", "has no meaning here"),
    ],
)
def test_a_check_hints_at_what_is_probably_not_meant(template: str, hint: str) -> None:
    found = check(template, kind="lore")
    assert found.valid
    assert any(hint in each.text for each in found.hints)


def test_a_good_template_has_no_hints() -> None:
    assert (
        check("{{user}} is in {{sceneSetting}}.{{if style}} {{.mood}}{{/if}} {{! note }}", kind="lore").hints
        == ()
    )


def test_what_is_known_depends_on_the_kind() -> None:
    assert check("{{text}}", kind="summary_prompt").unknown == ()
    assert check("{{text}}", kind="user_prompt").unknown == ("text",)
    assert check("{{summaryBlocks}}", kind="meta_summary_prompt").unknown == ()
    assert check("{{backgroundLore}} {{summaries}}", kind="master_template").unknown == ()
    assert "povCharacter" in known_names("lore")


def test_a_check_of_jinja_tells_names_from_its_own_and_from_macros() -> None:
    found = check(
        "{% for who in presentCharacters.split(',') %}{{ who }}{{ wrong }}{% endfor %}{{ user }}{{#if wether}}x{{/if}}",
        kind="lore",
        syntax="jinja",
    )
    assert found.valid
    assert found.unknown == ("wrong", "wether")
    [hint] = check("{{random}}a, b\n{{/random}}", kind="lore", syntax="jinja").hints
    assert (hint.line, "closes nothing" in hint.text) == (2, True)
    broken_one = check("\n\n{% if %}", kind="lore", syntax="jinja")
    assert (broken_one.valid, broken_one.line) == (False, 3)
