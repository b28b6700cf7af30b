"""The story: parts, the tree they form, and the summaries that stand in for them. Pure values, no I/O."""
