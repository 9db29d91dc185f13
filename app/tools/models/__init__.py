"""Models that are installed: cards, the models folder, packs, downloads. No torch here."""
