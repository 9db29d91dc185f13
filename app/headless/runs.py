"""The commands `ask`, `tools` and `tool`: run the assistant or one tool without a window."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app import paths
from app.agent import events
from app.agent.answers.german import in_german, is_german
from app.agent.json_forms import describe, event_json, finding_json, plain
from app.agent.llm.base import LanguageModel
from app.agent.loop.agent_loop import AgentLoop, Approve, RunRequest
from app.agent.loop.audit_trail import ACTING
from app.agent.loop.tool_execution import Tools
from app.agent.messages import for_people
from app.agent.policy import Rule, Scope, exact
from app.agent.profiles import load_profile
from app.agent.request import Decision, make_folder
from app.agent.sessions import Thread
from app.audit import AuditFailed, AuditLog
from app.errors import CancelToken, FileProblem, SightlineError, UsageError, printable
from app.headless.common import open_program, print_json, scan_source
from app.headless.record_sources import open_records, redactor_for
from app.imaging.decode import Decoder
from app.imaging.types import Content, Instance
from app.tools.api import ToolContext, ToolSpec
from app.tools.images import OpenImage, RunImages
from app.wiring import Program, new_run_id
from app.workspace.studies import instances_of

ALLOW_REMOTE = "SIGHTLINE_ALLOW_REMOTE"
"""Environment variable that lists the hosts to which conversations may be sent."""
ALLOW_PICTURES = "SIGHTLINE_ALLOW_PICTURES"
"""Environment variable that lists the hosts to which pictures may be sent, too."""
ALLOW_RECORD = "SIGHTLINE_ALLOW_RECORD"
"""Environment variable that lists the hosts to which results of patients' records may be sent."""
ALLOW_RISKY_PICTURES = "SIGHTLINE_ALLOW_RISKY_PICTURES"
"""Environment variable that lists the hosts to which even identifying pictures may be sent."""

_VARIABLES = {
    "conversation": ALLOW_REMOTE,
    "record": ALLOW_RECORD,
    "pictures": ALLOW_PICTURES,
    "risky_pictures": ALLOW_RISKY_PICTURES,
}


def ask(
    prompt: str,
    images: Sequence[Path] = (),
    llm: str | None = None,
    out: Path | None = None,
    *,
    base_url: str = "",
    session: str = "",
    packs: Sequence[str] = (),
    system_prompt: str = "",
    prompts: str = "",
    plan_only: bool = False,
    as_json: bool = False,
    allow: Sequence[str] = (),
    records: Sequence[str] = (),
    profile: str = "",
) -> int:
    """Run the assistant on one question, and return the exit code.

    It is 0 if the run finished and, where tools were called, at least one of them gave a result.
    The arguments are those of the command, "", () or None for the settings' own.
    """
    agent = load_profile(profile) if profile else None
    with open_program() as program:
        program.use_profile(packs, system_prompt, prompts)
        allowed = allowed_tools(program.registry, allow)
        opened = open_images(program.decoder, images)
        open_records(program, records, opened)
        llm = llm or (agent and agent.model) or None
        model = program.language_model(llm, base_url)
        if plan_only:
            return _plan_only(program, model, prompt, opened, as_json=as_json)
        for notice in program.notices():
            print(f"sightline: settings: {printable(notice)}", file=sys.stderr)
        thread = program.sessions.open(session) if session else _new_thread(program, out)
        run = program.request(
            prompt,
            opened,
            thread=thread,
            out_dir=make_folder(out) if out else None,
            approve=approver(model, allowed),
        )
        with _cancel_on_interrupt(run.cancel):
            done = asyncio.run(_print_events(program.loop(model, agent), run, as_json=as_json))
        unsaved = thread.take_notice()
        if unsaved:
            print(f"sightline: {printable(unsaved)}", file=sys.stderr)
        thread.close()
        return done


def _new_thread(program: Program, out: Path | None) -> Thread:
    """Return a new conversation on disk, or in memory if the disk fails and `out` is given."""
    try:
        return program.sessions.new_thread()
    except FileProblem as error:
        if out is None:
            raise
        print(f"sightline: this run is not recorded: {error.text}", file=sys.stderr)
        return Thread.in_memory()


