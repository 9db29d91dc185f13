"""The tools of a doctor who says what is uncertain: `diagnosis_step` and `final_diagnosis`.

One call a turn. Each step records what was learned, the differential and the next action, and
returns the text of that action for the patient or the ward. The final diagnosis is written by a
fresh request to a language model that sees the recorded facts and the last differential only.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, Field, field_validator

from app.tools.api import (
    Approval,
    ToolContext,
    ToolFailed,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
)
from app.tools.diagnosis.session import (
    DiagnosisSession,
    FinalDiagnosis,
    append_step,
    close_session,
    load_session,
)

STEP, FINAL = "diagnosis_step", "final_diagnosis"
READY = "I'm ready to provide a diagnosis. Let me finalize my assessment."
DIAGNOSIS = "DIAGNOSIS READY: "
"""Start of the text of a final diagnosis."""

_LABELS = "ASK PATIENT|REQUEST TEST|REQUEST IMAGES?|DIAGNOSIS READY"
_ACTION = re.compile(  # also "**ASK PATIENT:** question"
    rf"[\s*_]*({_LABELS})\b[ \t*_]*:?[\s*_]*(.*)", re.IGNORECASE | re.DOTALL
)
_ANOTHER = re.compile(rf"^\W*({_LABELS})\b\W*:", re.IGNORECASE | re.MULTILINE)
_FORMS = (
    "Write next_step_action as 'ASK PATIENT: question', 'REQUEST TEST: one test', 'REQUEST IMAGES' "
    "or 'DIAGNOSIS READY'."
)
_NOTHING = re.compile(
    r"(?i)\W*(none|unknown|unclear|undetermined|n/?a|ready|diagnosis( ready)?|uncertain"
    r"|no diagnosis|(i )?(do not|don't|cannot|can't) .*|not sure.*)?\W*"
)

SYNTHESIS_SYSTEM = (
    "You name the diagnosis that the facts support best. Answer with the name of one disease only, "
    "in a few words, without explanation."
)


def split_differential(text: str) -> list[str]:
    """Return the diseases of a list in words: "MI (acute), PE, muscle strain".

    Commas, semicolons and line breaks part them, but not within brackets.
    """
    parts: list[str] = [""]
    depth = 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter in ",;\n" and depth <= 0:
            parts.append("")
            depth = 0
        else:
            parts[-1] += letter
    return [part for item in parts if (part := re.sub(r"^\W*(\d+[.)])?\s*|\s+$", "", item))]


class DiagnosisStepInput(ToolInput):
    """Arguments of `diagnosis_step`."""

    new_information: str = Field(
        min_length=1,
        max_length=20_000,
        description="Facts learned since the last step.",
    )
    current_uncertainties: list[Annotated[str, Field(max_length=1_000)]] = Field(
        description="The diseases that are still possible, two to four, the likeliest first.",
    )
    next_step_action: str = Field(
        min_length=1,
        max_length=4_000,
        description="'ASK PATIENT: question', 'REQUEST TEST: one test', 'REQUEST IMAGES' or "
        "'DIAGNOSIS READY'.",
    )

    @field_validator("current_uncertainties", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return split_differential(value) if isinstance(value, str) else value


class SpokenOutput(BaseModel):
    """The text that is said or requested next."""

    text: str = Field(description="The text for the patient or the ward.")
    step_number: int = Field(description="Steps recorded so far.")


class FinalDiagnosisInput(ToolInput):
    """Arguments of `final_diagnosis`."""

    reason_ready: str = Field(
        min_length=1, max_length=20_000, description="Why the facts suffice for a diagnosis."
    )


def spoken_action(action: str) -> str:
    """Return what to say for an action: a question without its label, a request with it.

    Raises:
        ToolRetry: It is none of the actions, or lacks its question or test.
    """
    found = _ACTION.fullmatch(re.sub(r"""\s*(["'])(.*)\1\s*""", r"\2", action, flags=re.DOTALL))
    if found is None:
        raise ToolRetry(f"that is no next step: {action[:80]!r}", for_model=_FORMS)
    label, rest = found[1].upper(), found[2].strip()
    if label == "DIAGNOSIS READY":
        return READY
    if _ANOTHER.search(rest):
        raise ToolRetry("next_step_action holds two steps", for_model=_FORMS)
    if label.startswith("REQUEST IMAGE"):
        return f"REQUEST IMAGES: {rest}" if rest else "REQUEST IMAGES"
    if not re.search(r"\w", rest):
        raise ToolRetry(f"{label} without a text", for_model=_FORMS)
    return rest if label == "ASK PATIENT" else f"REQUEST TEST: {rest}"


def _session_id(context: ToolContext) -> str:
    if not context.conversation_id:
        raise ToolFailed(
            "there is no conversation to which a diagnosis session belongs",
            remedy="Ask the assistant, or use `sightline eval agentclinic`.",
        )
    return context.conversation_id


