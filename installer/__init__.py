"""Sets Sightline up on a fresh machine. Standard library only: nothing else is there yet."""
