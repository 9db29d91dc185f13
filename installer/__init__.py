"""Set-up of Sightline on a fresh machine, with the standard library only."""
