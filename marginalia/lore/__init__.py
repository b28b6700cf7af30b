"""Lore: entries that enter the prompt when something calls for them, and why they did or did not."""
