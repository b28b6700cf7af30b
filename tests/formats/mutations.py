"""Small harm of every kind that files come to: cut, mixed up, of wrong types, too deep."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1.5e300,
    "",
    "  ",
    "\u0000",
    "/(((/i",
    "/(a+)+$/",
    "{{#each}}",
    "@@depth x\n@@@role nobody\n@@",
    "\ud800",
    [],
    {},
    [[]],
    [None, 1, "x", {"y": []}],
    {"id": {}, "text": [], "children": {}},
    "a,b,/c,d/,",
    "9" * 400,
)


def mutated(data: bytes, dice: Random) -> bytes:
    """The file with one to four harms."""
    try:
        document = json.loads(data)
    except ValueError:
        return cut(data, dice)
    if dice.random() < 0.2:
        return cut(data, dice)
    for _ in range(dice.randint(1, 4)):
        document = harmed(document, dice)
    return json.dumps(document).encode("utf-8", "surrogatepass")


def cut(data: bytes, dice: Random) -> bytes:
    at, length = dice.randrange(len(data)), dice.randrange(1, 40)
    kind = dice.randrange(3)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + data[at + length :]
    return data[:at] + dice.randbytes(length) + data[at:]


def harmed(document: Any, dice: Random) -> Any:
    holders = [document]
    for each in holders:
        inside = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        holders += [one for one in inside if isinstance(one, dict | list) and one]
    holder = dice.choice(holders)
    odd = json.loads(json.dumps(dice.choice(ODD)))
    if isinstance(holder, dict) and holder:
        name = dice.choice(list(holder))
        kind = dice.randrange(4)
        if kind == 0:
            del holder[name]
        elif kind == 1:
            holder[dice.choice(list(holder))] = holder[name]
        else:
            holder[name] = odd
    elif isinstance(holder, list) and holder:
        at = dice.randrange(len(holder))
        holder[at] = odd if dice.random() < 0.7 else json.loads(json.dumps(dice.choice(holder)))
    else:
        return odd
    return document
