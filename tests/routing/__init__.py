"""What should run for which phrasing: the table, its score, the command that prints both."""
