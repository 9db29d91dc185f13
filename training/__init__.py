"""Training of the networks that Sightline ships; never imported by the app."""
