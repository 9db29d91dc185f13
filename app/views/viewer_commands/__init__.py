"""Carries out the assistant's commands in the window; see `tools.api.Viewer`.

What commands say is English, as tools' results are; `resources/words/answers_german.toml` has the
German.
"""
