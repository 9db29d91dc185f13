"""Everything about images: studies, decoding, pixels, geometry and findings. No Qt, no torch."""
