"""The sentences of the reference that the code has no place for; a test fails when one is missing or left over."""

from __future__ import annotations

from collections.abc import Mapping

from marginalia.prompt.macros.meanings import MEANINGS

MACROS = MEANINGS
"""What each macro prints, by its names; the app shows it too."""

STEPS: Mapping[str, str] = {
    "PREPARE_GENERATION": "Is there a model to ask, and a protocol how?",
    "PREPARE_CONSTANTS": "The templates are chosen, and the request is rendered.",
    "PROCESS_LOREBOOK": "Lore is collected, decided about, rendered, and put where it goes.",
    "PREPARE_CONTENT": "Summaries and the parts that fit are chosen, and the system prompt is rendered.",
    "PREPARE_PAYLOAD": "The messages are built. A preview ends here.",
    "GENERATE_NEW_MESSAGE": "The part is created, or cleared when it is written anew.",
    "INFERENCE": "The model is asked, and its answer streams into the part.",
    "CLEANUP": "Always the last: what came is kept, what did not is taken back.",
}

BOOK_SETTINGS: Mapping[str, str] = {
    "lore_tokens": "the most tokens that all lore together may have; 0 or missing: no limit",
    "lore_share": "the same as a percentage of the context; the smaller one counts",
    "stable_layout": "`true`: what changes from turn to turn stands at the end of the prompt, so that a server's "
    "cache reaches further",
    "most_parts": "the most parts that are sent, however many would fit; 0 or missing: no limit",
    "authors_note": 'the author\'s note: `{"text", "private", "depth", "role", "on"}`',
}
"""Keys of `Book.settings`. An extension keeps its data under `extension.` and its name."""

USER_SETTINGS: Mapping[str, str] = {
    "prompts": "the prompts that all books fall back on; see `settings.set_default_prompts`",
    "extensions": 'which extensions were switched: `{"on": [], "off": []}`',
    "models.learned": "what servers refused and are sent differently since: address, model, what is unusual",
    "counting.factors": "how estimates of tokens are corrected for each model, learned from what servers reported",
    "books.opened": "when each book was last opened in the app",
    "desk.preferences": "how the app reads (`font`, `size`, `measure`, `theme`), and what new books are written by "
    "(`provider_id`, `protocol_id`)",
    "desk.panes": "which sides of the page are open, and how wide they are",
    "desk.welcomed": "whether the sentences of the first visit were read",
    "extension.snippets": 'the texts that `{{snippet::name}}` prints: `{"texts": {}}`',
}
"""Keys of `studio.settings`."""

ENVIRONMENT: Mapping[str, str] = {
    "MARGINALIA_EXACT_COUNTS": "`no`: no server is asked to count tokens, all figures are estimates",
    "MARGINALIA_HOME": "the folder of the database, keys and backups; else the platform's folder for user data",
    "MARGINALIA_KEYS_PASSPHRASE": "seals the file of API keys; without it, its key lies beside it, for you alone",
    "MARGINALIA_LOCAL_MODEL": "a GGUF file to use in the place of the bundled model",
    "MARGINALIA_PROVIDER_HOSTS": "the hosts that models may be asked at, with commas between them: "
    "`models.example`, `models.example:8443`, `*.models.example`; missing: any",
    "MARGINALIA_RUNS_PER_USER": "how many generations each person may have going at once; 0 or missing: any number",
    "MARGINALIA_SUMMARIES_PER_USER": "the same for summaries",
}

PROVIDER_SETTINGS: Mapping[str, str] = {
    "exact_counts": "whether its server is asked to count texts; without it, those on this machine or its network are",
    "first_token_timeout": "the seconds that it may take for its first token (else its `timeout`, else 900)",
}

COMMANDS: Mapping[str, str] = {
    "serve": "Start the app for a browser.",
    "import": "Bring in lorebooks, cards, stories and backups of books.",
    "export": "Write the active branch of a book to a file.",
    "backup": "Keep and bring back books, or the whole database.",
    "backup book": "Write one file with everything of a book.",
    "backup show": "Check a backup of a book, and say what is in it.",
    "backup restore": "Bring a book back from its backup.",
    "backup database": "Copy the whole database, and drop copies that are too many.",
    "backup list": "List the copies of the database.",
    "backup verify": "Read everything in copies of the database.",
    "backup put-back": "Put a copy in the place of the database, which is moved aside.",
    "backup mend": "Save what a damaged journal holds up to the damaged place; the files are moved aside.",
    "user": "Who may sign in to `marginalia serve --auth`.",
    "user add": "Let somebody sign in, or change a password; it is typed, or piped in.",
    "user remove": "Let somebody in no longer; the books stay.",
    "user list": "List who may sign in.",
    "doctor": "Look for trouble, and say what to do about it.",
}

EVENTS = """# Events

The 23 points of a generation at which an extension can look and change. A listener gets `(run, event)` and answers
`None`, a changed event (`dataclasses.replace`), or `Final(event)`. All events have `book`, `turn` and `request`.
See [events and steps](../howto/events-and-steps.md).
"""

STEPS_INTRO = """# Steps

A generation is these eight coroutines, `async def step(run, known)`, in this order; a preview is the first five. Each
takes the event before it and gives what is known after it. `mg.steps` has the names.

"""

MACROS_INTRO = """# Macros

A template calls a macro as `{{name}}`, with arguments as `{{name::first::second}}`; upper and lower case do not matter.
Two short forms: `{{.name}}` is a variable of the branch, `{{$name}}` one of the book. `{{#if name}} … {{else}} …
{{/if}}`, `{{#unless}}` and `{{#each}}` are blocks. What stands between `{{macro}}` and `{{/macro}}` is the last
argument of a macro that lacks one. A name that nobody knows prints `Error`.

"""

WITHOUT_MEANING = """
## Without meaning in a book

These names of chat applications print nothing, so that imported lore keeps working; an extension may give them a
meaning: """

DIALECT = """## Of a provider, beside its form

Keys of `Provider.settings`, for servers that want something else than usual."""

OF_A_BOOK = """## Of a book, beside its form

Keys of `Book.settings`. An extension keeps its data under `extension.` and its name.

"""

COMMAND_LINE = """# Command line

`marginalia COMMAND`, or `python -m marginalia COMMAND`. Progress goes to standard error; the exit code is 0 when
everything went well.
"""
