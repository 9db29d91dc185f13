"""Training of a learned reader of questions, measured against the rules of the offline planner."""
