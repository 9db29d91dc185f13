"""The commands without a window: render, info, ask, tools, tool, models, sessions, audit.

Each command returns an exit code; on an error it raises SightlineError, whose text the user gets as
one line. JSON goes to stdout, text for people to stderr (or to stdout if it is the result).
"""
