"""Training of the embedded chest segmentation on synthetic radiographs only."""
