"""The prompt: templates and macros, tokens and budget, payload, and where each piece came from."""
