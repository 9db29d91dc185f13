"""How long tests wait before they call it a hang."""

HANG_S = 20.0
"""Seconds. Far beyond what is promised, and below what a test's hanging part would take.

A busy machine must not fail a test: times that are promised on the clock are measured by the tests
marked `timed`, which have the machine to themselves.
"""
