"""What can be done to an image: the tool interface, its registry and the packs."""
