"""The roles of AgentClinic: patient, measurement, moderator and doctor, and one examination.

Protocol and scenarios: Schmidgall S, et al. AgentClinic: a multimodal agent benchmark to evaluate
AI in simulated clinical environments. arXiv:2405.07960. Two ways of the original are not taken:
a test that the scenario lacks is "not available", never normal; a bare "DIAGNOSIS READY" is no end.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol

from app.agent.context.model_messages import load_prompts
from app.agent.profiles import AgentProfile
from app.errors import FileProblem, SightlineError
from app.paths import resources_dir
from app.tools.diagnosis.offline_doctor import CANNOT, OfflineDoctor
from app.tools.diagnosis.protocol import DIAGNOSIS, READY
from app.tools.diagnosis.session import get_accumulated_notes
from app.tools.diagnosis.table import presentations

Json = dict[str, Any]
State = Literal["correct", "wrong", "declined", "undecided", "no diagnosis", "protocol", "failed"]
"""The outcome of an examination; "declined": the doctor said that it cannot know; "undecided": the
moderator said neither yes nor no; "protocol": the doctor broke the protocol too often."""
NOT_AVAILABLE = "not available"
MOST_BREAKS = 3
"""So many turns one after the other that break the protocol end the examination."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One case.

    Attributes:
        patient: What the patient knows.
        measurements: Examination findings and test results, by name.
    """

    id: str
    objective: str
    patient: Json | str
    measurements: Json
    diagnosis: str


def read_scenarios(path: Path) -> list[Scenario]:
    """Return the scenarios of a JSON Lines file in AgentClinic's MedQA or NEJM form.

    Raises:
        FileProblem: A line is no scenario; the text says which.
    """
    found: list[Scenario] = []
    try:
        lines = path.read_text("utf-8").split("\n")  # splitlines parts at U+2028, too
    except (OSError, UnicodeError) as error:
        raise FileProblem("the scenarios cannot be read", subject=str(path)) from error
    for number, line in enumerate(lines):
        if line.strip():
            try:
                found.append(_scenario(f"{path.stem}-{number}", json.loads(line)))
            except (ValueError, KeyError, TypeError, StopIteration) as error:
                reason = f"line {number + 1} is no scenario of AgentClinic"
                raise FileProblem(reason, subject=str(path), detail=repr(error)) from error
    if not found:
        raise FileProblem("there is no scenario in it", subject=str(path))
    return found


def _scenario(name: str, data: Json) -> Scenario:
    if "OSCE_Examination" not in data:
        right = next(item["text"] for item in data["answers"] if item["correct"])
        exams = {"Physical_Examination": data["physical_exams"]}
        return Scenario(name, data["question"], data["patient_info"], exams, right)
    osce = data["OSCE_Examination"]
    measurements = {**osce["Physical_Examination_Findings"], **osce.get("Test_Results", {})}
    return Scenario(
        name,
        osce["Objective_for_Doctor"],
        osce["Patient_Actor"],
        measurements,
        osce["Correct_Diagnosis"],
    )


@dataclass(frozen=True, slots=True)
class Utterance:
    """A text that a role said.

    Attributes:
        text: What the others hear.
        problem: Why it breaks the protocol, "" if it does not.
    """

    text: str
    problem: str = ""


Ask = Callable[[AgentProfile, str], Awaitable[Utterance]]
"""Sends a request of one role to its language model; see `eval_runs.role`."""


class Doctor(Protocol):
    """A doctor who is examined."""

    async def turn(self, heard: str, left: int) -> Utterance:
        """Return the next question, request or diagnosis; `left` counts this turn."""
        ...


BIASES = {
    "recency": "You recently saw several cases of one disease and expect it again.",
    "frequency": "You expect the most common disease whatever is told.",
    "false_consensus": "You believe that everybody thinks as you do about this case.",
    "confirmation": "You look for what confirms your first idea and pass over the rest.",
    "status_quo": "You dislike changing what has already been decided.",
    "self_diagnosis": "You have read about your complaint and are sure that you have cancer.",
    "gender": "You mistrust people of another gender than yours.",
    "race": "You mistrust people of another origin than yours.",
    "sexual_orientation": "You mistrust people of another sexual orientation than yours.",
    "cultural": "You mistrust people of another culture than yours.",
    "education": "You mistrust people of another education than yours.",
    "religion": "You mistrust people of another religion than yours.",
    "socioeconomic": "You mistrust people who are richer or poorer than you.",
}
"""The published biases, in our own words; "self_diagnosis" is a patient's."""


