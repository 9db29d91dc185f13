"""What an image is: catalogue, decoding, pixel pipeline, geometry, findings. No Qt, no torch."""
