"""The command `eval agentclinic`: doctors examine the cases of a file."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from app.agent.llm.base import LanguageModel
from app.agent.profiles import AgentProfile, load_profile
from app.errors import UsageError
from app.headless.agentclinic import (
    Ask,
    Doctor,
    ModelMeasurement,
    ModelModerator,
    ModelPatient,
    PlainDoctor,
    ProfileDoctor,
    RuleDoctor,
    RuleMeasurement,
    RuleModerator,
    RulePatient,
    Scenario,
    Utterance,
    examine,
    read_scenarios,
)
from app.headless.common import open_program, print_json
from app.headless.eval_page import write_page
from app.headless.eval_runs import (
    Results,
    Role,
    exit_code,
    file_name,
    most_common,
    run_cases,
    spent_text,
    summary_of,
)
from app.paths import data_dir
from app.tools.diagnosis.offline_doctor import OfflineDoctor
from app.tools.diagnosis.session import session_file
from app.user_files import write_atomic
from app.wiring import Program, new_run_id

DoctorKind = Literal["profile", "plain", "offline"]
RULES = "rules"
"""The name of a role without a language model."""


@dataclass(frozen=True, slots=True)
class Options:
    """The settings on which results depend.

    Attributes:
        llm: The doctor's model; the others' too where theirs is "".
        doctor: "profile": with the tools of an agent profile; "plain": the model alone;
            "offline": no language model.
    """

    scenarios: str
    llm: str
    doctor: DoctorKind
    profile: str
    patient_llm: str
    measurement_llm: str
    moderator_llm: str
    turns: int
    doctor_bias: str
    patient_bias: str
    base_url: str = ""


def run(
    options: Options,
    *,
    out: Path | None,
    ids: Sequence[str] = (),
    limit: int = 0,
    jobs: int = 1,
    resume: bool = False,
    as_json: bool = False,
    make_model: Any = None,
) -> int:
    """Examine the cases; print the summary, and return 0, or 1 if --resume has something to do.

    Args:
        options: The settings of the run.
        out: Folder for results, transcripts, sessions and the page; None for a new one.
        ids: Only these cases.
        limit: At most so many cases; 0 for all.
        jobs: Cases at the same time.
        resume: Whether to go on with the results in `out`.
        as_json: Whether to print each result as a JSON object.
        make_model: Returns the language model of a name, in tests.
    """
    cases = read_scenarios(Path(options.scenarios))
    unknown = set(ids) - {case.id for case in cases}
    if unknown:
        raise UsageError(f"there is no case {min(unknown)!r}", remedy=f"The first: {cases[0].id}.")
    cases = [case for case in cases if not ids or case.id in ids][: limit or None]
    folder = out or data_dir() / "eval" / f"agentclinic-{new_run_id()[:8]}"
    facts = {"benchmark": "agentclinic", **asdict(options)}
    with open_program() as program:
        make = make_model or (lambda name: program.language_model(name or None, options.base_url))
        work = _Work(program, options, folder, make)
        results = Results(folder, facts | {"roles": work.names}, resume=resume)
        todo = [case for case in cases if case.id not in results.done]
        asyncio.run(run_cases(todo, work.examine, results, jobs, None if as_json else _line))
    wanted = {case.id for case in cases}
    rows = [row for row in results.rows if row["id"] in wanted]
    name, count, total = most_common(case.diagnosis for case in cases)
    summary = {
        **facts,
        **summary_of(rows),
        "baseline": {"always": name, "correct": count, "cases": total},
        "roles": work.names,
    }
    write_atomic(folder / "summary.json", json.dumps(summary, indent=1).encode())
    write_page(folder)
    if as_json:
        print_json(summary)
    else:
        _print_summary(summary, folder)
    return exit_code(rows, len(cases))


def _print_summary(summary: dict[str, Any], folder: Path) -> None:
    base = summary["baseline"]
    print(
        f"{summary['correct']} of {summary['cases']} right: {summary['accuracy']:.1%} "
        f"(95% {summary['low']:.1%} to {summary['high']:.1%})"
    )
    print("; ".join(f"{state} {count}" for state, count in summary["states"].items()))
    print(f'always "{base["always"]}": {base["correct"]} of {base["cases"]}')
    for role, used in summary["spent"].items():
        print(f"{role} ({summary['roles'][role]}): {spent_text(used)}")
    print(f"{folder / 'report.html'}")


class _Work:
    """Makes the roles of each case."""

    def __init__(self, program: Program, options: Options, folder: Path, make: Any) -> None:
        self.program, self.options, self.folder = program, options, folder
        offline = options.doctor == "offline"
        others = RULES if offline else options.llm
        asked: dict[str, str | None] = {
            "doctor": None if offline else options.llm,
            "patient": options.patient_llm or others,
            "measurement": options.measurement_llm or others,
            "moderator": options.moderator_llm or others,
        }
        self.profile: AgentProfile | None = None
        if options.doctor == "profile":
            self.profile = load_profile(options.profile)
            asked["doctor"] = options.llm or self.profile.model
        models: dict[str, LanguageModel] = {}
        self.models: dict[str, LanguageModel | None] = dict.fromkeys(asked)
        for role, name in asked.items():
            if name is None or (name == RULES and role != "doctor"):
                continue
            if name not in models:
                models[name] = make(name)
            if models[name].name == "offline":
                raise UsageError(
                    "'offline' is no language model, which this role needs",
                    remedy="Name one with --llm, or use --doctor offline.",
                )
            self.models[role] = models[name]
        self.names = {
            role: model.name if model is not None else RULES for role, model in self.models.items()
        }

    async def examine(self, case: Scenario) -> tuple[dict[str, Any], dict[str, Any]]:
        """Examine one case; return its row of the results, and what its transcript's file adds."""
        # The same on resuming, so that the session of a run that was killed is not left behind.
        place = hashlib.sha256(str(self.folder.resolve()).encode()).hexdigest()[:8]
        session_id = f"{file_name(case.id)}_{place}"
        session_file(session_id).unlink(missing_ok=True)
        files = self.folder / "files" / file_name(case.id)
        files.mkdir(parents=True, exist_ok=True)
        roles = {
            role: Role(self.program, model, files, session_id)
            for role, model in self.models.items()
            if model is not None
        }
        try:
            done = await examine(
                case,
                self._doctor(case, roles, session_id),
                self._patient(case, roles),
                ModelMeasurement(case, _ask(roles["measurement"]))
                if "measurement" in roles
                else RuleMeasurement(case),
                ModelModerator(_ask(roles["moderator"]))
                if "moderator" in roles
                else RuleModerator(),
                self.options.turns,
            )
        finally:  # also on Ctrl+C
            self._keep_session(session_id, case)
        row = asdict(done)
        more = {"objective": case.objective, "transcript": row.pop("transcript")}
        spent = {role: asdict(one.spent) for role, one in roles.items()}
        return {"id": row.pop("scenario"), **row, "spent": spent}, more

    def _doctor(self, case: Scenario, roles: dict[str, Role], session_id: str) -> Doctor:
        bias = self.options.doctor_bias
        if "doctor" not in roles:
            return RuleDoctor(OfflineDoctor(case.objective))
        ask = _ask(roles["doctor"])
        if self.profile is not None:
            return ProfileDoctor(case, ask, self.profile, session_id, bias)
        return PlainDoctor(case, ask, self.options.turns, bias)

    def _patient(self, case: Scenario, roles: dict[str, Role]) -> ModelPatient | RulePatient:
        if "patient" not in roles:
            return RulePatient(case)
        return ModelPatient(case, _ask(roles["patient"]), self.options.patient_bias)

    def _keep_session(self, session_id: str, case: Scenario) -> None:
        source = session_file(session_id)
        if source.exists():
            target = self.folder / "sessions" / f"{file_name(case.id)}.json"
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(source, target)
            source.unlink()


def _ask(role: Role) -> Ask:
    async def ask(agent: AgentProfile, text: str) -> Utterance:
        return Utterance(*await role.ask(agent, text))

    return ask


def _line(row: dict[str, Any]) -> str:
    detail = row["diagnosis"] or row["reason"]
    said = f"{row['id']}: {row['state']} in {row['turns']} turns"
    return f"{said}{': ' if detail else ''}{detail}"
