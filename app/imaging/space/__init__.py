"""Geometry: lengths, planes, stacks, volumes and sections through them."""
