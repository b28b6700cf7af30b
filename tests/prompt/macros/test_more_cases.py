"""What the language says where several of its rules meet; each text is derived from the rules, not from the code."""

from __future__ import annotations

import pytest

from marginalia.prompt.templates import check, render
from tests.prompt.macros.world import new_context

CASES = [
    # Braces without a partner never swallow what follows.
    ("Test {{ hehe {{user}}", "Test {{ hehe Alice"),
    ("{{char}: napping. {{user}}", "{{char}: napping. Alice"),
    ("{{{{char}}}}", "{{Alice}}"),
    ("}} {{user}} {{", "}} Alice {{"),
    # Arguments: too many join the last, none are split that a macro printed, none may be given to a plain macro.
    ("{{setvar::x::{{user}}::more}}{{getvar::x}}", "Alice::more"),
    ("{{setvar::l::a::b}}{{random::{{getvar::l}}}}", "a::b"),
    ("{{user::x}} {{user::{{user}}}}", "{{user::x}} {{user::Alice}}"),
    ("{{USER}} {{Char}} {{StyLe}}", "Alice Alice Error"),
    # Blocks inside blocks, with and without '#'.
    ("{{reverse}}a{{reverse}}bc{{/reverse}}d{{/reverse}}", "dbca"),
    ("{{#if user}}\n  x\n{{/if}}", "\n  x\n"),
    ("{{if user}}\n  x\n   y\n{{/if}}", "x\n y"),
    ("{{#if user}}{{if nothing}}a{{/if}}{{if no::x}}b{{/if}}{{/if}}", "ab{{/if}}"),
    ("{{if !user}}a{{else if .x}}b{{else}}c{{/if}}", "c"),
    ("{{#unless style}}a{{else}}b{{/unless}}{{^style}}c{{else}}d{{/style}}", "bd"),
    ("{{^nothing}}none{{/nothing}}{{#nothing}}some{{/nothing}}", "none"),
    ("{{#style}}<{{.}}|{{user}}>{{/style}}", "<terse|Alice>"),
    ("{{if user}}{{setvar::a::1}}{{else}}{{setvar::a::2}}{{/if}}{{getvar::a}}", "1"),
    # Escapes and markers are the template's own, never a value's.
    (r"\{{user}} \\{{user}} \{x\}", r"{{user}} \Alice {x}"),
    (r"{{setvar::a::\{\{user\}\}}}{{getvar::a}}{{.a}}", "{{user}}{{user}}"),
    ("<user> & <BOT> & <userx>", "Alice & Alice & <userx>"),
    ("{{setvar::a::x{{trim}}}}\n\n{{getvar::a}}", "\n\nx"),
    ("a\r\n\n{{trim}}\n b", "a b"),
    # Numbers are exact, texts stay as they were written.
    ("{{addvar::x::0.1}}{{addvar::x::0.2}}{{getvar::x}}", "0.3"),
    ("{{setvar::x::007}}{{getvar::x}} {{addvar::x::1}}{{getvar::x}}", "007 8"),
    ("{{.n++}}{{.n++}}{{.n--}}", "121"),
    ("{{$g = 3}}{{$g * 2}}|{{$g += 0.50}}{{$g}}", "{{$g * 2}}|3.5"),
    ("{{.t = b}}{{.t += c}}{{.t -= 1}}{{.t}}", "bc"),
    ("{{.x || none}} {{.x ?? unset}} {{.x ??= 4}}{{.x ??= 5}}{{.x}}", "none unset 444"),
    # Truth.
    *(
        (f"{{{{.a = {value}}}}}{{{{if .a}}}}t{{{{else}}}}f{{{{/if}}}}", truth)
        for value, truth in {"00": "t", "-1": "t", "null": "t", "OFF": "f", "No": "f", "0": "f"}.items()
    ),
    ("{{if {{.hp}} }}t{{else}}f{{/if}}{{if .hp == }}t{{else}}f{{/if}}", "ft"),
]


@pytest.mark.parametrize(("template", "text"), CASES)
def test_where_rules_meet(template: str, text: str) -> None:
    assert render(template, context=new_context()).text == text
    assert check(template, kind="user_prompt").valid
