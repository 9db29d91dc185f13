"""Models of full size on an accelerator: how long, how much memory, how soon they stop."""
