"""What a session has open and how it is doing, as the parameters that views follow."""

from __future__ import annotations

import param

from marginalia.models import TurnInput
from marginalia.ui.troubles import QUIET, Notice
from marginalia.values import Book


class DeskState(param.Parameterized):
    """The state of a desk, without what it does. Only the desk changes it, apart from ``tab`` and the page's size."""

    book: param.ClassSelector[Book | None] = param.ClassSelector(
        class_=Book, default=None, doc="The open book."
    )
    turn: param.ClassSelector[TurnInput] = param.ClassSelector(
        class_=TurnInput, default=TurnInput(), instantiate=True, doc="What is typed."
    )
    shape = param.Parameter(default=None, doc="The story as it is now: a Shape.")
    library = param.Parameter(default=None, doc="What can be chosen: a Library.")
    prompt = param.Parameter(default=None, doc="What would be sent now: a Prompt.")
    budget = param.Parameter(default=None, doc="What it costs, also when it does not fit: a Budget.")
    unsendable = param.String(default="", doc="Why nothing can be sent now; empty when it can.")
    run = param.Parameter(default=None, doc="What is being written, or was last: a Run.")
    running = param.Boolean(default=False, doc="Whether something is being written.")
    beat = param.Integer(default=0, doc="Grows while text streams in, a few times a second.")
    trouble = param.ClassSelector(class_=Notice, default=QUIET, doc="What went wrong.")
    tab = param.Integer(default=0, bounds=(0, 3), doc="Which tab of the inspector is open.")
    show = param.Integer(default=0, doc="The number of the part to go to; 0: none.")
    narrow = param.Boolean(default=False, doc="Whether the page is too narrow for its sides.")
    tight = param.Boolean(default=False, doc="Whether it has room for one of them only.")
    wished = param.Parameter(default=None, doc="What shall open over the page: a Wish.")
    model_state = param.Dict(default={"kind": "none", "short": "", "text": ""}, doc="How the model is.")
