"""Tests of app.agent, with scripted models, fake tools and a loopback endpoint."""
