"""Jinja with lists of what is allowed, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from jinja2 import UndefinedError, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

from marginalia.errors import TemplateError
from marginalia.prompt.sandbox.extension import MacroTags
from marginalia.prompt.sandbox.filters import FILTERS
from marginalia.prompt.sandbox.limits import MAX_CALLS, allow, size
from marginalia.prompt.sandbox.operators import MOST_BITS, OPERATORS, bits, limited_range
from marginalia.prompt.sandbox.runs import NamesContext, Unknown, finalize, run_of

_TEST_NAMES = """
    defined undefined none string number integer float boolean sequence mapping iterable even odd divisibleby
    eq equalto ne gt greaterthan ge lt lessthan le in true false lower upper
"""
_TEXT_METHODS = frozenset(
    {"upper", "lower", "title", "capitalize", "strip", "lstrip", "rstrip", "startswith", "endswith", "split"}
)
_MAPPING_METHODS = frozenset({"items", "keys", "values", "get"})
_LOOP_NAMES = frozenset(
    {"index", "index0", "revindex", "revindex0", "first", "last", "length", "depth", "depth0"}
    | {"previtem", "nextitem", "cycle", "changed"}
)


class Environment(ImmutableSandboxedEnvironment):
    """Jinja with lists of what is allowed, and nothing else."""

    intercepted_binops = frozenset(OPERATORS)
    context_class = NamesContext

    def __init__(self) -> None:
        super().__init__(
            extensions=[MacroTags],
            optimized=False,
            autoescape=False,
            keep_trailing_newline=True,
            finalize=finalize,
            undefined=Unknown,
            cache_size=0,
        )
        self.globals = {"range": limited_range}
        self.filters = {name: _metered(function) for name, function in FILTERS.items()}
        tests = cast("Mapping[str, Callable[..., Any]]", self.tests)
        self.tests = {name: _metered(tests[name]) for name in _TEST_NAMES.split()}

    def getattr(self, obj: Any, attribute: str) -> Any:  # noqa: ANN401 - Jinja's signature
        """An item of a mapping, an allowed method, or something about a loop; nothing else has attributes."""
        if isinstance(obj, Unknown):
            raise UndefinedError(obj.message)
        if isinstance(obj, Mapping) and attribute in obj:
            return cast("Mapping[str, Any]", obj)[attribute]
        allowed = _allowed(cast("object", obj))
        if attribute in allowed:
            return getattr(cast("object", obj), attribute)
        if attribute.startswith("_") or hasattr(cast("object", obj), attribute):
            raise SecurityError(f"{attribute!r} of a value is out of reach.")
        return self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:  # noqa: ANN401 - Jinja's signature
        """An item of a list, a text or a mapping."""
        if isinstance(obj, Mapping | list | tuple | str | range):
            try:
                return cast("Any", obj)[argument]
            except (LookupError, TypeError):
                return self.undefined(obj=obj, name=argument)
        if isinstance(argument, str):
            return self.getattr(obj, argument)
        return self.undefined(obj=obj, name=argument)

    def is_safe_callable(self, obj: Any) -> bool:  # noqa: ANN401 - Jinja's signature
        """Macros, loops, ``range``, the allowed methods and our own tags."""
        if obj is limited_range or isinstance(obj, Macro | LoopContext):
            return True
        owner: object = getattr(obj, "__self__", None)
        return isinstance(owner, MacroTags) or (
            owner is not None and getattr(obj, "__name__", "") in _allowed(owner)
        )

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401, N805, PYI063 - Jinja's signature
        """Call what may be called, not too deep."""
        run = run_of(__context)
        run.calls += 1
        try:
            if not __self.is_safe_callable(__obj):
                raise TemplateError("The template was stopped: it calls something that cannot be called.")
            if run.calls > MAX_CALLS:
                raise TemplateError(
                    f"The template was stopped: calls stand inside each other {MAX_CALLS} deep."
                )
            result = super().call(__context, __obj, *args, **kwargs)
            run.charge(1, len(result) if isinstance(result, str) else 0)
            return result
        finally:
            run.calls -= 1

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401 - Jinja's signature
        """An operator, with the size of its result checked."""
        run_of(context).charge()
        result = OPERATORS[operator](left, right)
        if bits(result) > MOST_BITS:
            raise TemplateError("The template was stopped: a number is too large.")
        return result


def _allowed(obj: object) -> frozenset[str]:
    if isinstance(obj, str):
        return _TEXT_METHODS
    if isinstance(obj, Mapping):
        return _MAPPING_METHODS
    return _LOOP_NAMES if isinstance(obj, LoopContext) else frozenset()


def _metered(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter or test that counts itself and what it makes."""
    # Jinja notes on its own functions what they want to be called with.
    kind = getattr(getattr(function, "jinja_pass_arg", None), "name", "")

    @pass_context
    def metered(context: Context, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - Jinja hands over anything
        run = run_of(context)
        run.charge()
        first = {
            "context": (context,),
            "eval_context": (context.eval_ctx,),
            "environment": (context.environment,),
        }
        result = function(*first.get(kind, ()), *args, **kwargs)
        made = size(result)
        allow(made)
        run.charge(1, made)
        return result

    return metered