def _bias(name: str) -> str:
    return f"\n\nYou have a bias: {BIASES[name]} It colours all you say." if name else ""


@cache
def _prompts() -> dict[str, str]:
    return load_prompts(resources_dir() / "prompts" / "agentclinic.txt")


def _plain_profile(prompt: str) -> AgentProfile:
    return AgentProfile(tools=(), max_turns=1, prompt=prompt)


@dataclass(slots=True)
class ModelPatient:
    """A patient who is played by a language model."""

    scenario: Scenario
    ask: Ask
    bias: str = ""
    _talk: list[str] = field(default_factory=list[str])

    async def answer(self, question: str) -> Utterance:
        """Answer a question."""
        self._talk.append(f"Doctor: {question}")
        known = f"\n\nWhat you know:\n{_text(self.scenario.patient)}"
        prompt = _prompts()["PATIENT"] + _bias(self.bias) + known
        said = await self.ask(_plain_profile(prompt), _talk(self._talk, "Your answer:"))
        self._talk.append(f"You: {said.text}")
        return said


@dataclass(slots=True)
class ModelMeasurement:
    """The ward that examines and tests, played by a language model."""

    scenario: Scenario
    ask: Ask

    async def answer(self, request: str) -> Utterance:
        """Return the results of a test."""
        given = f"\n\nResults:\n{_text(self.scenario.measurements)}"
        prompt = _prompts()["MEASUREMENT"] + given
        return await self.ask(_plain_profile(prompt), request)


@dataclass(slots=True)
class ModelModerator:
    """Says whether two diagnoses are the same, played by a language model."""

    ask: Ask

    async def same(self, diagnosis: str, correct: str) -> bool | None:
        """Return whether they are; None if it said neither yes nor no, even when asked again."""
        prompt = _prompts()["MODERATOR"]
        question = f"Correct diagnosis: {correct}\nThe doctor's diagnosis: {diagnosis}\nThe same?"
        for _ in range(2):
            said = await self.ask(_plain_profile(prompt), question)
            verdict = read_verdict(said.text)
            if verdict is not None:
                return verdict
            question = f"{question}\nAnswer with Yes or No only."
        return None


def read_verdict(text: str) -> bool | None:
    """Return True for yes and False for no at the start of an answer, None for anything else.

    Both words in one answer ("yes and no") are no verdict, nor is one with a reservation
    ("yes, but another kind of it").
    """
    words = re.findall(r"[a-z]+", text.casefold())
    if not words or words[0] not in ("yes", "no") or {"yes", "no"} <= set(words):
        return None
    if not _RESERVED.isdisjoint(words) or (words[0] == "yes" and "not" in words):
        return None
    return words[0] == "yes"


_RESERVED = frozenset(
    ["but", "however", "although", "though", "partly", "partially", "except", "unless", "if"]
)


@dataclass(slots=True)
class RulePatient:
    """A patient without a language model: says the sentences that share words with the question."""

    scenario: Scenario
    _opened: bool = False

    async def answer(self, question: str) -> Utterance:
        """Answer a question."""
        sentences = _sentences(self.scenario.patient)
        if not self._opened:
            self._opened = True
            return Utterance(" ".join(sentences[:3]) or "I don't know.")
        wanted = _words(question)
        found = [one for one in sentences if len(wanted & _words(one)) >= min(2, len(wanted))]
        return Utterance(" ".join(found[:2]) or "I don't know.")


@dataclass(slots=True)
class RuleMeasurement:
    """The ward without a language model: gives the results whose name fits the request best."""

    scenario: Scenario

    async def answer(self, request: str) -> Utterance:
        """Return the results of a test."""
        wanted = _words(request)
        found = [
            f"{name}: {value}"
            for path, value in _leaves(self.scenario.measurements)
            for name in (" ".join(path).replace("_", " "),)
            if wanted and (wanted <= _words(name) or _alike(request, path))
        ]
        return Utterance(f"RESULTS: {'; '.join(found) if found else NOT_AVAILABLE}")


@dataclass(slots=True)
class RuleModerator:
    """Compares diagnoses without a language model: the same words, or names of the same disease.

    Strict: another kind of a disease ("pulmonary hypertension") and two diseases are not the same.
    """

    async def same(self, diagnosis: str, correct: str) -> bool | None:
        """Return whether they are the same."""
        said, right = (set(re.findall(r"[a-z]+", text.casefold())) for text in (diagnosis, correct))
        for pair in _OPPOSED:
            if said & pair and right & pair and said & pair != right & pair:
                return False
        return not _names(diagnosis).isdisjoint(_names(correct))


