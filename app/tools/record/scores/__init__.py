"""Clinical scores as data: each from its paper, with units, missing inputs and citation."""
