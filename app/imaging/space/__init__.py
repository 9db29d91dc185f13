"""Scale and place: lengths, planes, stacks, volumes and sections through them."""
