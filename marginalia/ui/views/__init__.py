"""The views of the desk, one per file: each shows one thing and asks the desk for what a person wants of it."""
