"""Trees of loom-style writers: pyloom (nested), Loomsidian and exoloom (flat). Shapes: research/others.md, 3.8."""

from __future__ import annotations

from collections.abc import Sequence

from marginalia.formats.coerce import Json, Object, is_object, obj, one_line, pick, rows, text, texts
from marginalia.formats.stories.tree import Leaf, StoryCodec, StoryFile, in_order, without_blank_roots

_NOT_KEPT = frozenset({"text", "content", "children", "childrenIds", "parent_id", "parentId", "id"})


def _kept(raw: Object) -> Object:
    return {name: value for name, value in raw.items() if name not in _NOT_KEPT}


def _read_pyloom(document: Json, file: str) -> Sequence[StoryFile]:
    tree = obj(document)
    found: list[Leaf] = []
    queue: list[tuple[Object, str | None]] = [(_root(tree), None)]
    for raw, parent in queue:
        key = text(raw.get("id")) or f"node {len(found)}"
        edited = obj(raw.get("meta")).get("modified") is True
        found.append(Leaf(key=key, parent=parent, text=text(raw.get("text")), edited=edited, kept=_kept(raw)))
        queue += [(obj(child), key) for child in rows(raw.get("children")) if is_object(child)]
    chapters = [text(obj(each).get("title")) for each in obj(tree.get("chapters")).values()]
    return [
        StoryFile(
            format="pyloom",
            title="pyloom tree",
            name=file or one_line(next(iter(texts(chapters)), "")) or "Tree",
            leaves=without_blank_roots(_each_once(found)),
            active=text(tree.get("selected_node_id")),
            kept={name: value for name, value in tree.items() if name not in {"root", "children", "text"}},
        )
    ]


def _root(tree: Object) -> Object:
    """The first node; the oldest files are nothing but it."""
    return obj(tree["root"]) if is_object(tree.get("root")) else tree


def _sees_pyloom(document: Json) -> bool:
    root = _root(obj(document))
    return isinstance(root.get("text"), str) and isinstance(root.get("children"), list)


def _each_once(found: list[Leaf]) -> tuple[Leaf, ...]:
    """A key that stands twice is no key: the later part gets another, its children stay with the first."""
    seen: set[str] = set()
    leaves: list[Leaf] = []
    for number, each in enumerate(found):
        key = each.key if each.key not in seen else f"{each.key} again {number}"
        seen.add(key)
        leaves.append(Leaf(key=key, parent=each.parent, text=each.text, edited=each.edited, kept=each.kept))
    return tuple(leaves)


def _flat(nodes: Object, text_name: str) -> tuple[Leaf, ...]:
    found: list[Leaf] = []
    for key, value in nodes.items():
        raw = obj(value)
        parent = raw.get("parentId")
        mine = raw.get("authorType") == "USER"
        found.append(
            Leaf(
                key=key,
                parent=None if parent is None else text(parent),
                text=text(raw.get(text_name)),
                model="" if mine else text(raw.get("authorName")),
                kept=_kept(raw),
            )
        )
    return without_blank_roots(in_order(found))


def _read_loomsidian(document: Json, file: str) -> Sequence[StoryFile]:
    return [_loomsidian(obj(document), file or "Tree")]


def _loomsidian(state: Object, name: str) -> StoryFile:
    return StoryFile(
        format="loomsidian",
        title="Loomsidian tree",
        name=name,
        leaves=_flat(obj(state.get("nodes")), "text"),
        active=text(state.get("current")),
        kept={key: value for key, value in state.items() if key != "nodes"},
    )


def _sees_vault(document: Json) -> bool:
    """Loomsidian keeps the states of all notes in one file, each under the note's id."""
    notes = obj(obj(document).get("state"))
    return bool(notes) and all(_sees_loomsidian(each) for each in notes.values())


def _read_vault(document: Json, file: str) -> Sequence[StoryFile]:
    return [
        _loomsidian(obj(each), f"{file} {key}".strip()) for key, each in obj(obj(document)["state"]).items()
    ]


def _read_exoloom(document: Json, file: str) -> Sequence[StoryFile]:
    tree = obj(obj(document).get("tree"))
    leaves = _flat(obj(tree.get("nodes")), "content")
    return [
        StoryFile(
            format="exoloom",
            title="exoloom tree",
            name=one_line(text(tree.get("title"))) or file or "Tree",
            description=text(pick(tree, "description") or ""),
            leaves=leaves,
            active=_first_line(leaves),
            kept={key: value for key, value in obj(document).items() if key != "tree"},
        )
    ]


def _first_line(leaves: Sequence[Leaf]) -> str | None:
    """The end of the line that follows the first child at every step."""
    first = {each.parent: each.key for each in reversed(leaves)}
    at = first.get(None)
    while at in first:
        at = first[at]
    return at


def _sees_loomsidian(document: Json) -> bool:
    nodes = obj(obj(document).get("nodes"))
    return "current" in obj(document) and all("text" in obj(each) for each in nodes.values())


PYLOOM = StoryCodec(
    id="pyloom",
    title="pyloom tree",
    sees=_sees_pyloom,
    read=_read_pyloom,
)
LOOMSIDIAN = StoryCodec(
    id="loomsidian",
    title="Loomsidian tree",
    sees=lambda document: is_object(obj(document).get("nodes")) and _sees_loomsidian(document),
    read=_read_loomsidian,
)
LOOMSIDIAN_VAULT = StoryCodec(
    id="loomsidian_vault", title="Loomsidian vault", sees=_sees_vault, read=_read_vault
)
EXOLOOM = StoryCodec(
    id="exoloom",
    title="exoloom tree",
    sees=lambda document: is_object(obj(obj(document).get("tree")).get("nodes")),
    read=_read_exoloom,
)
