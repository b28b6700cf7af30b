"""What is remembered, and what is forgotten first."""

from __future__ import annotations

from marginalia.store.memory import Key, Memory


def key(number: int) -> Key[str]:
    return Key("text", number)


def test_the_least_used_values_are_forgotten_first() -> None:
    memory = Memory(lambda value: len(str(value)), room=30)
    for number in range(3):
        memory.recall(key(number), lambda: "x" * 10)
    memory.recall(key(0), lambda: "never")
    memory.recall(key(3), lambda: "x" * 10)
    assert [memory.known(key(number)) is not None for number in range(4)] == [True, False, True, True]


def test_a_value_too_large_for_all_is_the_only_one_kept() -> None:
    memory = Memory(lambda value: len(str(value)), room=30)
    memory.recall(key(0), lambda: "x")
    memory.recall(key(1), lambda: "x" * 100)
    assert memory.known(key(0)) is None
    assert memory.known(key(1)) == "x" * 100


def test_publishing_replaces_and_counts() -> None:
    memory = Memory(lambda _value: 0)
    memory.recall(key(0), lambda: "old")
    before = memory.version
    memory.publish({key(0): "new"}, {})
    assert memory.recall(key(0), lambda: "never") == "new"
    assert memory.version == before + 1
    assert memory._used == 500


def test_only_what_was_looked_at_counts_as_changed() -> None:
    memory = Memory(lambda _value: 0)
    before = memory.version
    memory.publish({key(0): "new"}, {key(1): "loaded"})
    assert memory.changed_since(before, [key(0)])
    assert not memory.changed_since(before, [key(1), key(2)])
    assert not memory.changed_since(memory.version, [key(0)])
    assert memory.known(key(1)) == "loaded"
