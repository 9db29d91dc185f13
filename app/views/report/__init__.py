"""The report of the shown study: its pane, its pictures and its files."""
