"""Images: catalogue, decoding, pixel pipeline, geometry and findings. No Qt, no torch."""
