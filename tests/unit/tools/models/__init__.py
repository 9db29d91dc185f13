"""Models: cards, the models folder, packs, downloads."""
