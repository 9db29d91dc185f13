"""The commands without a window: render, info, ask, tools, tool, models, sessions, audit.

Each command returns an exit code, and raises SightlineError for errors, whose text the user gets as
one line. JSON goes to stdout, everything meant for people to stderr (or to stdout where it is the
result).
"""
