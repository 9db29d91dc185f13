"""cardiothoracic_ratio: the lines it draws are the ratio it reports."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.imaging.findings import Finding, Polyline
from app.tools.api import ToolFailed, ToolResult
from app.tools.chest.cardiothoracic import CardiothoracicInput, CardiothoracicRatio
from app.tools.chest.segmentation import ChestXRaySegmentation
from app.tools.chest.segmenter import Segmenter
from tests.unit.tools.chest.synthetic import masks, planted, radiograph
from tests.unit.tools.support import Bench, FakeHost, write_dicom


def measure(bench: Bench, host: Any = None, pixels: Any = None, **attributes: Any) -> ToolResult:
    bench.host = host or FakeHost(planted())
    image = radiograph() if pixels is None else pixels
    bench.open(write_dicom(bench.folder / "a.dcm", image, **attributes))
    return bench.run(CardiothoracicRatio(Segmenter()), image_path="image-1")


def extent(*names: str) -> float:
    union = np.logical_or.reduce([masks()[name] for name in names])
    columns = np.nonzero(union.any(axis=0))[0]
    return float(columns[-1] - columns[0] + 1)


def line(finding: Finding) -> tuple[tuple[float, float], ...]:
    assert isinstance(finding.geometry, Polyline)
    return finding.geometry.points


def test_two_grouped_lines_carry_the_ratio(bench: Bench):
    result = measure(bench)
    heart, thorax = result.findings
    assert (heart.label, thorax.label) == ("Heart width", "Thorax width")
    assert heart.group == thorax.group != ""
    assert heart.approximate
    assert thorax.approximate
    lengths = [points[1][0] - points[0][0] for points in map(line, (heart, thorax))]
    assert lengths[0] == pytest.approx(extent("Heart"), abs=1)
    assert lengths[1] == pytest.approx(extent("Right Lung", "Left Lung"), abs=1)
    assert result.output["ratio"] == pytest.approx(lengths[0] / lengths[1], abs=0.001)
    assert heart.image == bench.images.resolve("image-1").ref
    for finding in (heart, thorax):
        assert finding.provenance.tool == "cardiothoracic_ratio"
        assert finding.provenance.model == "thorax-net"


def test_the_output_is_complete_and_json(bench: Bench):
    result = measure(bench)
    output = result.output
    assert output.keys() >= {
        "ratio",
        "heart_width_px",
        "thorax_width_px",
        "approximate",
        "reliable",
        "view",
        "warnings",
        "cutoff",
    }
    assert output["approximate"] is True
    assert (output["view"], output["reliable"], output["warnings"]) == ("PA", True, [])
    assert "0.5" in output["cutoff"]
    assert json.loads(json.dumps(output, allow_nan=False)) == output
    assert result.metadata["status"] == "completed"


def test_without_spacing_widths_are_in_px(bench: Bench):
    result = measure(bench)
    assert {finding.units for finding in result.findings} == {"px"}
    assert result.output["heart_width_mm"] is None
    assert "no figures in mm or cm²: the pixel spacing is unknown" in result.metadata["width_note"]


def test_with_spacing_widths_are_in_mm_and_say_what_they_rest_on(bench: Bench):
    result = measure(bench, ImagerPixelSpacing=[1.5, 1.5])
    heart = result.findings[0]
    assert heart.units == "mm (detector plane)"
    assert heart.value == pytest.approx(1.5 * result.output["heart_width_px"], abs=0.1)
    assert result.output["heart_width_mm"] == heart.value
    assert result.metadata["width_note"] == ""


def test_an_ap_film_warns_of_magnification(bench: Bench):
    result = measure(bench, ViewPosition="AP")
    assert result.output["reliable"] is False
    assert any("magnified" in warning for warning in result.output["warnings"])
    assert "magnified" in result.summary


def test_an_unknown_view_says_so(bench: Bench):
    result = measure(bench, ViewPosition=None)
    assert result.output["view"] == "unknown"
    assert result.output["reliable"] is False
    assert "view unknown" in result.summary


def test_a_lateral_is_refused(bench: Bench):
    with pytest.raises(ToolFailed, match="lateral"):
        measure(bench, ViewPosition="LL")


def test_a_missing_lung_is_a_refusal_with_its_reason(bench: Bench):
    with pytest.raises(ToolFailed, match="left lung"):
        measure(bench, FakeHost(planted(names=("Right Lung", "Heart"))))


def test_a_ratio_near_the_cutoff_decides_nothing(bench: Bench):
    result = measure(bench)
    ratio = result.output["ratio"]
    assert abs(ratio - 0.5) > 0.02
    assert result.output["judgement"] == f"{'above' if ratio > 0.5 else 'below'} 0.5"

    from app.tools.chest import cardiothoracic

    assert "too close to 0.5 to decide" in cardiothoracic._judgement(0.51)
    assert "too close to 0.5 to decide" in cardiothoracic._judgement(0.49)


def test_where_the_networks_own_looks_differ_by_more_the_cutoff_decides_nothing(bench: Bench):
    looks = {"agreement": {"Heart": 0.8}, "ratio": 0.3}
    result = measure(bench, FakeHost(planted(spread=looks)))
    assert "too close to 0.5 to decide" in result.output["judgement"]
    assert all("too close to 0.5 to decide" in one.description for one in result.findings)
    assert "too close to 0.5 to decide" in result.summary
    assert result.metadata["spread_of_looks"] == 0.3


def test_on_a_mirrored_film_the_lines_lie_on_the_heart_as_stored(bench: Bench):
    mirrored = np.ascontiguousarray(radiograph()[:, ::-1])
    result = measure(bench, pixels=mirrored, PatientOrientation=["R", "F"])
    columns = np.nonzero(masks()["Heart"][:, ::-1].any(axis=0))[0]
    (x0, _), (x1, _) = line(result.findings[0])
    assert (x0, x1) == (columns[0] - 0.5, columns[-1] + 0.5)


def test_the_network_runs_once_for_both_tools(bench: Bench):
    host = FakeHost(planted())
    bench.host = host
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph()))
    shared = Segmenter()
    bench.run(ChestXRaySegmentation(shared), image_path="image-1")
    bench.run(CardiothoracicRatio(shared), image_path="image-1")
    assert len(host.calls) == 1


def test_an_image_that_was_overruled_gives_no_reliable_ratio(bench: Bench):
    """Else it would stand as a side of a disagreement with a sound result."""
    bench.host = FakeHost(planted())
    part = {"BodyPartExamined": "ABDOMEN"}
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph(), **part))
    context = replace(bench.context(), confirm=lambda title, detail, *, image=None: True)
    tool = CardiothoracicRatio(Segmenter())
    result = tool.run(CardiothoracicInput(image_path="image-1"), context)
    assert result.output["reliable"] is False
    assert "used at your request, although" in result.output["warnings"][0]
