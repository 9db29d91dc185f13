"""The offline planner's parts: what is asked, which steps answer it, and what steps feed on."""
