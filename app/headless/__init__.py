"""The commands without a window: render, info, ask, tools, tool, models, sessions, audit.

Each returns an exit code and raises SightlineError for what the user must be told in one line.
JSON goes to stdout, everything meant for people to stderr (or to stdout where it is the result).
"""