async def _print_events(loop: AgentLoop, run: RunRequest, *, as_json: bool) -> int:
    last = ""
    streaming = False
    german = is_german([run.question])
    own: set[str] = set()
    results: set[str] = set()
    async for event in loop.run(run):
        last = event.kind
        if isinstance(event, events.ToolStarted) and event.own:
            own.add(event.call_id)
        if isinstance(event, events.ToolFinished) and event.call_id not in own:
            results.add(event.status)
        if as_json:
            print_json(event_json(event, run.out_dir))
            continue
        streaming = _print_for_people(event, streaming, german=german)
    return 0 if last == "run_finished" and (not results or "ok" in results) else 1


_LONG_ENTRY = re.compile(r"\[([A-Z][A-Za-z]+/[0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f-]{22}\]")
"""An entry of a record cited by a UUID, of which its start will do for a person."""


def _print_for_people(event: events.RunEvent, streaming: bool, *, german: bool = False) -> bool:
    """Print an event, answer to stdout; `streaming`, also returned: the line is unfinished."""
    if isinstance(event, events.TextDelta):
        # What a model writes must not steer the terminal.
        text = _LONG_ENTRY.sub(r"[\1…]", event.text.expandtabs(4))
        print(printable(text, lines=True), end="", flush=True)
        return True
    if streaming:
        print(flush=True)
    if isinstance(event, events.ModelRetry) and event.withdrawn:
        print("[What the model wrote last does not count: it begins again.]", flush=True)
    line = describe(event)
    if german and isinstance(event, events.PlanUpdated):
        line = in_german(line)
    if line:
        print(printable(line, lines=True), file=sys.stderr, flush=True)
    return False


def allowed_tools(tools: Tools, names: Sequence[str]) -> frozenset[str]:
    """Return the tools that the command line allows to act, each named as "EFFECT:TOOL".

    The effect is part of the name, so that whoever allows a tool knows what it does.

    Raises:
        UsageError: There is no such tool, or it has another effect.
    """
    allowed: set[str] = set()
    for name in names:
        effect, _, tool = name.partition(":")
        found = tools.get(tool)
        if found is None:
            raise UsageError(
                f"--allow {name}: there is no tool {tool!r}",
                remedy="Write EFFECT:TOOL, such as send:TOOL; `sightline tools` lists the tools.",
            )
        own = str(found.spec.approval)
        if effect != own:
            raise UsageError(
                f"--allow {name}: the effect of {tool} is not {effect!r}",
                remedy=f"Write {own}:{tool} if you mean it.",
            )
        allowed.add(found.spec.name)
    return frozenset(allowed)


def approver(model: LanguageModel, allowed: Collection[str] = ()) -> Approve:
    """Return yes for tools in `allowed` and hosts in the environment variables."""
    host = model.remote_host

    async def approve(event: events.ApprovalRequested) -> Decision:
        if event.about == "tool" and event.tool in allowed:
            print(f"sightline: {printable(event.title)} Allowed by --allow.", file=sys.stderr)
            return Decision(granted=True)
        if event.about == "plan":  # each is allowed, or not, by its own name
            return Decision(granted=False, scope="each")
        ours = bool(host) and event.host == host and not (event.call_id or event.tool)
        variable = _VARIABLES.get(event.about, "") if ours else ""
        if variable and host in _hosts(variable):
            if event.warning:
                print(f"sightline: {printable(event.warning)}", file=sys.stderr)
            return Decision(granted=True)
        if variable:
            reason = f"Nobody can be asked here. Set {variable}={host} to allow it."
        elif event.about == "override":
            reason = "Nobody can be asked here: in the window you are asked, and can say yes."
        else:
            named = f"--allow {event.effect}:{event.tool}"
            reason = f"Nobody can be asked here. {named} allows it by name."
        print(f"sightline: {printable(event.title)} Not allowed. {reason}", file=sys.stderr)
        return Decision(granted=False, reason=reason)

    return approve


def _hosts(variable: str) -> set[str]:
    """Return the hosts that an environment variable lists, separated by commas."""
    return {host.strip().lower() for host in os.environ.get(variable, "").split(",")} - {""}


