"""Lore: entries that enter the prompt when something calls for them, and the verdict why they did or did not."""
