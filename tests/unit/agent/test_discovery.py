from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.agent.context.model_messages import error_message, result_message
from app.agent.enforcement.discovery import adapted_retry, listing_call, nearest
from app.agent.enforcement.verdicts import judge_task
from app.agent.llm.base import ToolSchema
from app.agent.messages import Message, ToolCall
from app.agent.planning import Intent, schema_of
from app.tools.pack_plan import Discovery, Plans, ToolRule
from tests.support.cells_pack import INFO, NUCLEI, PLAN, cells_registry, micrograph
from tests.unit.tools.support import Bench

RULE = Plans([PLAN]).rule(NUCLEI)
TOOLS = {tool.spec.name: schema_of(tool) for tool in cells_registry().all()}
ASKED = Intent(expects_data=True, left_out={})
STAINS = ["Tubulin", "Actin", "Hoechst"]


def call(**arguments: Any) -> ToolCall:
    return ToolCall(id="c1", name=NUCLEI, arguments={"image_path": "image-1", **arguments})


def result(tool: str = NUCLEI, /, **output: Any) -> Message:
    return result_message("c1", tool, {"summary": "", "output": output, "metadata": {}})


def listing(names: Any = STAINS) -> Message:
    return result(INFO, channels=names)


def test_an_empty_result_leads_to_a_look_at_the_same_image():
    made = listing_call(RULE, call(channel="Hochst"), result(count=0), ASKED, TOOLS)
    assert made == ToolCall(id="c1-look", name=INFO, arguments={"image_path": "image-1"})


def test_the_image_is_passed_on_under_the_name_that_the_listing_tool_gives_it():
    lister = ToolSchema(
        INFO, "", {"properties": {"dicom_path": {"type": "string"}}, "required": ["dicom_path"]}
    )
    made = listing_call(RULE, call(), result(count=0), ASKED, {**TOOLS, INFO: lister})
    assert made is not None
    assert made.arguments == {"dicom_path": "image-1"}


@pytest.mark.parametrize(
    ("message", "asked", "tools"),
    [
        (result(count=3), ASKED, TOOLS),
        (error_message("c1", NUCLEI, "the file is damaged"), ASKED, TOOLS),
        (result(count=0), Intent(expects_data=False, left_out={}), TOOLS),
        (result(count=0), Intent(expects_data=True, left_out={INFO: "no look"}), TOOLS),
        (result(count=0), ASKED, {NUCLEI: TOOLS[NUCLEI]}),
    ],
    ids=["found", "failed", "none expected", "left out", "not installed"],
)
def test_there_is_no_look_without_a_reason(
    message: Message, asked: Intent, tools: dict[str, ToolSchema]
):
    assert listing_call(RULE, call(channel="Hochst"), message, asked, tools) is None


def test_a_listing_tool_that_needs_what_nobody_knows_is_not_called():
    lister = ToolSchema(INFO, "", {"properties": {"study": {}}, "required": ["study"]})
    assert listing_call(RULE, call(), result(count=0), ASKED, {**TOOLS, INFO: lister}) is None


def test_the_retry_has_the_nearest_name_and_all_else_as_before():
    found = adapted_retry(RULE, call(channel="hochst"), listing())
    assert found.call == ToolCall(
        id="c1-again", name=NUCLEI, arguments={"image_path": "image-1", "channel": "Hoechst"}
    )
    assert found.why == "channel 'hochst' does not exist; the nearest is Hoechst"


def test_there_is_one_retry_and_one_look():
    again = call(channel="hochst").model_copy(update={"id": "c1-again"})
    assert listing_call(RULE, again, result(count=0), ASKED, TOOLS) is None
    assert adapted_retry(RULE, again, listing()).call is None


@pytest.mark.parametrize(
    ("given", "names", "why"),
    [
        ("DAPI", STAINS, "channel: there is no 'DAPI'; there is: Tubulin, Actin, Hoechst"),
        ("", STAINS, "no channel was given; there is: Tubulin, Actin, Hoechst"),
        ("Actin", STAINS, "channel Actin exists, and nothing is in it; there is: Tubulin, "),
        ("Lung", ["Left Lung", "Right Lung"], "channel: 'Lung' may be Left Lung or Right Lung;"),
        ("Actin", [], f"{INFO} lists no channel either"),
    ],
    ids=["none near", "none given", "it exists", "two as near", "nothing there"],
)
def test_where_no_name_is_near_there_is_no_retry_and_what_exists_is_told(
    given: str, names: list[str], why: str
):
    found = adapted_retry(RULE, call(channel=given), listing(names))
    assert found.call is None
    assert found.why.startswith(why)


