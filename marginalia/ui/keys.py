"""The keys of the page, and what each does."""

from __future__ import annotations

KEYS = {
    "ctrl+Enter": "generate",
    "Escape": "stop",
    "alt+ArrowLeft": "previous version",
    "alt+ArrowRight": "next version",
    "alt+r": "regenerate",
    "alt+s": "swipe",
    "alt+ArrowUp": "previous",
    "alt+ArrowDown": "next",
    "e": "edit",
    "i": "instructions",
    "1": "tab 0",
    "2": "tab 1",
    "3": "tab 2",
    "4": "tab 3",
    "5": "tab 4",
    "b": "books",
    "c": "contents",
    "l": "lorebooks",
    "m": "models",
    ",": "preferences",
    "p": "prompts",
    "x": "extensions",
    "f": "focus",
    "ctrl+z": "undo",
    "ctrl+shift+z": "redo",
    "ctrl+f": "search",
    "?": "keys",
}

#: The sheets that open over the page: what opens them, what people call them, their key.
PLACES: tuple[tuple[str, str, str], ...] = (
    ("books", "Books", "B"),
    ("contents", "Contents of this book", "C"),
    ("lorebooks", "Lorebooks", "L"),
    ("models", "Models", "M"),
    ("protocols", "Protocols", ""),
    ("prompts", "Prompts", "P"),
    ("extensions", "Extensions", "X"),
    ("copies", "Copies", ""),
    ("preferences", "Settings", ","),
    ("keys", "All keys", "?"),
)