def _plan_only(
    program: Program,
    model: LanguageModel,
    prompt: str,
    images: Sequence[OpenImage],
    *,
    as_json: bool,
) -> int:
    from app.agent.planning import Planner

    if model.name != "offline":
        raise UsageError(
            "only the offline planner can list its calls in advance",
            remedy="Use --plan-only with --llm offline.",
        )
    with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
        notes = RunImages(images, Path(folder), program.decoder).notes(remote=False)
        used = program.record
        calls = Planner(program.active.plans).planned_calls(
            prompt, notes, program.active.all(), used.records, used.patient_id
        )
    if as_json:
        print_json([plain(call) for call in calls])
    for number, call in enumerate(() if as_json else calls, start=1):
        print(f"{number}) {call.tool} {json.dumps(plain(call.arguments), ensure_ascii=False)}")
    if not calls:
        print("No tool call is planned for this question.", file=sys.stderr)
    return 0


def list_tools(*, as_json: bool) -> int:
    """Print all tools with their arguments, and the tool packs that failed to load; return 0."""
    program = Program()
    specs = [tool.spec for tool in program.registry.all()]
    for problem in program.registry.problems:
        print(f"sightline: tool pack {problem.pack} left out: {problem.reason}", file=sys.stderr)
    if as_json:
        print_json([_spec_json(spec) for spec in specs])
        return 0
    for spec in specs:
        print(f"{spec.name}  [{spec.pack}]\n    {spec.description}")
        for name, part in spec.Input.model_json_schema().get("properties", {}).items():
            print(f"    - {name}: {part.get('description', part.get('type', ''))}")
    return 0


def _spec_json(spec: Any) -> dict[str, Any]:
    return {
        "name": spec.name,
        "description": spec.description,
        "pack": spec.pack,
        "version": spec.version,
        "approval": spec.approval.value,
        "timeout_s": spec.timeout_s,
        "needs": [asdict(need) for need in spec.needs],
        "input": spec.Input.model_json_schema(),
        "output": spec.Output.model_json_schema(),
    }


def run_tool(
    name: str,
    arguments: dict[str, Any],
    images: Sequence[Path],
    out: Path | None,
    *,
    records: Sequence[str] = (),
    as_json: bool,
) -> int:
    """Run one tool and print its result; return 0, or raise SightlineError if it fails.

    `images` are the files, folders or archives to open; the first image is used for an image
    argument that is not given; `records` those with patients' records. `out` is the output folder;
    None for a new one in the data folder.
    """
    from app.agent.loop.tool_execution import Outcome, parse_arguments
    from app.agent.loop.tool_execution import run_tool as execute
    from app.agent.messages import ToolCall

    with open_program() as program:
        tool = program.registry.get(name)
        if tool is None:
            known = ", ".join(item.spec.name for item in program.registry.all())
            raise UsageError(f"there is no tool {name!r}", remedy=f"There are: {known}.")
        opened = open_images(program.decoder, images)
        open_records(program, records, opened)
        for field_name in ("image_path", "dicom_path"):
            if opened and field_name in tool.spec.Input.model_fields:
                arguments.setdefault(field_name, opened[0].id)
        run_id = new_run_id()
        out_dir = out or paths.data_dir() / "runs" / run_id
        if tool.spec.cleaned:
            seen = RunImages(opened, out_dir, program.decoder)
            arguments = redactor_for(program, seen, run_id, arguments).value(arguments)
        if tool.spec.memory == "keeps":
            raise UsageError(
                "notes are kept in the window only", remedy="Use Settings > Assistant memory."
            )
        args = parse_arguments(tool.spec, ToolCall(id=run_id, name=name, arguments=arguments))
        if isinstance(args, Outcome):
            raise UsageError(args.error_text)
        out_dir = make_folder(out_dir)
        run_images = RunImages(opened, out_dir, program.decoder, out_dir.iterdir())
        context = program.tool_context(run_id, run_id, run_images, out_dir, _print_progress)
        # Typing the command is the approval that a tool asks for; a refusal by rule still holds.
        scope = Scope.for_run(context.images, (), out_dir)
        judged = program.policy().judge(tool.spec, args, scope)
        record = ToolCallRecord(program.audit, tool.spec, run_id, exact(args))
        if judged.rule is Rule.DENY:
            record.refuse()
            refusal = UsageError if judged.argument else SightlineError
            raise refusal(judged.reason, remedy=judged.remedy)
        record.begin()
        with _cancel_on_interrupt(context.cancel):
            result = asyncio.run(execute(tool, args, context))
        record.end(result.status, context)
        if result.status != "ok":
            kind = UsageError if result.wrong_arguments else SightlineError
            raise kind(result.error, remedy=for_people(result.remedy))
        if as_json:
            print_json(
                {
                    "tool": name,
                    "status": "ok",
                    "summary": result.summary,
                    "output": result.output,
                    "metadata": result.metadata,
                    "findings": [finding_json(item, out_dir) for item in result.findings],
                    "artifacts": [plain(item) for item in result.artifacts],
                }
            )
        else:
            print(printable(result.summary, lines=True))
            print(json.dumps(result.output, indent=2, ensure_ascii=False))
            print(f"Files: {out_dir}", file=sys.stderr)
    return 0


