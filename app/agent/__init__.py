"""Who decides: the loop, its events, the planner, sessions and language models."""