_OPPOSED = ({"acute", "chronic"}, {"left", "right"})


@cache
def _synonyms() -> dict[frozenset[str], frozenset[frozenset[str]]]:
    """Return the other names of the tables' diseases, each as its words."""
    found: dict[frozenset[str], frozenset[frozenset[str]]] = {}
    for table in presentations().values():
        for disease in table.hypotheses.values():
            names = frozenset(map(_disease_words, (disease.name, *disease.other_names)))
            for name in names:
                found[name] = found.get(name, frozenset()) | names
    return found


def _names(text: str) -> frozenset[frozenset[str]]:
    """Return the names of a disease, each as its words: also "PML" of "Multifocal ... (PML)"."""
    inner = re.findall(r"\(([^)]*)\)", text)
    names = {_disease_words(one) for one in (re.sub(r"\([^)]*\)", " ", text), *inner)}
    own = frozenset(names - {frozenset()})
    return own.union(*(_synonyms().get(name, frozenset()) for name in own))


def _disease_words(text: str) -> frozenset[str]:
    plain = re.sub(r"['\u2019]s\b", "", text.casefold()).replace("aemia", "emia")
    return frozenset(re.findall(r"[a-z0-9]+", plain)) - _NOT_TELLING


_NOT_TELLING = frozenset(
    re.findall(
        r"\w+",
        "a an and the of with due to disease syndrome disorder acute chronic left right likely",
    )
)


def _alike(request: str, path: tuple[str, ...]) -> bool:
    name = re.sub(r"(?i)request test:?", "", request).casefold().strip(string.punctuation + " ")
    parts = [part.casefold().replace("_", " ") for part in path]
    return any(SequenceMatcher(None, name, part).ratio() > 0.8 for part in parts)


_DULL = frozenset(
    re.findall(
        r"\w+",
        "a an and any are at been but can could did do does else ever for from had has have how i "
        "if in is it many me much my now of on or patient please request test that the them there "
        "they this to was were what when where which who why will with you your results",
    )
)


def _words(text: str) -> frozenset[str]:
    words = re.findall(r"[a-z0-9]{2,}", text.casefold())
    return frozenset(word.removesuffix("s") for word in words if word not in _DULL)


def _sentences(part: Any) -> list[str]:
    texts = [f"{value}" for _, value in _leaves(part)]
    return [
        one.strip() for text in texts for one in re.split(r"(?<=[.!?])\s+", text) if one.strip()
    ]


