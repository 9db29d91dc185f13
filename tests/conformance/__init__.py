"""Makes docs/conformance.md: every file we can lay hands on, what became of it, and who agrees."""
