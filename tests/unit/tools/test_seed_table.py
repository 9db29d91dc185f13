"""The issue's table of tools, cell by cell, against what the tools say of themselves.

What the pictures and answers are is tested with each tool; here it is their names, arguments,
defaults, models and the shape of what comes back.
"""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

import pytest
from pydantic_core import PydanticUndefined

from app.tools.api import Approval, ToolSpec
from app.tools.chest import classifier, organs
from app.tools.models.cards import ModelCard, cards
from app.tools.registry import load_packs

TABLE = """
| image_visualizer | image_path, title?, description?, figsize?=(10,10), cmap?="rgb" | none | image_path |
| dicom_processor | dicom_path, window_center?, window_width? | none | image_path |
| chest_xray_classifier | image_path | densenet121-res224-all | root |
| chest_xray_segmentation | image_path, organs? | PSPNet, embedded | segmentation_image_path, metrics |
| chest_xray_report_generator | image_path | IAMJB/chexpert-mimic-cxr-findings-baseline, IAMJB/chexpert-mimic-cxr-impression-baseline | findings, impression |
| chest_xray_expert | image_paths, prompt, max_new_tokens=512 | StanfordAIMI/CheXagent-2-3b | response, boxes |
| llava_med_qa | question, image_path? | microsoft/llava-med-v1.5-mistral-7b | answer |
| xray_phrase_grounding | image_path, phrase, max_new_tokens=300 | microsoft/maira-2 | predictions, visualization_path |
| chest_xray_generator | prompt, height=512, width=512, num_inference_steps=75, guidance_scale=4.0 | RoentGen | image_path |
"""  # noqa: E501 - rows of a table
BEYOND = {
    "medgemma_qa": "google/medgemma-4b-it",
    "medsam2_segment": "wanglab/MedSAM2",
    "chest_xray_compare": "embedded",
}
EMBEDDED = "embedded"
"""Shipped with Sightline: no tool says that it needs it."""
_ARGUMENT = re.compile(r"(\w+)(\??)(?:=(.+))?")


class Argument(NamedTuple):
    """A cell's `name?=default`."""

    name: str
    optional: bool
    default: Any


class Row(NamedTuple):
    """A row of the table."""

    tool: str
    arguments: list[Argument]
    models: list[str]
    output: list[str]


def argument(text: str) -> Argument:
    found = _ARGUMENT.fullmatch(text)
    assert found, text
    name, mark, default = found.groups()
    value = ast.literal_eval(default) if default else None
    return Argument(name, bool(mark or default), value)


def parts(cell: str) -> list[str]:
    """What stands between commas, those in brackets left alone."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", cell)]


def row(line: str) -> Row:
    tool, arguments, models, output = (cell.strip() for cell in line.strip("| ").split("|"))
    wanted = [] if models == "none" else parts(models)
    return Row(tool, [argument(part) for part in parts(arguments)], wanted, parts(output))


ROWS = [row(line) for line in TABLE.strip().splitlines()]
SPECS: dict[str, ToolSpec] = {tool.spec.name: tool.spec for tool in load_packs(()).all()}
each_row = pytest.mark.parametrize("row", ROWS, ids=[row.tool for row in ROWS])


def needed(tool: str) -> list[ModelCard]:
    return [cards()[need.name] for need in SPECS[tool].needs if need.kind == "weights"]


def test_the_table_has_the_seeds_nine_tools_and_three_more_are_there():
    assert len(ROWS) == 9
    assert {row.tool for row in ROWS} | set(BEYOND) <= set(SPECS)


@each_row
def test_arguments_come_in_the_tables_order_with_its_defaults(row: Row):
    fields = list(SPECS[row.tool].Input.model_fields.items())
    assert len(fields) >= len(row.arguments)
    for wanted, (name, field) in zip(row.arguments, fields, strict=False):
        assert name == wanted.name
        assert field.is_required() is not wanted.optional
        default = None if field.default is PydanticUndefined else field.default
        assert default == wanted.default
        assert type(default) is type(wanted.default)
    assert not any(field.is_required() for _, field in fields[len(row.arguments) :])


@each_row
def test_a_language_model_is_told_the_same_defaults(row: Row):
    schema = SPECS[row.tool].Input.model_json_schema()
    for wanted in row.arguments:
        told = schema["properties"][wanted.name].get("default")
        assert (tuple(told) if isinstance(told, list) else told) == wanted.default
    required = [wanted.name for wanted in row.arguments if not wanted.optional]
    assert schema.get("required", []) == required


@each_row
def test_a_call_with_the_tables_defaults_written_out_is_taken(row: Row):
    """As a model that repeats the schema does."""
    given = {"image_paths": ["image-1"]}
    said = {
        wanted.name: given.get(wanted.name, wanted.default if wanted.optional else "image-1")
        for wanted in row.arguments
    }
    made = SPECS[row.tool].Input.model_validate(said)
    assert {name: getattr(made, name) for name in said} == said


@each_row
def test_the_models_are_the_tables(row: Row):
    said = [f"{card.name} {card.title} {card.repository}" for card in needed(row.tool)]
    wanted = [model for model in row.models if model != EMBEDDED]
    assert len(said) == len(wanted)
    for model, card in zip(wanted, said, strict=True):
        assert model in card
    for card in needed(row.tool):
        assert row.tool in card.tools


@each_row
def test_what_comes_back_has_the_tables_names(row: Row):
    assert list(SPECS[row.tool].Output.model_fields) == row.output


@each_row
def test_none_of_them_writes_or_sends_anything(row: Row):
    assert SPECS[row.tool].approval in (Approval.READ, Approval.COMPUTE)


@pytest.mark.parametrize(("tool", "model"), BEYOND.items())
def test_the_tools_beyond_the_seed_have_their_models(tool: str, model: str):
    required = [n.name for n in SPECS[tool].needs if n.kind == "weights" and not n.optional]
    assert [cards()[name].repository for name in required] == [model] * (model != EMBEDDED)
    if model == EMBEDDED:
        assert tool in cards()["thorax-net"].tools


def test_the_numbers_in_the_table():
    assert len(classifier.LABELS) == 18
    assert len(organs.ALL) == 14
    assert organs.EMBEDDED == ("Right Lung", "Left Lung", "Heart")
    (pspnet,) = [need for need in SPECS["chest_xray_segmentation"].needs if need.kind == "weights"]
    assert pspnet.optional, "without it the embedded network is the default"
    reports = [n for n in SPECS["chest_xray_report_generator"].needs if n.kind == "weights"]
    assert len(reports) == 2, "each section comes with its own model"
    assert not any(need.optional for need in reports), "with neither the tool is not offered"


def test_llava_med_works_without_an_image_and_the_expert_takes_several():
    assert SPECS["llava_med_qa"].Input.model_validate({"question": "What is a nodule?"})
    two = {"image_paths": ["image-1", "image-2"], "prompt": "Which is larger?"}
    assert SPECS["chest_xray_expert"].Input.model_validate(two)