class ToolCallRecord:
    """Records in the audit log one tool call made outside of a run, its arguments as a hash.

    `via` says who made the call.
    """

    def __init__(
        self,
        log: AuditLog,
        spec: ToolSpec,
        run_id: str,
        arguments: Mapping[str, Any],
        via: str = "command line",
    ) -> None:
        self._log = log
        self._spec = spec
        self._facts = {
            "run": run_id,
            "via": via,
            "tool": spec.name,
            "effect": spec.approval.value,
            "version": spec.version,
        }
        self._arguments = json.dumps(plain(arguments), sort_keys=True)

    def begin(self) -> None:
        """Record that the call begins; only a tool that reads or computes runs without the log."""
        acts = self._spec.approval in ACTING
        try:
            name = self._log.name("arguments", self._arguments)
            self._log.record("tool_started", {**self._facts, "arguments": name}, sync=acts)
        except SightlineError as error:
            if acts:
                raise AuditFailed(
                    f"{self._spec.name} was not run: {error.reason}", remedy=error.remedy
                ) from error
            print(f"sightline: {printable(error.text)}", file=sys.stderr)

    def refuse(self) -> None:
        """Record that the policy refused the call."""
        with contextlib.suppress(SightlineError):
            name = self._log.name("arguments", self._arguments)
            facts = {**self._facts, "arguments": name, "status": "not_run"}
            self._log.record("tool_finished", facts)

    def end(self, status: str, context: ToolContext) -> None:
        """Record how the call ended, and which images it read."""
        with contextlib.suppress(SightlineError):
            used = context.images.used() if isinstance(context.images, RunImages) else []
            uids = dict.fromkeys(str(facts["sop_instance_uid"]) for facts in used)
            names = [self._log.name("image", uid) for uid in uids]
            self._log.record("tool_finished", {**self._facts, "status": status, "images": names})


def _print_progress(fraction: float, text: str) -> None:
    print(f"  {fraction:4.0%} {text}", file=sys.stderr)


@contextlib.contextmanager
def _cancel_on_interrupt(cancel: CancelToken) -> Generator[None]:
    """Make Ctrl-C cancel the run, so that it ends in order, instead of raising in the middle."""
    before = signal.signal(signal.SIGINT, lambda *_: cancel.cancel())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def open_images(decoder: Decoder, sources: Sequence[Path]) -> tuple[OpenImage, ...]:
    """Return the images of all sources, in order, named image-1, image-2 and so on."""
    opened: list[OpenImage] = []
    for source in sources:
        for instance in _images(decoder, source):
            opened.append(OpenImage(f"image-{len(opened) + 1}", instance, 0, None, False))
    return tuple(opened)


def _images(decoder: Decoder, source: Path) -> tuple[Instance, ...]:
    everything = list(instances_of(scan_source(decoder, source).studies))
    images = tuple(instance for instance in everything if instance.is_image)
    if not images:
        held = everything[0]
        what = "an object" if held.content is Content.OTHER else f"a {held.content.value}"
        raise FileProblem(
            f"it contains {what}, not an image that tools can be run on",
            subject=str(held.path),
            remedy="Choose an image of the patient.",
        )
    return images
