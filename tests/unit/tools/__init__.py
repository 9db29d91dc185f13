"""Tools: registry, images, model host, weights and packs."""