def _said(session: DiagnosisSession, text: str) -> ToolResult:
    return ToolResult(text, {"text": text, "step_number": len(session.steps)}, {})


class DiagnosisStepTool:
    """Records a step and returns the text of its action."""

    spec = ToolSpec(
        name=STEP,
        description=(
            "Records one step of a diagnosis: what was learned, the two to four diseases that are "
            "still possible, and the next action. Returns what to say or request. One call a turn."
        ),
        Input=DiagnosisStepInput,
        Output=SpokenOutput,
        approval=Approval.COMPUTE,
        pack="diagnosis",
        sequential=True,
        title="Diagnosis step",
        for_profiles=True,
        icon="git-branch",
    )

    def run(self, args: DiagnosisStepInput, context: ToolContext) -> ToolResult:
        """Record the step.

        Raises:
            ToolRetry: The differential or the action is not in the form asked for.
            FileProblem: The session's file cannot be read or written.
        """
        if not args.new_information.strip():
            raise ToolRetry("new_information is empty")
        text = spoken_action(args.next_step_action)
        said = {item.casefold().strip(): item for item in args.current_uncertainties}
        diseases = [item for item in said.values() if not _NOTHING.fullmatch(item)]
        fewest = 1 if text == READY else 2
        if not fewest <= len(diseases) <= 4:
            raise ToolRetry(
                f"{len(diseases)} diseases in current_uncertainties, not two to four",
                for_model="One is enough only with 'DIAGNOSIS READY'.",
            )
        session = append_step(
            _session_id(context), args.new_information, diseases, args.next_step_action.strip()
        )
        return _said(session, text)


def synthesis_prompt(session: DiagnosisSession, reason_ready: str) -> str:
    """Return the request for the final diagnosis: the facts and the last differential."""
    facts = "\n".join(f"- {step.new_information}" for step in session.steps)
    differential = "\n".join(f"- {item}" for item in session.current_uncertainties)
    return (
        f"Facts about the patient:\n{facts}\n\nDiseases that were still considered:\n"
        f"{differential}\n\nWhy the doctor was ready: {reason_ready}\n\nName the diagnosis."
    )


class FinalDiagnosisTool:
    """Has the final diagnosis written from the recorded steps."""

    spec = ToolSpec(
        name=FINAL,
        description=(
            "Ends a diagnosis: a fresh request to a language model names the disease from "
            "the facts of all steps and the last differential. Not for diagnosis: a physician "
            "decides."
        ),
        Input=FinalDiagnosisInput,
        Output=SpokenOutput,
        approval=Approval.COMPUTE,
        pack="diagnosis",
        sequential=True,
        title="Final diagnosis",
        for_profiles=True,
        icon="git-branch",
        timeout_s=300,
    )

    def run(self, args: FinalDiagnosisInput, context: ToolContext) -> ToolResult:
        """Write the diagnosis; without a language model it is the last differential's first.

        Raises:
            ToolRetry: No step was recorded before.
            ToolFailed: The language model named no disease.
            FileProblem: The session's file cannot be read or written.
        """
        session_id = _session_id(context)
        session = load_session(session_id)
        if not session.steps:
            raise ToolRetry("no step was recorded yet", for_model=f"Call {STEP} first.")
        if context.model is None:
            first = session.current_uncertainties[0]
            leading = re.sub(r"\s*\(.*\)\s*$", "", first) or first
            final = FinalDiagnosis(reason_ready=args.reason_ready, diagnosis=leading)
        else:
            prompt = synthesis_prompt(session, args.reason_ready)
            said = context.model.ask(prompt, system=SYNTHESIS_SYSTEM)
            final = FinalDiagnosis(
                reason_ready=args.reason_ready,
                diagnosis=_disease(said, context.model.name),
                synthesis_prompt=prompt,
                model=context.model.name,
            )
        session = close_session(session_id, final)
        text = f"{DIAGNOSIS}{final.diagnosis}"
        metadata = {"model": final.model, "synthesis_prompt": final.synthesis_prompt}
        output = {"text": text, "step_number": len(session.steps)}
        return ToolResult(text, output, metadata)


def _disease(said: str, model: str) -> str:
    """Return the disease that a model named, on one line.

    Raises:
        ToolFailed: It named none.
    """
    first = next((line for line in said.splitlines() if line.strip()), "")
    name = re.sub(r"(?i)^\W*((final )?diagnosis( ready)?\s*[:=-])?\s*|[\s.*]+$", "", first)
    if _NOTHING.fullmatch(name):
        raise ToolFailed(f"{model} named no disease", remedy="Ask again, or choose another model.")
    return name


TOOLS = (DiagnosisStepTool(), FinalDiagnosisTool())
