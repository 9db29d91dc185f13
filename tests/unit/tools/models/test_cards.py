"""Cards of models: read strictly, and complete as shipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.tools.models.cards import DTYPES, SOURCED, ModelCard, cards, cards_table, read_card
from app.tools.registry import load_packs

DOCS = Path(__file__).resolve().parents[4] / "docs" / "chest.md"
SHIPPED = sorted(cards().values(), key=lambda card: card.name)
GOOD = """
name = "net"
title = "A net"
tools = ["a_tool"]
trust_remote_code = true
revision = "0123456789012345678901234567890123456789"
[memory]
float32 = 100
[[files]]
name = "model-*.safetensors"
[[files]]
name = "config.json"
size = 3
sha256 = "0123456789012345678901234567890123456789012345678901234567890123"
[[files]]
name = "net.py"
code = true
"""


def read(folder: Path, text: str, name: str = "net.toml") -> ModelCard:
    (folder / name).write_text(text)
    return read_card(folder / name)


def test_a_card_is_read_as_it_stands(tmp_path: Path):
    card = read(tmp_path, GOOD)
    assert card.memory == {"float32": 100}
    assert [file.name for file in card.files] == ["model-*.safetensors", "config.json", "net.py"]
    found = card.file_of("model-00001-of-00002.safetensors")
    assert found is not None
    assert found.is_pattern
    assert card.file_of("other.safetensors") is None
    assert card.size == 3


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (GOOD.replace("title =", "titel ="), "titel: Unexpected keyword"),
        (GOOD.replace("size = 3", "bytes = 3"), r"files\.1\.bytes: Unexpected keyword"),
        (GOOD.replace('title = "A net"', "title = 3"), "title: .*string"),
        (GOOD.replace('title = "A net"', ""), "title: .*[Mm]issing|title: .*required"),
        (GOOD.replace('"0123456789012345678901234567890123456789"', '"main"'), "no commit"),
        (GOOD.replace("float32", "float8"), "unknown dtype float8"),
        (GOOD.replace('name = "net"', 'name = "other"'), "its file's is 'net'"),
        (GOOD.replace("[memory]", '[sources]\nprice = "Here: x"\n[memory]'), "price is unknown"),
        (GOOD.replace("[memory]", '[sources]\nsize = "a page"\n[memory]'), "begin with its origin"),
        (GOOD.replace('"config.json"', '"../config.json"'), "no path below"),
        (GOOD.replace('"config.json"', '"/etc/config.json"'), "no path below"),
        (GOOD.replace('"config.json"', '"net.py"'), "names one twice"),
        (
            GOOD.replace('"012345678901234567890123456789012345678901234567890123456789', '"x'),
            "sha",
        ),
        (GOOD.replace("trust_remote_code = true", ""), "is code"),
        (GOOD.replace('name = "net.py"', 'name = "x"\nurl = "http://x.invalid"'), "not https"),
        (GOOD.replace('tools = ["a_tool"]', 'tools = ["a_tool"]\nfolder = false'), "one file"),
        ("name = ", "not a valid model card"),
        ('name = "net"', "not a valid model card"),
    ],
)
def test_what_no_card_can_say_is_refused_with_the_reason(tmp_path: Path, wrong: str, why: str):
    with pytest.raises(ValueError, match=why):
        read(tmp_path, wrong)


@pytest.mark.parametrize("card", SHIPPED, ids=lambda card: card.name)
def test_each_shipped_card_says_what_people_and_tools_need(card: ModelCard):
    tools = {tool.spec.name for tool in load_packs(()).all()}
    assert set(card.tools) <= tools
    assert card.tools
    assert card.licence
    assert card.intended_use
    assert card.limits
    assert card.tried
    assert set(card.memory) <= set(DTYPES)
    assert card.embedded or card.repository or card.url
    assert not card.gated or card.terms, "who gates a model has terms"
    code = [file for file in card.files if file.name.endswith(".py")]
    assert all(file.code for file in code)


@pytest.mark.parametrize("card", SHIPPED, ids=lambda card: card.name)
def test_each_shipped_card_says_where_licence_revision_and_size_were_read(card: ModelCard):
    assert set(card.sources) == set(SOURCED)
    assert not card.sources["licence"].startswith("None: ")
    assert bool(card.revision) != card.sources["revision"].startswith("None: ")
    assert bool(card.size or card.embedded) != card.sources["size"].startswith("None: ")


def test_the_facts_of_the_published_models():
    """As a review of the published pages listed them in November 2026."""
    medsam2 = cards()["medsam2"]
    assert medsam2.revision.startswith("e4a6f35e")
    assert medsam2.files[0].size == 156_040_129
    digest = "c92743b99f00d078bf32a3afcc38aaa9faf1c1692dffe3eaa7a90938c1991060"
    assert medsam2.files[0].sha256 == digest
    assert "CC BY-SA 4.0" in medsam2.licence
    assert medsam2.licence.startswith("Research and education only")
    assert cards()["chexagent-2-3b"].licence.startswith("CC BY-NC 4.0")
    for section in ("findings", "impression"):
        report = cards()[f"chexpert-mimic-cxr-{section}"]
        assert report.licence.startswith("MIT;")
        assert report.size == 245_000_000
    assert cards()["medgemma-4b-it"].revision.startswith("290cda5e")
    assert cards()["densenet121-res224-all"].size == 28_382_008
    roentgen = cards()["roentgen"]
    assert roentgen.repository.endswith("/roent-gen-v1-0")
    assert roentgen.gated
    assert any("stanfordmimi/RoentGen-v2 at c88d2bf0" in limit for limit in roentgen.limits)


def test_each_tool_that_needs_a_model_names_one_that_has_a_card():
    for tool in load_packs(()).all():
        for need in tool.spec.needs:
            if need.kind == "weights":
                assert tool.spec.name in cards()[need.name].tools


def test_the_cards_name_the_files_that_torchxrayvision_publishes():
    import importlib.util

    spec = importlib.util.find_spec("torchxrayvision")
    if spec is None or spec.origin is None:
        pytest.skip("torchxrayvision is not installed")
    package = Path(spec.origin).parent  # read, not imported: that would load torch
    densenet = cards()["densenet121-res224-all"].files[0]
    pspnet = cards()["pspnet-chestx-det"].files[0]
    assert densenet.url in (package / "models.py").read_text(encoding="utf-8")
    source = (package / "baseline_models" / "chestx_det" / "__init__.py").read_text("utf-8")
    assert pspnet.url in source
    for file in (densenet, pspnet):
        assert file.url.endswith("/" + file.name)


def test_the_table_in_the_documentation_is_that_of_the_cards():
    text = DOCS.read_text(encoding="utf-8")
    assert cards_table() in text, "run: python -m tests.support.write_model_table"
