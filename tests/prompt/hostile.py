"""Templates that want out of the sandbox, or never to end; with the names that they ask for."""

from __future__ import annotations

import json
from pathlib import Path

CASES = json.loads((Path(__file__).parent / "data" / "hostile_templates.json").read_text(encoding="utf-8"))
DATA = {"x": "y" * 1000, "data": [1, 2, 3], "d": {"a": 1}, "n": 9, "t": [1]}
AS_SET = (
    "{% set x = 'y' * 1000 %}{% set data = [1, 2, 3] %}{% set d = {'a': 1} %}{% set n = 9 %}{% set t = [1] %}"
)
"""``DATA``, for a place where a template gets other data."""

LONG = {
    "long sum": "{{ " + "1+" * 30_000 + "1 }}",
    "long not chain": "{{ " + "not " * 5_000 + "1 }}",
    "shorter not chain": "{{ " + "not " * 390 + "1 }}",
    "long attribute chain": "{{ x" + ".a" * 10_000 + " }}",
    "deep if": "{% if 1 %}" * 2_000 + "{% endif %}" * 2_000,
    "deeper if": "{% if 1 %}" * 400 + "{% endif %}" * 400,
    "nested loops": "{% for i in [1] %}" * 21 + "{% endfor %}" * 21,
    "deep brackets": "{{ " + "(" * 2_000 + "1" + ")" * 2_000 + " }}",
    "many tags": "{{ a }}" * 60_000,
    "fewer tags": "{{ a }}" * 5_000,
    "huge number": "{{ " + "9" * 200_000 + " }}",
    "shared lists": "{% set a = [x] * 10000 %}{{ a|map('upper')|list|length }}",
    "tests in tests": "{% for i in [1] * 9 %}{{ range(9999)|select('in', range(9999)|list)|list|length }}{% endfor %}",
    "captures": "{% set a %}"
    + "x" * 1000
    + "{% endset %}"
    + ("{% set a %}" + "{{ a }}" * 10 + "{% endset %}") * 6,
    "sorted again": "{% for a in range(9999) %}{% set z = range(9999)|sort %}{% endfor %}",
    "split again": "{% set t = 'a' * 90000 %}{% for i in range(9999) %}{{ t.split('a')|length }}{% endfor %}",
    "a tag of ours": "{% macro_print 7 %}",
    "itself": "{{ self }}",
    "generator": "{{ [1]|map('upper') }}",
}
MORE = {
    "lipsum": "{{ lipsum(n=100000) }}",
    "cycler": "{{ cycler.__init__.__globals__ }}",
    "joiner": "{{ joiner()() }}{{ joiner.__init__ }}",
    "urlize": "{{ ('a@' * 9000)|urlize }}",
    "xmlattr": "{{ {'a b': 1}|xmlattr }}",
    "group by an attribute": "{{ ['a']|groupby('__class__')|list }}",
    "frames of a generator": "{{ (['a']|map('upper')).gi_frame }}",
    "code of a macro": "{% macro m() %}{% endmacro %}{{ m.__code__ }}{{ m._func.__globals__ }}",
    "macro that calls itself": "{% macro m(a) %}{{ m(a ~ a) }}{% endmacro %}{{ m('aa') }}",
    "caller in a caller": "{% macro m() %}{{ caller() }}{{ m() }}{% endmacro %}{% call m() %}x{% endcall %}",
    "namespace": "{% set n = namespace(a='x') %}{% for i in range(99) %}{% set n.a = n.a ~ n.a %}{% endfor %}{{ n.a }}",
    "included": "{% include '/etc/passwd' %}",
    "imported": "{% import 'os' as os %}{{ os }}",
    "extended": "{% extends '/etc/passwd' %}",
    "debug": "{% debug %}",
    "padded": "{{ 'a'|center(999999999) }}",
    "indented": "{{ ('a\n' * 9000)|indent(99999) }}",
    "printed by format": "{{ '%0999999999d'|format(1) }}",
    "format by hand": "{{ '{0.__class__}'.format(1) }}",
    "percent": "{{ '%s' % 'x' * 999999999 }}",
    "translated": "{{ 'a'.translate({97: 'b' * 999999999}) }}",
    "joined": "{{ ('x' * 99999).join(['a'] * 9999) }}",
    "expanded": "{{ ('\t' * 9999).expandtabs(999999) }}",
    "context": "{{ self._TemplateReference__context }}",
    "shifted": "{{ 1.__lshift__(999999999) }}",
}
HOSTILE: dict[str, str] = {case["name"]: case["template"] for case in CASES if case["template"]} | LONG | MORE
