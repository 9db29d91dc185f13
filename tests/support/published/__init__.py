"""What the published programs of the models compute at tiny size, as numbers to compare with.

`make` runs the programs (they lie outside of the repository) and writes `numbers/*.json`;
`tests/unit/tools/chest/test_published_numbers.py` compares Sightline's code with these.
"""
