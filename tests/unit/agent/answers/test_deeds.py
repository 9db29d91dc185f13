"""What an answer says that the assistant did needs a successful call that can do it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from app.agent.events import RunFinished
from app.agent.loop.agent_loop import AgentLoop
from app.tools.api import ToolFailed
from app.tools.registry import load_packs
from app.tools.viewer.commands import COMMANDS
from app.tools.viewer.deeds import DEEDS
from app.tools.viewer.tools import TOOLS, FindingsInput
from tests.support.fake_tools import FakeRegistry, FakeTool, collect, fails, ok, request
from tests.support.scripted_model import ScriptedModel, Turn, call, says
from tests.unit.agent.answers.test_blind_answers import checked

MARK = "[check: this was not done]"
CLAIMED = (
    "I accepted the finding and rejected the effusion.",
    "I have accepted the finding.",
    "We have rejected both findings.",
    "The nodule was accepted.",
    "Done: the nodule is rejected now.",
    "Nodule accepted.",
    "Accepted the nodule.",
    "I signed the report.",
    "The report is now signed.",
    "I set a lung window for you.",
    "I've set the window to lung.",
    "The lung window has been set.",
    "The lung window is set.",
    "Lung window set.",
    "I adjusted the brightness and contrast.",
    "I zoomed to the heart.",
    "I have zoomed in on the heart and set a bone window.",
    "Zoomed to the heart.",
    "I inverted the image.",
    "The image is now inverted.",
    "I rotated the image and flipped it.",
    "I went to slice 12.",
    "I scrolled through the whole series.",
    "I opened the prior and hung it on the left.",
    "The prior is now shown beside the current study.",
    "I have now hidden the masks.",
    "I removed the annotation.",
    "I drew an arrow at the heart.",
    "I linked the two viewports.",
    "I started the cine.",
    "I undid the last step.",
    "I have reset the view.",
    "I maximised the viewport.",
    "I switched to the coronal plane.",
    "I closed the study.",
    "Now a lung window at slice 12, zoomed.",
    "Sure! I've gone ahead and set the lung window.",
    "All findings have been rejected now.",
    "I turned off the heat map.",
    "I brought up the prior next to the current film.",
    "I moved to image 20.",
    "I made the image brighter.",
    "I made the picture larger.",
    "The window was changed to bone.",
    "The image was rotated by 90 degrees as you asked.",
    "I entered the finding in the report.",
    "I copied the measurement into the report.",
    "I have updated the record.",
    "I called the referring physician.",
    "I took a screenshot.",
    "Der Befund ist jetzt abgelehnt.",
    "Ich habe den letzten Schritt rückgängig gemacht.",
    "Ich habe zur nächsten Schicht geblättert.",
    "Ich habe das Bild heller gemacht.",
    "Ich habe die Messung in den Bericht übernommen.",
    "Erledigt: Lungenfenster eingestellt, Schicht 12.",
    "Ich habe das Lungenfenster eingestellt.",
    "Habe das Lungenfenster eingestellt.",
    "Das Lungenfenster ist eingestellt.",
    "Lungenfenster eingestellt.",
    "Ich habe den Rundherd angenommen.",
    "Der Rundherd wurde abgelehnt.",
    "Ich bin zu Schicht 12 gesprungen.",
    "Ich habe auf das Herz gezoomt.",
    "Ich habe das Bild invertiert und gedreht.",
    "Ich habe die Masken ausgeblendet.",
    "Die Markierung wurde gelöscht.",
    "Die Voraufnahme habe ich links aufgehängt.",
    "Ich habe den Bericht unterschrieben.",
    "Done: the nodule is rejected.",
    "I accepted it.",
    "Ich habe beide abgelehnt.",
    "The nodule has been accepted.",
    "I raised the contrast.",
    "There was nothing wrong so I sent the report.",
)
TALK = (
    "I can set a lung window.",
    "You can accept it with A.",
    "Shall I zoom?",
    "I cannot sign reports.",
    "I could zoom to the heart if you like.",
    "I have not signed the report.",
    "I was not able to set a lung window.",
    "I tried to zoom but failed.",
    "I will now set a lung window.",
    "Let me set a lung window.",
    "Would you like me to open the prior?",
    "If you accept the finding, I can zoom to it.",
    "Once I have set a lung window, the vessels are clearer.",
    "It would have helped if I had zoomed in.",
    "The finding was accepted by you.",
    "You have opened the prior on the left.",
    "Press I to invert the image.",
    "Set a lung window to see the vessels.",
    "A lung window would show this better.",
    "Accepted findings are shown in green.",
    "The patient is rotated.",
    "The image is rotated.",
    "Two films are open.",
    "I put the scores in a table.",
    "I have set the values side by side in a table.",
    "I marked the unclear values in bold.",
    "I went through the record.",
    "I moved on to the lungs.",
    "I have selected the most relevant findings for the summary.",
    "I have changed the wording as you asked.",
    "I set out the results below.",
    "If the finding is accepted, I can write the report.",
    "Whether the finding was accepted is not told.",
    "After the lung window has been set, press 2.",
    "The finding is not accepted yet.",
    "The window is set with W.",
    "Findings are accepted with A.",
    "A study is closed with Ctrl+W.",
    "A lung window is usually set for this.",
    "In the menu, the window can be set.",
    "Wenn der Befund angenommen ist, wird er grün.",
    "Sobald das Lungenfenster eingestellt ist, sieht man mehr.",
    "Ob der Befund angenommen wurde, weiß ich nicht.",
    "Das Fenster wird mit W eingestellt.",
    "Befunde werden mit A angenommen.",
    "I marked with a star what is uncertain.",
    "I moved the heart to the top of the list.",
    "I took it back: the ratio is 0.5.",
    "I removed my remark on the lungs.",
    "I set 0.5 as the threshold.",
    "I went back to the first result.",
    "I'd accept the finding.",
    "I suggest you accept the finding.",
    "I see that a lung window is set.",
    "The lung window you set shows the vessels.",
    "No finding was accepted.",
    "The image was rotated during acquisition.",
    "The study was closed to enrolment.",
    "The recommendation was accepted.",
    "Both findings were accepted by the radiologist.",
    "The catheter was placed in the right atrium.",
    "The mass was removed in 2019.",
    "Ich habe die wichtigsten Werte ausgewählt.",
    "Ich habe die Grenze bei 0,5 gesetzt.",
    "Die Empfehlung wurde angenommen.",
    "I have no tool that could sign the report.",
    "The report was signed by Dr. Huber.",
    "The dose was adjusted.",
    "The line was placed in the right jugular vein.",
    "I outlined the heart [2].",
    "Ich kann das Lungenfenster einstellen.",
    "Ich habe das Lungenfenster nicht eingestellt.",
    "Soll ich das Lungenfenster einstellen?",
    "Sie können den Befund mit A annehmen.",
    "Sie haben den Befund angenommen.",
    "Ich habe keinen Befund angenommen.",
    "Ich kann Berichte nicht unterschreiben.",
    "Ich habe die Werte in einer Tabelle nebeneinander gestellt.",
    "Contrast is set too low in this image.",
    "The contrast is reduced in the lower part.",
    "The brightness is reduced towards the edges.",
    "The window is set so that the lungs can be seen.",
    "The window is set wide, so soft tissue is pale.",
    "The image is zoomed, so the edges are not seen.",
    "The image's own window is set to 2048/4096.",
    "A side marker was placed on the film.",
    "The side marker is placed at the top right.",
    "The marks are removed when you press Delete.",
    "The key image was marked earlier.",
    "The heart was already accepted.",
    "The cine is paused.",
    "Der Befund wurde bereits angenommen.",
    "Das Lungenfenster ist schon eingestellt.",
    "Das Fenster ist so eingestellt, dass die Lungen zu sehen sind.",
    "Der Kontrast ist gut eingestellt.",
    "Das Bild ist als Schlüsselbild markiert.",
    "Die Markierung links oben wurde beim Röntgen gesetzt.",
    "I accepted the value of the tool as it is.",
    "I set the window aside and looked only at the sizes.",
    "I set aside the second study.",
    "I set out from the study of today.",
    "I put more weight on the current study.",
    "I put the study date first.",
    "I went to the lungs next.",
    "I left the window as it was set.",
    "I have accepted none of them.",
    "I turned it around: half of the thorax is heart.",
    "Ich bin vom Herzen zu den Lungen gegangen.",
    "Ich habe die ältere Untersuchung beiseite gelegt.",
    "Ich habe es umgekehrt gerechnet.",
    "Ich habe sie verworfen, weil sie unzuverlässig ist.",
    "No findings were deleted.",
    "The mark has been deleted by the user.",
    "I saved the best for last.",
    "I sent nothing to anybody.",
    "I see that the heart was accepted.",
)
DONE = (
    ("I accepted the nodule.", "viewer_findings", {"action": "accept", "which": "nodule"}),
    ("The nodule was accepted.", "viewer_findings", {"action": "accept", "which": "nodule"}),
    ("Ich habe den Rundherd angenommen.", "viewer_findings", {"action": "accept", "which": "all"}),
    ("I deleted the mark.", "viewer_findings", {"action": "delete", "which": "mark"}),
    ("I set a lung window.", "viewer_window", {"preset": "lung"}),
    ("Das Lungenfenster ist eingestellt.", "viewer_window", {"preset": "lung"}),
    ("I zoomed in.", "viewer_zoom", {"factor": 2.0}),
    ("I zoomed in.", "viewer_command", {"command": "zoom in"}),
    ("I inverted the image.", "viewer_command", {"command": "invert"}),
    ("I rotated the image.", "viewer_command", {"command": "rotate left"}),
    ("I undid that.", "viewer_command", {"command": "undo"}),
    ("I exported the report.", "viewer_command", {"command": "export report"}),
    ("I printed the picture.", "viewer_command", {"command": "print"}),
    ("I went to slice 12.", "viewer_go_to", {"slice": 12}),
    ("I opened the prior and hung it on the left.", "viewer_layout", {"layout": "prior"}),
    ("I marked the place with an arrow.", "viewer_mark", {"shape": "arrow"}),
    ("I removed the marks from view.", "viewer_findings", {"action": "hide", "which": "all"}),
    ("I cleared all marks off the screen.", "viewer_findings", {"action": "hide", "which": "all"}),
    ("I removed the overlay.", "viewer_findings", {"action": "hide", "which": "all"}),
    ("Ich habe die Markierungen entfernt.", "viewer_findings", {"action": "hide", "which": "all"}),
    ("I removed the key image mark.", "viewer_command", {"command": "not a key image"}),
    ("I accepted the nodule again.", "viewer_command", {"command": "redo"}),
    ("I showed the nodule again.", "viewer_findings", {"action": "show", "which": "nodule"}),
    ("I showed the histogram.", "viewer_command", {"command": "histogram"}),
    (
        "I measured the nodule: the line is drawn on the image.",
        "viewer_measure",
        {"kind": "length"},
    ),
    ("I labelled the spot as an artefact.", "viewer_mark", {"kind": "point", "label": "artefact"}),
    (
        "I accepted the nodule; nothing was deleted.",
        "viewer_findings",
        {"action": "accept", "which": "nodule"},
    ),
    ("I set a lung window; the view is still zoomed.", "viewer_window", {"preset": "lung"}),
)
OTHER = (
    ("I deleted the marks.", "viewer_findings", {"action": "hide", "which": "all"}),
    ("I segmented the lungs.", "viewer_mark", {"shape": "arrow"}),
    ("I accepted the nodule.", "viewer_findings", {"action": "reject", "which": "nodule"}),
    ("I zoomed in.", "viewer_command", {"command": "invert"}),
    ("I inverted the image.", "viewer_window", {"preset": "lung"}),
    ("I exported the report.", "viewer_window", {"preset": "lung"}),
)


class Anything(BaseModel):
    """Arguments of any kind."""

    model_config = ConfigDict(extra="allow")


def answer(folder: Path, text: str, tool: str, arguments: dict[str, Any], *, works: bool) -> str:
    """The answer of a model that calls a tool of the viewer and then says `text`."""
    said = ok("The nodule was worked on.", {"said": "The nodule was worked on."})
    fake = FakeTool(tool, Anything, said if works else fails(ToolFailed("there is no such thing")))
    turns: list[Turn] = [[call(tool, **arguments)], says(text)]
    plans = load_packs([]).plans
    loop = AgentLoop(ScriptedModel(*turns), FakeRegistry(fake), plans=plans)
    asked = request(folder, "Please do what you think best", notes=())
    end = asyncio.run(collect(loop, asked))[-1]
    assert isinstance(end, RunFinished)
    return end.answer.strip()


@pytest.mark.parametrize("text", CLAIMED)
def test_a_deed_that_no_call_did_is_marked(text: str):
    assert MARK in checked("real", text)


@pytest.mark.parametrize("text", TALK)
def test_talk_of_deeds_is_no_claim(text: str):
    assert MARK not in checked("real", text)


@pytest.mark.parametrize(("text", "tool", "arguments"), DONE)
def test_a_deed_has_no_mark_after_the_call_that_did_it(
    tmp_path: Path, text: str, tool: str, arguments: dict[str, Any]
):
    assert "[check:" not in answer(tmp_path, text, tool, arguments, works=True)
    assert MARK in answer(tmp_path, text, tool, arguments, works=False)


@pytest.mark.parametrize(("text", "tool", "arguments"), OTHER)
def test_a_deed_is_marked_after_a_call_that_did_something_else(
    tmp_path: Path, text: str, tool: str, arguments: dict[str, Any]
):
    assert MARK in answer(tmp_path, text, tool, arguments, works=True)


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("The nodule is accepted again.", "viewer_command", {"command": "redo"}),
        (
            "I accepted the nodule; the others remain, since none was deleted.",
            "viewer_findings",
            {"action": "accept", "which": "nodule"},
        ),
    ],
)
def test_what_was_not_done_and_what_is_so_again_is_no_claim(
    tmp_path: Path, text: str, tool: str, arguments: dict[str, Any]
):
    assert MARK not in answer(tmp_path, text, tool, arguments, works=True)


def test_what_a_call_told_of_the_shown_findings_may_be_said(tmp_path: Path):
    text = "The nodule was accepted."
    assert answer(tmp_path, text, "viewer_state", {}, works=True) == text


def test_deeds_name_calls_that_there_are():
    tools = {tool.spec.name: tool for tool in TOOLS}
    texts = [*COMMANDS, "hide names", "show image texts"]
    actions = FindingsInput.model_json_schema()["properties"]["action"]["enum"]
    for wanted in {one for deed in DEEDS for one in deed.calls}:
        tool, _, word = wanted.partition(" ")
        assert tool in (*tools, "dicom_processor", "image_visualizer", "image_preprocessor")
        if tool == "viewer_command" and word:
            assert any(text.startswith(word) for text in texts), wanted
        if tool == "viewer_findings":
            assert word in actions, wanted
