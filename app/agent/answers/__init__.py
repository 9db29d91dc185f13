"""The texts of answers: evidence and citations, summaries of results, the footer with warnings."""
