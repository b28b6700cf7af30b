"""The macro language: SillyTavern's macros and Handlebars sections, with a parser and an evaluator of its own.

``scanner`` pairs the braces, ``parser`` and ``blocks`` say what the tags mean, ``tree`` is the result,
``evaluator`` walks it. ``table`` and ``builtin`` hold the macros.
"""
