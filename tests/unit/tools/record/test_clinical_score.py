"""The tool `calculate_clinical_score`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.tools.api import ToolResult, ToolRetry
from app.tools.record.clinical_score import ClinicalScore, ScoreOutput
from app.tools.record.scores.catalogue import SCORES
from tests.unit.tools.support import Bench


def run(folder: Path, name: str, **inputs: Any) -> ToolResult:
    result = Bench(folder).run(ClinicalScore(), score_name=name, inputs=inputs)
    ScoreOutput.model_validate(result.output)
    return result


def test_a_whole_score_has_total_band_points_and_citation(tmp_path: Path):
    result = run(
        tmp_path, "CURB-65", confusion=True, urea={"value": 9, "unit": "mmol/L"},
        respiratory_rate=32, systolic_bp=100, diastolic_bp=70, age=70,
    )  # fmt: skip
    assert result.output["total"] == 4
    assert result.output["range"] == [4, 4]
    assert (result.output["band"], result.output["missing"]) == ("high", [])
    assert result.output["items"][1] == {
        "item": "Urea",
        "input": "urea",
        "value": 9.0,
        "unit": "mmol/L",
        "points": 1,
        "why": "Urea 9 mmol/L: above 7 mmol/L",
    }
    assert "10.1136/thorax.58.5.377" in result.output["citation"][0]
    assert result.summary.startswith(
        "CURB-65 (severity of community-acquired pneumonia): 4 points."
    )
    assert "22%" in result.summary


def test_missing_inputs_give_a_range_and_are_asked_for(tmp_path: Path):
    output = run(tmp_path, "CURB-65", confusion=True, respiratory_rate=32, age=50).output
    assert (output["total"], output["range"], output["band"]) == (None, [2, 4], None)
    assert output["possible_bands"] == ["intermediate", "high"]
    assert [one["name"] for one in output["missing"]] == ["urea", "systolic_bp", "diastolic_bp"]
    assert output["missing"][0]["unit"] == "mmol/L"
    assert "bun" in output["missing"][0]["or_give"]
    assert output["interpretation"] == ""


def test_a_band_is_stated_if_it_is_sure_whatever_is_missing(tmp_path: Path):
    output = run(tmp_path, "CURB-65", confusion=True, respiratory_rate=32, age=70).output
    assert (output["total"], output["range"], output["band"]) == (None, [3, 5], "high")


def test_a_condition_that_is_known_settles_an_item_with_others_missing(tmp_path: Path):
    result = run(tmp_path, "cha2ds2_vasc", previous_mi=True)
    vascular = next(one for one in result.output["items"] if one["item"] == "Vascular disease")
    assert vascular["points"] == 1
    assert vascular["why"] == "Vascular disease: previous myocardial infarction"
    assert "aortic_plaque" not in [one["name"] for one in result.output["missing"]]


def test_three_vascular_conditions_are_counted_once(tmp_path: Path):
    output = run(
        tmp_path, "cha2ds2_vasc", previous_mi=True, peripheral_artery_disease=True,
        aortic_plaque=True, heart_failure=False, hypertension=False, diabetes=False,
        stroke_or_tia=False, thromboembolism=False, age=40, sex="male",
    ).output  # fmt: skip
    assert output["total"] == 1
    assert "counted once" in output["items"][5]["why"]


def test_a_category_has_no_total(tmp_path: Path):
    output = run(tmp_path, "Lung-RADS", exam="complete", finding="solid", change="baseline").output
    assert (output["total"], output["range"], output["band"]) == (None, None, None)
    assert output["possible_bands"] == ["2", "3", "4A", "4B", "4X"]
    assert [one["name"] for one in output["missing"]] == ["size", "suspicious_features"]


def test_the_list_names_every_score_with_its_inputs_and_units(tmp_path: Path):
    result = run(tmp_path, "list")
    assert list(result.output["scores"]) == [score.name for score in SCORES]
    inputs = " ".join(result.output["scores"]["meld"]["inputs"])
    assert "creatinine (Serum creatinine: mg/dL or µmol/L)" in inputs


def test_without_inputs_a_score_tells_what_it_needs(tmp_path: Path):
    result = run(tmp_path, "egfr")
    assert [one["name"] for one in result.output["missing"]] == ["creatinine", "age", "sex"]
    assert result.output["missing"][0]["other_units"] == ["µmol/L"]


@pytest.mark.parametrize(
    ("name", "inputs", "told"),
    [
        ("apache", {}, "wells_dvt, wells_pe"),
        ("wells", {}, "say which"),
        ("curb", {"creatinine": 1}, "respiratory_rate"),
        ("bmi", {"weight": 80}, "kg or lb"),
        ("bmi", {"age": 10}, "percentiles"),
    ],
)
def test_wrong_arguments_are_answered_with_the_right_ones(
    tmp_path: Path, name: str, inputs: dict[str, Any], told: str
):
    with pytest.raises(ToolRetry, match=told):
        run(tmp_path, name, **inputs)
