"""The diagnosis pack: a differential diagnosis computed from published likelihood ratios."""
