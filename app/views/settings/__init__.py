"""The settings window: the language model, the limits of a run, and what may leave the machine."""
