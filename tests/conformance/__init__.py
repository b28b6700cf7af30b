"""Runs black-box cases (``python -m tests.conformance CASES.json``) against the public API of Marginalia.

A case says what the world is (``given``), what is done (``when``) and what must come out (``then``). The adapter
knows the vocabulary of the cases and the public names of the product, and no case by its id.
"""
