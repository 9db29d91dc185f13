"""Code that runs in the model process for all packs: placement, memory and loading (torch)."""
