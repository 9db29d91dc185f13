"""The learned reader of commands to the viewer: its sentences, and how it is trained."""
