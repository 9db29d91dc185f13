"""What runs in the model process beside the packs' model code: placement, memory, loading."""
