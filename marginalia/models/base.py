"""What every model shares: a typed constructor, a name that starts empty, texts cleaned on the way out."""

from __future__ import annotations

from typing import Any, ClassVar

import param


class Model(param.Parameterized):
    """The root of the models. ``named`` ones have a name that people give; param would make one up."""

    named: ClassVar[bool] = False

    def __init__(self, **params: Any) -> None:  # noqa: ANN401 - the parameters of a subclass
        if self.named:
            params.setdefault("name", "")
        # param leaves its constructor untyped
        super().__init__(**params)  # type: ignore[no-untyped-call] # pyright: ignore[reportUnknownMemberType]


def text_or_none(text: str) -> str | None:
    """*text*, or ``None`` for an empty or blank one: a field that was left alone."""
    return text if text.strip() else None


def shown(text: str | None) -> str:
    """What a text field shows for a value that may be missing."""
    return text or ""


def cleaned(tags: list[str]) -> tuple[str, ...]:
    """Tags without outer blanks, each once, in their order."""
    return tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))


def chosen(model: Model, name: str) -> str:
    """The text that a selector holds; param leaves its type open."""
    return str(getattr(model, name))
