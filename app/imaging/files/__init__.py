"""Access to files and to members of zip archives, and checks of their content."""
