"""Language models behind one common interface."""
