"""Step 2, PREPARE_CONSTANTS: the parts of the prompt that do not depend on lore and story."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

import anyio.to_thread

from marginalia.pipeline.defaults import default_prompts
from marginalia.pipeline.events import (
    AfterPrepareConstantData,
    AfterPrepareGeneration,
    AfterStaticTemplateData,
    BeforePrepareConstantData,
    onward,
)
from marginalia.pipeline.ports import Library
from marginalia.pipeline.run import Run
from marginalia.pipeline.steps.context import rendered
from marginalia.prompt.context import Facts, GenerationType, TemplateContext, Variables
from marginalia.prompt.stages import Templates
from marginalia.story.parts import Part
from marginalia.story.tree import StoryTree
from marginalia.values import Book, NewPart, PartId, Provider, Regenerate, Request, Turn, replaced_part


async def prepare_constants(run: Run, known: BeforePrepareConstantData) -> AfterPrepareConstantData:
    """Choose the effective templates.

    Then render the user prompt in the context that all templates of the run share.
    """
    templates = effective_templates(known.book, known.provider, run)
    static = await run.emit(onward(known, AfterStaticTemplateData, templates=templates))
    run.context = await anyio.to_thread.run_sync(template_context, run, static)
    user_prompt = await rendered(
        run,
        static.templates.user_prompt,
        context=run.context,
        data=turn_data(static.turn),
        place="user_prompt",
        syntax=static.templates.user_syntax or static.templates.syntax,
    )
    return onward(
        static, AfterPrepareConstantData, user_prompt=user_prompt.text, variables=run.context.variables
    )


def effective_templates(book: Book, provider: Provider, run: Run) -> Templates:
    """The book's prompts, else the user's, else the built-in ones; the jailbreak only if the provider needs it."""
    prompts = book.prompts.over(run.manuscript.defaults, default_prompts())
    jailbreak = provider.jailbreak if provider.needs_jailbreak else None
    return Templates(
        jailbreak=jailbreak if jailbreak and jailbreak.strip() else "",
        master_template=prompts.master_template or "",
        user_prompt=prompts.user_prompt or "",
        pov=prompts.pov or "",
        tense=prompts.tense or "",
        style=prompts.style or "",
        syntax=prompts.syntax_of("master_template"),
        user_syntax=prompts.syntax_of("user_prompt"),
    )


def turn_data(turn: Turn) -> Mapping[str, str | None]:
    """The four fields of the instruction panel under the names that templates know them by."""
    return {
        "sceneSetting": turn.scene_setting,
        "povCharacter": turn.pov_character,
        "presentCharacters": turn.present_characters,
        "instructions": turn.instructions,
    }


def trimmed_branch(tree: StoryTree, leaf: PartId | None, request: Request) -> tuple[PartId, ...]:
    """The branch that is continued: without the part that is replaced, on whatever branch that one is (J-09)."""
    replaced = replaced_part(request)
    return tree.branch(leaf) if replaced is None else tree.branch(replaced)[:-1]


def template_context(run: Run, known: AfterStaticTemplateData) -> TemplateContext:
    """The context of a run's templates; reads the last part of the branch and checks the summaries (J-16)."""
    tree, library = run.manuscript.tree, run.ports.library
    branch = trimmed_branch(tree, known.book.active_leaf, known.request)
    run.chain = run.ports.verifier.chain(tree, branch, run.manuscript.summaries, library.texts)
    last = library.part(branch[-1]) if branch else None
    variables = Variables(local=last.variables if last else {}, shared=known.book.global_variables)
    return TemplateContext(_facts(run, known, branch, last), variables, run.random)


def _facts(run: Run, known: AfterStaticTemplateData, branch: Sequence[PartId], last: Part | None) -> Facts:
    chain = run.chain
    return Facts(
        book=known.book,
        book_id=known.book.uid or str(known.book.id),
        book_name=known.book.name,
        book_description=known.book.description,
        turn=known.turn,
        pov=known.templates.pov,
        tense=known.templates.tense,
        style=known.templates.style,
        model=known.provider.model,
        limits=known.limits,
        generation_type=generation_type(known),
        story=LazyStory(run.manuscript.tree, branch, run.ports.library),
        last_instructions=(last.turn.instructions or "") if last else "",
        last_time=last.request_time if last else None,
        summary=chain.blocks[0].summary.text if chain and chain.blocks else "",
        now=run.ports.clock(),
    )


def generation_type(known: AfterPrepareGeneration) -> GenerationType:
    """What ``lastGenerationType`` says."""
    if isinstance(known.request, NewPart):
        return "normal"
    return "regenerate" if isinstance(known.request, Regenerate) else "swipe"


class LazyStory(Sequence[str]):
    """The non-blank texts of a branch, oldest first, read from the store one by one when a macro asks for them."""

    def __init__(self, tree: StoryTree, branch: Sequence[PartId], library: Library) -> None:
        self._tree = tree
        self._branch = branch
        self._library = library
        self._parts: tuple[PartId, ...] | None = None

    def __len__(self) -> int:
        return len(self._wordy())

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            parts = self._wordy()[index]
            texts = self._library.texts(parts)
            return [texts.get(part, "") for part in parts]
        part = self._wordy()[index]
        return self._library.texts((part,)).get(part, "")

    def _wordy(self) -> tuple[PartId, ...]:
        if self._parts is None:
            self._parts = tuple(part for part in self._branch if not self._tree.blank(part))
        return self._parts
