"""A book's settings as a form edits them."""

from __future__ import annotations

from dataclasses import replace

import param

from marginalia.models.base import Model, chosen, cleaned, shown, text_or_none
from marginalia.values import PLAIN_PROMPTS, TEMPLATES, Book, LorebookId, Prompts, ProtocolId, ProviderId

_TEXTS = (*TEMPLATES, *PLAIN_PROMPTS)


class PromptsModel(Model):
    """The texts a prompt is made of. An empty one asks the user's defaults, then the built-in ones."""

    master_template = param.String(
        default="",
        label="Master template",
        doc="The system message: who the model is, and where lore and summary go. Empty: the default.",
    )
    user_prompt = param.String(
        default="",
        label="Request template",
        doc="The last message: what the model is asked, with the fields of the turn. Empty: the default.",
    )
    pov = param.String(default="", label="Point of view", doc="For instance: third person limited.")
    tense = param.String(default="", label="Tense", doc="For instance: past tense.")
    style = param.String(default="", label="Style", doc="How the prose shall sound, in a sentence or two.")
    summary_prompt = param.String(
        default="", label="Summary template", doc="How a stretch of story is summarised. Empty: the default."
    )
    meta_summary_prompt = param.String(
        default="", label="Template for merging", doc="How summaries are merged into one. Empty: the default."
    )
    syntax: param.Selector[str] = param.Selector(
        default="macros",
        objects=["macros", "jinja"],
        label="Syntax",
        doc="macros: {{name}} and Handlebars sections. jinja: Jinja2 in a sandbox.",
    )
    jinja = param.List(
        default=[],
        item_type=str,
        label="In Jinja",
        doc="Templates that are in Jinja whatever the syntax says.",
    )

    def take_prompts(self, prompts: Prompts) -> None:
        """Show *prompts*."""
        texts = {name: shown(getattr(prompts, name)) for name in _TEXTS}
        self.param.update(**texts, syntax=prompts.syntax, jinja=list(prompts.jinja))

    def freeze_prompts(self) -> Prompts:
        """The prompts as typed; a blank text is ``None``."""
        texts = {name: text_or_none(getattr(self, name)) for name in _TEXTS}
        return Prompts(
            **texts,
            syntax="jinja" if chosen(self, "syntax") == "jinja" else "macros",
            jinja=tuple(name for name in TEMPLATES if name in self.jinja),
        )


class BookModel(PromptsModel):
    """A book: what it is called, what writes it, what it knows, and how it is asked for."""

    named = True

    name = param.String(default="", constant=False, label="Title", doc="What the book is called.")
    description = param.String(
        default="", label="Description", doc="What the book is about; templates can use it."
    )
    tags = param.List(
        default=[],
        item_type=str,
        label="Tags",
        doc="Lore entries with one of these tags may be used in this book.",
    )
    provider_id = param.Integer(
        default=None, allow_None=True, label="Model", doc="Which model writes this book."
    )
    protocol_id = param.Integer(
        default=None, allow_None=True, label="Protocol", doc="How the model is asked."
    )
    lorebook_id = param.Integer(
        default=None, allow_None=True, label="Lorebook", doc="What the story can draw on."
    )

    def take(self, book: Book) -> None:
        """Show *book*."""
        self.param.update(
            name=book.name,
            description=book.description,
            tags=list(book.tags),
            provider_id=book.provider_id,
            protocol_id=book.protocol_id,
            lorebook_id=book.lorebook_id,
        )
        self.take_prompts(book.prompts)

    def freeze(self, book: Book) -> Book:
        """*book* with what was typed here."""
        return replace(
            book,
            name=self.name,
            description=self.description,
            tags=cleaned(self.tags),
            provider_id=None if self.provider_id is None else ProviderId(self.provider_id),
            protocol_id=None if self.protocol_id is None else ProtocolId(self.protocol_id),
            lorebook_id=None if self.lorebook_id is None else LorebookId(self.lorebook_id),
            prompts=self.freeze_prompts(),
        )
