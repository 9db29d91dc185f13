"""Access to files: regular files, members of archives, and checks of their content."""
