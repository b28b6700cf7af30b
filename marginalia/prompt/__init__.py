"""The prompt: templates and macros, tokens and budget, payload, and the segments that say where each piece came from."""
