"""Tiny models of the real classes in the real layout, made in a second by each module's `build`.

They load and run through the tools' own code. With size="full" the published architecture at its
full size, with random weights: for a GPU.
"""
