"""The tools that work on images: their interface, registry and packs (groups of tools)."""
