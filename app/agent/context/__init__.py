"""The context of a language model: its messages, what fits, what is shortened, its prompts."""
