"""Step 1, PREPARE_GENERATION: is there a model to ask, and a protocol how."""

from __future__ import annotations

from marginalia.errors import ValidationProblem
from marginalia.pipeline.events import AfterPrepareGeneration, BeforePrepareGeneration, onward
from marginalia.pipeline.run import Run
from marginalia.values import Protocol, Provider, resolve_limits

MISSING_MODEL = "Book is missing model."
MISSING_PROTOCOL = "Book is missing protocol."

STAND_IN = Provider(name="no model", max_context=8192, max_response=1024)
"""What a preview assumes for a book without model, so that lore and budget can be tried all the same."""


async def prepare_generation(run: Run, known: BeforePrepareGeneration) -> AfterPrepareGeneration:
    """Look up provider and protocol; the lack of either is the writer's to mend (the model is named first)."""
    problem = _problem(run)
    if problem is not None:
        if not run.preview:
            raise ValidationProblem(problem)
        run.trouble(problem, "book")
    provider = run.manuscript.provider or STAND_IN
    protocol = run.manuscript.protocol or Protocol()
    limits = resolve_limits(provider, protocol)
    return onward(known, AfterPrepareGeneration, provider=provider, protocol=protocol, limits=limits)


def _problem(run: Run) -> str | None:
    provider = run.manuscript.provider
    if provider is None:
        return MISSING_MODEL
    if run.manuscript.protocol is None:
        return MISSING_PROTOCOL
    if not run.ports.inference.supports(provider):
        return (
            f"The provider {provider.name!r} is of the kind {provider.kind!r}, which nothing here can speak to. "
            "Choose another provider for the book, or install the extension that brings this kind."
        )
    return None