def _leaves(part: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    if isinstance(part, dict):
        return [leaf for key, value in part.items() for leaf in _leaves(value, (*path, str(key)))]
    if isinstance(part, list):
        return [leaf for value in part for leaf in _leaves(value, path)]
    return [(path, str(part))]


def _text(part: Any) -> str:
    return part if isinstance(part, str) else json.dumps(part, indent=1, ensure_ascii=False)


def _talk(lines: list[str], end: str) -> str:
    return "\n".join([*lines, end])


@dataclass(slots=True)
class PlainDoctor:
    """A language model alone, with the published format and no tools."""

    scenario: Scenario
    ask: Ask
    turns: int
    bias: str = ""
    _talk: list[str] = field(default_factory=list[str])

    async def turn(self, heard: str, left: int) -> Utterance:
        """Return the next question, request or diagnosis."""
        if heard:
            self._talk.append(heard)
        prompt = _prompts()["DOCTOR"].format(turns=self.turns) + _bias(self.bias)
        known = f"What is known before: {self.scenario.objective}"
        said = await self.ask(_plain_profile(prompt), _talk([known, *self._talk], _left(left)))
        self._talk.append(f"You: {said.text}")
        return said


@dataclass(slots=True)
class ProfileDoctor:
    """A language model with the tools of an agent profile; its notes are all that it remembers."""

    scenario: Scenario
    ask: Ask
    profile: AgentProfile
    session_id: str
    bias: str = ""

    async def turn(self, heard: str, left: int) -> Utterance:
        """Return the next question, request or diagnosis."""
        notes = get_accumulated_notes(self.session_id)
        parts = [f"What is known before: {self.scenario.objective}"]
        parts += [f"Your notes so far:\n{notes}"] if notes else []
        parts += [f"You hear:\n{heard}"] if heard else []
        change = {"prompt": self.profile.prompt + _bias(self.bias)}
        agent = self.profile.model_copy(update=change)
        return await self.ask(agent, _talk(parts, _left(left)))


@dataclass(slots=True)
class RuleDoctor:
    """The offline doctor."""

    doctor: OfflineDoctor

    async def turn(self, heard: str, left: int) -> Utterance:
        """Return the next question, request or diagnosis."""
        return Utterance(self.doctor.turn(heard, left))


def _left(left: int) -> str:
    if left == 1:
        return "This is the last turn: give your diagnosis now."
    return f"{left} turns are left."


@dataclass(slots=True)
class Examination:
    """The outcome and the transcript of one case.

    Attributes:
        transcript: Each turn as {"turn", "role", "text"}.
        reason: Why it ended, for states other than correct and wrong.
    """

    scenario: str
    state: State
    diagnosis: str
    correct: str
    turns: int
    reason: str = ""
    transcript: list[Json] = field(default_factory=list[Json])


_READY = re.compile(r"DIAGNOSIS READY\b\W*(.*)", re.IGNORECASE | re.DOTALL)
_REQUEST = re.compile(r"REQUEST (TEST|IMAGES?)\b\W*(.*)", re.IGNORECASE | re.DOTALL)


async def examine(
    scenario: Scenario,
    doctor: Doctor,
    patient: ModelPatient | RulePatient,
    ward: ModelMeasurement | RuleMeasurement,
    moderator: ModelModerator | RuleModerator,
    turns: int = 20,
) -> Examination:
    """Let a doctor examine one case, to an end in a clear state; a failing model is one, too."""
    transcript: list[Json] = []
    try:
        return await _examine(scenario, doctor, patient, ward, moderator, turns, transcript)
    except SightlineError as error:
        number = max((item["turn"] for item in transcript), default=0)
        right = scenario.diagnosis
        return Examination(scenario.id, "failed", "", right, number, error.reason, transcript)


async def _examine(
    scenario: Scenario,
    doctor: Doctor,
    patient: ModelPatient | RulePatient,
    ward: ModelMeasurement | RuleMeasurement,
    moderator: ModelModerator | RuleModerator,
    turns: int,
    transcript: list[Json],
) -> Examination:
    def end(state: State, number: int, diagnosis: str = "", reason: str = "") -> Examination:
        correct = scenario.diagnosis
        return Examination(scenario.id, state, diagnosis, correct, number, reason, transcript)

    heard, breaks, problem = "", 0, ""
    for number in range(1, turns + 1):
        left = turns - number + 1
        said = await doctor.turn(heard, left)
        transcript.append({"turn": number, "role": "doctor", "text": said.text})
        problem = said.problem or _break(said.text)
        if problem:
            breaks += 1
            transcript[-1]["problem"] = problem
            if breaks == MOST_BREAKS:
                return end("protocol", number, reason=problem)
            heard = f"That cannot be used: {problem}."
            continue
        breaks = 0
        if said.text.startswith(CANNOT):
            return end("declined", number, reason=said.text.removeprefix(CANNOT))
        if said.text.strip() == READY:
            heard = "Give your final diagnosis now."
            continue
        if ready := _READY.search(said.text):
            diagnosis = ready[1].strip().split("\n")[0].strip(" .*")
            same = await moderator.same(diagnosis, scenario.diagnosis)
            if same is None:
                return end("undecided", number, diagnosis, "the moderator said neither yes nor no")
            return end("correct" if same else "wrong", number, diagnosis)
        if request := _REQUEST.search(said.text):
            role = "measurement"
            if request[1].upper() == "TEST":
                heard = (await ward.answer(said.text)).text
            else:
                heard = f"RESULTS: images are {NOT_AVAILABLE}"
        else:
            role, heard = "patient", (await patient.answer(said.text)).text
        transcript.append({"turn": number, "role": role, "text": heard})
    return end("no diagnosis", turns, reason=problem or f"no diagnosis in {turns} turns")


def _break(text: str) -> str:
    """Return why a doctor's text breaks the protocol, "" if it does not."""
    if not text.strip():
        return "nothing was said"
    ready = _READY.search(text)
    if ready and not re.sub(r"\W|none|unknown", "", ready[1], flags=re.IGNORECASE):
        return f'the disease is missing: write "{DIAGNOSIS}" and its name'
    return ""
