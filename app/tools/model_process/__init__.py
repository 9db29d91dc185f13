"""Code of the model process beside the packs' models: placement, memory, loading (torch)."""
