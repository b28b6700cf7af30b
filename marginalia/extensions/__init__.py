"""Extensions: what they may touch, how they are found, and the bundled examples."""
