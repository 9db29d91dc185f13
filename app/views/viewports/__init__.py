"""The viewports: their arrangement, the parts of each, and what links them."""
