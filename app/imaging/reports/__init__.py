"""Reports that a person writes from accepted findings: draft, wording, checks, files.

`app.imaging.report` is another thing: structured reports of others, read from files.
"""