def test_a_look_that_failed_leads_to_no_retry():
    found = adapted_retry(
        RULE, call(channel="hochst"), error_message("c1-look", INFO, "unreadable")
    )
    assert (found.call, found.why) == (None, f"{INFO} could not tell what there is")


@pytest.mark.parametrize(
    "names",
    [
        STAINS,
        tuple(STAINS),
        {"Tubulin": 3, "Actin": 0, "Hoechst": 12},
        {"channel": STAINS, "modality": ["SM"]},
        [{"name": "Tubulin"}, {"name": "Hoechst", "count": 12}],
    ],
    ids=["list", "tuple", "table by name", "table by argument", "tables"],
)
def test_names_are_read_from_lists_and_tables(names: Any):
    found = adapted_retry(RULE, call(channel="Höchst"), listing(names))
    assert found.call is not None
    assert found.call.arguments["channel"] == "Hoechst"


def test_each_item_of_a_list_is_adapted():
    rule = ToolRule("organs", empty=("n",), discovery=Discovery("lister", "names", "organs"))
    asked = ToolCall(id="c1", name="organs", arguments={"organs": ["lung", "haert", "Spine"]})
    found = adapted_retry(rule, asked, result(names=["Left Lung", "Right Lung", "Heart", "Spine"]))
    assert found.call is not None
    assert found.call.arguments["organs"] == ["Left Lung", "Right Lung", "Heart", "Spine"]


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("hoechst 33342", "Hoechst"),
        ("CHEST_PA", "Chest PA"),
        ("mediastinm", "Mediastinum"),
        ("pleura erguss", "Pleuraerguss"),
        ("Behandlg. Gruppe", "Behandlung Gruppe"),
        ("T1-weighted", "T1 weighted"),
    ],
)
def test_near_names_are_found(wanted: str, name: str):
    assert nearest(wanted, ["Something else", name]) == [name]


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("T1", "T2"),
        ("channel 1", "channel 2"),
        ("Control A", "Control B"),
        ("left lung", "right lung"),
        ("hypotension", "hypertension"),
        ("symmetric", "asymmetric"),
        ("treated", "not treated"),
        ("treated", "untreated"),
        ("GFP", "RFP"),
        ("CT", "Actin"),
        ("", "Actin"),
        ("%%", "Actin"),
    ],
)
def test_names_that_mean_something_else_are_not_near(wanted: str, name: str):
    assert nearest(wanted, [name]) == []


@given(st.text(), st.lists(st.text(), max_size=5))
def test_whatever_the_names_are_only_existing_ones_are_near(wanted: str, names: list[str]):
    assert set(nearest(wanted, names)) <= set(names)


@given(st.text(alphabet="abcdefgh 12", min_size=1), st.lists(st.text(alphabet="abcdefgh 12")))
def test_a_name_that_exists_is_nearest_to_itself(name: str, others: list[str]):
    if name.strip():
        assert name in nearest(name, [*others, name])


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(values, values)
def test_whatever_tools_return_is_judged_and_adapted_without_an_error(value: Any, name: Any):
    message = result(count=value)
    verdict = judge_task(RULE, message, ASKED)
    seen = listing_call(RULE, call(channel=name), message, ASKED, TOOLS)
    assert (seen is not None) == (verdict.state == "incomplete")
    again = adapted_retry(RULE, call(channel=name), listing(value)).call
    assert again is None or again.arguments["channel"] != name


def test_with_real_tools_an_empty_count_becomes_a_count(tmp_path: Path):
    bench = Bench(tmp_path)
    bench.open(micrograph(tmp_path / "well.png", cells=5))
    registry = cells_registry()

    def run(made: ToolCall) -> Message:
        tool = registry.get(made.name)
        assert tool is not None
        return result(made.name, **bench.run(tool, **made.arguments).output)

    first = call(channel="Hoechs")
    empty = run(first)
    assert judge_task(RULE, empty, ASKED).state == "incomplete"
    seen = listing_call(RULE, first, empty, ASKED, TOOLS)
    assert seen is not None
    retry = adapted_retry(RULE, first, run(seen)).call
    assert retry is not None
    counted = run(retry)
    assert counted.data["output"]["count"] == 5
    assert judge_task(RULE, counted, ASKED).state == "done"
