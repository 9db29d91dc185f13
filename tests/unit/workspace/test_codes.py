"""The coded labels and sites that marks can be given."""

from __future__ import annotations

from pydicom.sr._concepts_dict import concepts

from app import paths


def test_every_code_means_what_pydicoms_dictionaries_say() -> None:
    count = 0
    for kind in ("finding", "site"):
        for group in paths.shipped_table("codes", kind):
            assert group["region"] in ("chest", "abdomen", "brain", "bone")
            for value, scheme, meaning in group["codes"]:
                known = {
                    said
                    for codes in concepts[scheme].values()
                    for code, (said, *_groups) in codes.items()
                    if code == value
                }
                assert meaning in known, (value, scheme, meaning)
                count += 1
    assert count > 100
