"""The parts of the model host: the queue of calls, time estimates and the models' states."""
