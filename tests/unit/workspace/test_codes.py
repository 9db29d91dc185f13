"""The coded labels and sites that marks can be given."""

from __future__ import annotations

from pydicom.sr._concepts_dict import concepts

from app import paths


def test_every_code_means_what_pydicoms_dictionaries_say() -> None:
    count = 0
    for kind in ("finding", "site"):
        for group in paths.shipped_table("codes", kind):
            assert group["region"] in ("chest", "abdomen", "brain", "bone", "prostate", "any")
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


def test_a_radlex_code_is_one_that_a_context_group_of_dicom_has() -> None:
    radlex = [
        value
        for kind in ("finding", "site")
        for group in paths.shipped_table("codes", kind)
        for value, scheme, _meaning in group["codes"]
        if scheme == "RADLEX"
    ]
    groups = {
        code: set(said[1]) for codes in concepts["RADLEX"].values() for code, said in codes.items()
    }
    assert len(radlex) > 20
    for value in radlex:
        assert groups[value] & {6328, 6335, 6348, 7035}, value
