"""The generation pipeline: eight steps, 23 events, and the run that carries them (spec/generation-pipeline.md)."""
