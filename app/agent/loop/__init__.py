"""The run of one question: the loop, its turns, its tool calls and their limits."""
