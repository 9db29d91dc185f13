"""The assistant: its loop, events, planner, policy, sessions and language models."""
