"""Shared parts of tests: a scripted model, fake tools, and servers on the loopback interface."""
