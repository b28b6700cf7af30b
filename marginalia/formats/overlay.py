"""Putting an edited entry back onto its original: what was not touched here stays as the other tool wrote it."""

from __future__ import annotations

from marginalia.formats.coerce import Json, Object, is_object, obj


def overlay(raw: Json, then: Object, now: Object) -> Json:
    """The original with what differs between *then* (the entry as it came in) and *now*, both written in its format.

    So an entry that nobody edited gives back exactly its original, with everything in it that nobody here knows.
    """
    if then == now or not is_object(raw):
        return raw if then == now else now
    result = dict(obj(raw))
    for name, value in now.items():
        before = then.get(name)
        if value == before:
            continue
        inside = is_object(value) and is_object(result.get(name)) and is_object(before)
        result[name] = overlay(result[name], obj(before), obj(value)) if inside else value
    for name in then.keys() - now.keys():
        result.pop(name, None)
    return result
