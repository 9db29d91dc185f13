"""The parts of the model host: whose turn it is, how long it takes, and what is loaded."""
