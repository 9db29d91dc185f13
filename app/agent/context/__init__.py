"""The context of a language model: its prompts and messages, and how they are made to fit."""
