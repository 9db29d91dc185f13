"""The command line: parses the arguments and calls the command.

Exit codes: 0 done, 1 the work failed (one-line reason on stderr), 2 wrong usage. JSON goes to
stdout, everything else to stderr.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from app import __version__, log, paths
from app.errors import SightlineError, UsageError, is_memory_text, printable, unexpected
from app.imaging.types import Plane, Window

_EPILOG = """\
commands (each has its own --help):
  render SRC --out PNG      what the canvas shows, at native matrix size
  export --as FORM          findings as DICOM objects, tables, pictures or a report
  info SRC...               studies, series, instances and problems
  deidentify SRC... --out DIR  copies without names (DICOM PS3.15)
  ask PROMPT [--image SRC]  one headless run of the assistant; --session ID goes on with one
  tools                     the tools the assistant can use
  tool NAME --args JSON     run one tool
  mcp [--image SRC]         the tools for other assistants, over stdio
  mcp-servers               MCP servers whose tools the assistant may use: list, look, allow
  models                    which models the tools need; get, install, verify, remove them
  cuda [PACK.zip]           NVIDIA's libraries for a packaged program: which, install
  sessions                  earlier conversations: list, show, export, replay, rename, delete
  eval agentclinic|chestagentbench  published benchmarks, with a page of the results
  audit                     what was done and sent: list, verify, find

Not for diagnosis.
"""
_LLM_HELP = (
    "offline, openai[:MODEL], azure[:DEPLOYMENT], anthropic[:MODEL] or local[:PATH of a GGUF file "
    "or a folder]; everything else, and the default, comes from the settings"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return the exit code.

    `argv` are arguments without the program's name; None for the arguments of this process.
    """
    multiprocessing.freeze_support()
    os.umask(0o077)  # whatever is written is for this user alone
    arguments = _join_window(list(sys.argv[1:] if argv is None else argv))
    _escape_unprintable()
    try:
        log.set_up(paths.log_dir())
        paths.add_pack_folders()
        command = arguments[0] if arguments else ""
        if command in _COMMANDS:
            return _COMMANDS[command](arguments[1:])
        return _view(arguments)
    except SightlineError as error:
        if error.detail:
            log.get_logger(__name__).info("%s", error.detail)
        print(f"sightline: {printable(error.text)}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader of stdout has ended, as with `| head`: no error of this program.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        subject = printable(f"{error.filename}: ") if error.filename else ""
        print(f"sightline: {subject}{error.strerror or error}", file=sys.stderr)
        return 1
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not is_memory_text(str(error)):
            raise
        print(f"sightline: {unexpected(error).text}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("sightline: stopped.", file=sys.stderr)
        return 1


def _escape_unprintable() -> None:
    """Make stdout and stderr escape characters that the terminal's encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _join_window(arguments: list[str]) -> list[str]:
    """Join `--window -600,1500` with "=", as argparse takes a minus sign for an option."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] == "--window" and argument[:1] == "-":
            joined[-1] = f"--window={argument}"
        else:
            joined.append(argument)
    return joined


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raise UsageError instead of printing the usage."""
        raise UsageError(message, remedy=f"See `{self.prog} --help`.")


def _parser(command: str, description: str) -> _Parser:
    return _Parser(prog=f"sightline {command}".strip(), description=description)


def _add_json(parser: _Parser) -> _Parser:
    """Add `--json` to a command; return a parent parser that adds it to the command's actions."""
    parser.add_argument("--json", action="store_true", dest="as_json")
    shared = _Parser(add_help=False)
    shared.add_argument("--json", action="store_true", default=argparse.SUPPRESS, dest="as_json")
    return shared


def _add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def _version() -> str:
    built = paths.build_facts()
    return f"sightline {__version__}" + (f" ({', '.join(built.values())})" if built else "")


def _view(argv: list[str]) -> int:
    parser = _Parser(
        prog="sightline",
        description="Open the viewer on files, folders, or the demo study.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH")
    parser.add_argument("--demo", action="store_true", help="open the demo study")
    parser.add_argument(
        "--ask", default="", metavar="PROMPT", help="ask this once the study is shown"
    )
    _add_model(parser)
    parser.add_argument(
        "--screenshot",
        type=Path,
        metavar="FILE",
        help="save the window once all that was asked for is shown, then exit (needs no display)",
    )
    _add_force(parser)
    parser.add_argument("--version", action="version", version=_version())
    options = parser.parse_args(argv)
    from app.wiring import ViewRequest, view

    return view(ViewRequest(**vars(options)))


def _render(argv: list[str]) -> int:
    parser = _parser("render", "Write what the canvas shows, at native matrix size, as PNG.")
    parser.add_argument("src", type=Path)
    parser.add_argument("--out", type=Path, required=True, metavar="PNG")
    _add_force(parser)
    parser.add_argument(
        "--frame",
        type=int,
        default=0,
        metavar="N",
        help="from 0; with --series or --plane it counts through the whole series",
    )
    parser.add_argument("--series", default="", metavar="NUMBER|UID", help="which series of SRC")
    parser.add_argument(
        "--plane",
        type=Plane,
        choices=list(Plane),
        default=Plane.ACQUIRED,
        help="sections through the series' volume",
    )
    parser.add_argument("--window", type=_window, metavar="CENTER,WIDTH")
    parser.add_argument(
        "--annotated",
        action="store_true",
        help="with corner text, sides and what is drawn over the image; pixels that are not square "
        "have their true shape, in a picture larger than the matrix",
    )
    parser.add_argument(
        "--findings",
        type=Path,
        metavar="FILE",
        help="with --annotated: draw these findings (the JSON of `ask --json`, or a DICOM SR)",
    )
    options = parser.parse_args(argv)
    if options.findings is not None and not options.annotated:
        parser.error("--findings needs --annotated")
    from app.headless.render import RenderRequest, render

    return render(RenderRequest(**vars(options)))


def _export(argv: list[str]) -> int:
    from app.headless.export import FORMS, ExportRequest, export

    parser = _parser(
        "export", "Write findings (the JSON of `ask --json`, or a DICOM SR) and images as files."
    )
    parser.add_argument(
        "--findings", type=Path, metavar="FILE", help="JSON or DICOM SR; none: images only"
    )
    parser.add_argument("--image", type=Path, required=True, metavar="SRC")
    parser.add_argument("--as", choices=FORMS, required=True, dest="form", metavar="|".join(FORMS))
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    _add_force(parser)
    parser.add_argument(
        "--frame",
        type=int,
        metavar="N",
        help="from 0: the frame of the image; by default the findings' own, or the first",
    )
    parser.add_argument("--window", type=_window, metavar="CENTER,WIDTH")
    parser.add_argument(
        "--proposed",
        action="store_true",
        help="also what a tool proposed and no person has accepted; it is marked so",
    )
    parser.add_argument(
        "--verified-by",
        default="",
        metavar="NAME",
        help="who answers for the report (sr) or signs it (report-...)",
    )
    parser.add_argument("--organization", default="", metavar="NAME", help="of who verifies")
    options = parser.parse_args(argv)
    return export(ExportRequest(**vars(options)))


def _window(text: str) -> Window:
    try:
        center, width = (float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError("give CENTER,WIDTH as two numbers") from None
    if not (abs(center) < float("inf") and 0 < width < float("inf")):
        raise argparse.ArgumentTypeError("the width must be above 0, both must be finite")
    return Window(center, width, explanation="chosen")


def _info(argv: list[str]) -> int:
    parser = _parser(
        "info", "List studies, series, instances, records, and each problem with its reason."
    )
    parser.add_argument("src", nargs="+", type=Path)
    _add_json(parser)
    options = parser.parse_args(argv)
    from app.headless.info import info

    return info(options.src, as_json=options.as_json)


def _deidentify(argv: list[str]) -> int:
    from app.imaging.deidentify.options import Option

    parser = _parser(
        "deidentify",
        "Write copies of DICOM files without what identifies the patient (DICOM PS3.15, Basic "
        "Profile). Look at them before you hand them on: text in pixels stays.",
    )
    parser.add_argument("src", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        type=Option,
        choices=list(Option),
        metavar="NAME",
        dest="options",
        help=f"may be given several times: {', '.join(Option)}",
    )
    parser.add_argument(
        "--allow-burnt-in",
        action="store_true",
        dest="burnt_in",
        help="copy files that are declared to have text in their pixels",
    )
    _add_json(parser)
    options = parser.parse_args(argv)
    from app.headless.deidentify_command import deidentify

    return deidentify(
        options.src,
        options.out,
        options.options,
        burnt_in=options.burnt_in,
        as_json=options.as_json,
    )


def _ask(argv: list[str]) -> int:
    parser = _parser("ask", "One headless run of the assistant.")
    parser.add_argument("prompt")
    _add_images(parser)
    _add_records(parser)
    _add_model(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="for masks and pictures")
    parser.add_argument(
        "--session", default="", metavar="ID", help="go on with this conversation (see sessions)"
    )
    parser.add_argument(
        "--profile", default="", metavar="NAME|FILE", help="an agent profile: model, tools, prompt"
    )
    parser.add_argument("--plan-only", action="store_true", help="print the calls, run none")
    parser.add_argument("--json", action="store_true", dest="as_json", help="one event a line")
    parser.add_argument(
        "--pack",
        action="append",
        default=[],
        dest="packs",
        metavar="NAME",
        help="use the tools of this pack only, and the general ones; may be repeated",
    )
    parser.add_argument(
        "--system-prompt",
        default="",
        metavar="NAME",
        help="the section of the prompts file to instruct a language model with",
    )
    parser.add_argument("--prompts", default="", metavar="FILE", help="a prompts file of your own")
    _add_allow(parser)
    options = parser.parse_args(argv)
    if not options.prompt.strip():
        parser.error("the prompt is empty")
    if options.plan_only and options.session:
        parser.error("--plan-only plans without an earlier conversation: leave --session out")
    from app.headless.runs import ask

    return ask(**vars(options))


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--llm", metavar="NAME", help=_LLM_HELP)
    parser.add_argument(
        "--base-url",
        default=os.environ.get("SIGHTLINE_BASE_URL", ""),
        metavar="URL",
        help="address of the endpoint, such as http://127.0.0.1:11434/v1; SIGHTLINE_BASE_URL sets "
        "it too",
    )


def _tools(argv: list[str]) -> int:
    parser = _parser("tools", "List the tools with their arguments.")
    _add_json(parser)
    options = parser.parse_args(argv)
    from app.headless.runs import list_tools

    return list_tools(as_json=options.as_json)


def _tool(argv: list[str]) -> int:
    parser = _parser("tool", "Run one tool.")
    parser.add_argument("name")
    parser.add_argument("--args", type=_json_object, default={}, metavar="JSON", dest="arguments")
    _add_images(parser)
    _add_records(parser)
    parser.add_argument("--out", type=Path, metavar="DIR")
    _add_json(parser)
    options = parser.parse_args(argv)
    from app.headless.runs import run_tool

    return run_tool(**vars(options))


def _add_allow(parser: _Parser) -> None:
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="EFFECT:TOOL",
        help="let this tool write, send or execute, such as send:NAME; nobody can be asked here. "
        "May be repeated",
    )


def _mcp(argv: list[str]) -> int:
    parser = _parser(
        "mcp",
        "Serve the tools to another assistant (Model Context Protocol, over stdin and stdout). "
        "Tools that read and compute are offered. Names, ids, dates and paths are removed from "
        "what the assistant is told, and it gets no pictures.",
    )
    _add_images(parser, "the images that the tools may read; may be repeated")
    _add_records(parser)
    _add_allow(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="for masks and pictures")
    parser.add_argument(
        "--pack",
        action="append",
        default=[],
        dest="packs",
        metavar="NAME",
        help="offer the tools of this pack only, and the general ones; may be repeated",
    )
    parser.add_argument(
        "--pictures",
        action="store_true",
        help="also hand out pictures, but those that may show who the patient is",
    )
    parser.add_argument(
        "--local",
        action="store_true",
        help="the assistant's model runs on this computer: remove nothing, hand out all pictures",
    )
    options = parser.parse_args(argv)
    from app.headless.mcp_server import McpRequest, serve

    return serve(McpRequest(**vars(options)))


def _mcp_servers(argv: list[str]) -> int:
    parser = _parser(
        "mcp-servers",
        "The MCP servers of the settings and of MCP_SERVER_URL. What a server offers is shown "
        "before it is allowed; a change of any description ends that.",
    )
    shared = _add_json(parser)
    actions = parser.add_subparsers(dest="action", metavar="list | look | allow | withdraw")
    actions.add_parser("list", parents=[shared], help="all of them (default)")
    look = actions.add_parser("look", parents=[shared], help="ask one for its tools")
    allow = actions.add_parser("allow", help="let the assistant use them, after a question")
    withdraw = actions.add_parser("withdraw", help="its tools are off again")
    for action in (look, allow, withdraw):
        action.add_argument("name", metavar="NAME")
    allow.add_argument(
        "--digest", default="", metavar="SHA256", help="the yes to exactly what `look` printed"
    )
    options = parser.parse_args(argv)
    from app.headless import mcp_servers

    match options.action:
        case "look":
            return mcp_servers.look(options.name, as_json=options.as_json)
        case "allow":
            return mcp_servers.allow(options.name, options.digest)
        case "withdraw":
            return mcp_servers.withdraw(options.name)
        case _:
            return mcp_servers.list_servers(as_json=options.as_json)


def _add_images(parser: _Parser, about: str = "") -> None:
    parser.add_argument(
        "--image",
        action="append",
        default=[],
        type=Path,
        metavar="SRC",
        dest="images",
        help=about or None,
    )


def _add_records(parser: _Parser) -> None:
    parser.add_argument(
        "--record",
        action="append",
        default=[],
        metavar="SRC",
        dest="records",
        help="a patient's record: a file or folder of FHIR R4, or a FHIR server's address with "
        "the patient (https://host/fhir/Patient/ID); may be repeated. By default the folder of "
        "COHERENT_DATA_PATH",
    )


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("give a whole number, 0 or more")
    return int(text)


def _json_object(text: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON ({error})") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError('give a JSON object, e.g. {"image_path": "image-1"}')
    return {str(key): item for key, item in value.items()}


def _models(argv: list[str]) -> int:
    parser = _parser("models", "Which models the tools need, where they are, whether intact.")
    shared = _add_json(parser)
    names = "list | show | verify | install | get | pack | accept | remove"
    actions = parser.add_subparsers(dest="action", metavar=names)
    parser.set_defaults(action="list")
    agreeing = _Parser(add_help=False)
    agreeing.add_argument("--accept-terms", action="store_true", help="I accept the model's terms")
    agreeing.add_argument(
        "--allow-code",
        action="store_true",
        help="I allow the code that comes with the model to run (only where its card provides)",
    )
    listed = actions.add_parser("list", parents=[shared], help="all of them (default)")
    listed.add_argument("--markdown", action="store_true", help="the table of docs/chest.md")
    show = actions.add_parser("show", parents=[shared], help="one in full, with its terms")
    verify = actions.add_parser("verify", parents=[shared], help="read and check installed files")
    install = actions.add_parser(
        "install", parents=[shared, agreeing], help="copy a file, folder or model pack into place"
    )
    install.add_argument("path", type=Path, metavar="PATH")
    install.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="NAME",
        dest="names",
        help="which model it is; by default it is recognised",
    )
    install.add_argument(
        "--other",
        action="store_true",
        dest="unpublished",
        help="take files that are not the published ones, if the model can load them",
    )
    get = actions.add_parser("get", parents=[shared, agreeing], help="download models by name")
    pack = actions.add_parser("pack", parents=[shared], help="write installed ones into a pack")
    pack.add_argument("--out", type=Path, required=True, metavar="FILE", dest="path")
    accept = actions.add_parser(
        "accept", parents=[shared, agreeing], help="accept the terms of one that is there"
    )
    remove = actions.add_parser("remove", parents=[shared], help="delete installed ones")
    for action in (show, get, pack, accept, remove):
        action.add_argument("names", nargs="+", metavar="NAME")
    verify.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args(argv)
    from app.headless.models_command import ModelsCommand, models

    return models(ModelsCommand(**vars(options)))


def _cuda(argv: list[str]) -> int:
    parser = _parser(
        "cuda",
        "Install NVIDIA's CUDA libraries for the models of a packaged program, or say which are "
        "installed. They go into the user's data folder, or where SIGHTLINE_CUDA says.",
    )
    parser.add_argument("pack", nargs="?", type=Path, metavar="PACK.zip")
    options = parser.parse_args(argv)
    from app.headless.cuda_command import cuda

    return cuda(options.pack)


def _sessions(argv: list[str]) -> int:
    parser = _parser(
        "sessions",
        "Earlier conversations. replay runs their tool calls again and ends with 1 when anything "
        "came out differently; what writes or sends is never run again.",
    )
    shared = _add_json(parser)
    names = "list | show | export | replay | rename | delete"
    actions = parser.add_subparsers(dest="action", metavar=names)
    parser.set_defaults(words="")
    listed = actions.add_parser("list", parents=[shared], help="the newest first (default)")
    listed.add_argument("--find", default="", metavar="WORDS", dest="words", help="only with these")
    show = actions.add_parser("show", parents=[shared], help="print one")
    export = actions.add_parser("export", help="write one to a file; it may hold patient data")
    replay = actions.add_parser("replay", parents=[shared], help="run its tool calls again")
    rename = actions.add_parser("rename", help="give one a name of its own")
    delete = actions.add_parser("delete", help="delete one with all that is kept of it")
    for action in (show, export, replay, rename, delete):
        action.add_argument("thread_id", metavar="ID")
    rename.add_argument("title", metavar="NAME", help='"" for its first question')
    delete.add_argument("--yes", action="store_true", help="delete it without a question")
    export.add_argument("--format", choices=("md", "html", "json", "calls"), default="md")
    export.add_argument("--out", type=Path, required=True, metavar="FILE")
    _add_force(export)
    _add_images(replay, "where images lie that are not any more where they were")
    replay.add_argument("--out", type=Path, metavar="DIR", help="keep what the calls make")
    options = parser.parse_args(argv)
    from app.headless import sessions

    match options.action:
        case "show":
            return sessions.show(options.thread_id, as_json=options.as_json)
        case "export":
            return sessions.export(
                options.thread_id, options.format, options.out, replace=options.force
            )
        case "replay":
            return sessions.replay(
                options.thread_id, options.images, options.out, as_json=options.as_json
            )
        case "rename":
            return sessions.rename(options.thread_id, options.title)
        case "delete":
            return sessions.delete(options.thread_id, agreed=options.yes)
        case _:
            return sessions.list_all(options.words, as_json=options.as_json)


def _audit(argv: list[str]) -> int:
    parser = _parser(
        "audit",
        "What tools did, what was allowed, sent and exported. verify ends with 1 and says where, "
        "if anything was changed; find tells whether an image was sent.",
    )
    shared = _add_json(parser)
    actions = parser.add_subparsers(dest="action", metavar="list | verify | anchor | find")
    parser.set_defaults(kind="", last=None)
    listed = actions.add_parser("list", parents=[shared], help="the oldest first (default)")
    listed.add_argument(
        "--kind", default="", help="tools, approvals, sent, exports, settings, runs, log"
    )
    listed.add_argument("--last", type=int, default=None, metavar="N", help="only the last N")
    verify = actions.add_parser("verify", parents=[shared], help="is it as it was written?")
    verify.add_argument("--anchor", default="", metavar="LINE", help="a line of `audit anchor`")
    actions.add_parser("anchor", parents=[shared], help="a line to keep elsewhere, for verify")
    find = actions.add_parser("find", parents=[shared], help="was this image or file sent?")
    find.add_argument("target", metavar="UID|FILE")
    options = parser.parse_args(argv)
    from app.headless import audit_command

    match options.action:
        case "verify":
            return audit_command.verify_log(anchor=options.anchor, as_json=options.as_json)
        case "anchor":
            return audit_command.print_anchor(as_json=options.as_json)
        case "find":
            return audit_command.find(options.target, as_json=options.as_json)
        case _:
            return audit_command.list_entries(
                kind=options.kind, last=options.last, as_json=options.as_json
            )


def _eval(argv: list[str]) -> int:
    parser = _parser("eval", "Published benchmarks: results as JSON lines and an HTML page.")
    shared = _add_json(parser)
    shared.add_argument("--llm", default="", metavar="NAME", help=_LLM_HELP)
    shared.add_argument("--base-url", default=os.environ.get("SIGHTLINE_BASE_URL", ""))
    shared.add_argument("--out", type=Path, metavar="DIR", help="for results and the page")
    shared.add_argument("--limit", type=_count, default=0, metavar="N", help="only the first N")
    shared.add_argument("--id", action="append", default=[], dest="ids", metavar="ID")
    shared.add_argument(
        "--jobs", type=_count, default=1, metavar="N", help="cases at the same time"
    )
    shared.add_argument("--resume", action="store_true", help="go on with the results in DIR")
    actions = parser.add_subparsers(dest="action", metavar="agentclinic | chestagentbench | page")
    actions.required = True
    clinic = actions.add_parser("agentclinic", parents=[shared], help="doctors examine patients")
    clinic.add_argument("--scenarios", required=True, metavar="FILE", help="JSON lines")
    clinic.add_argument(
        "--doctor",
        choices=("profile", "plain", "offline"),
        default="profile",
        help="a model with the tools of a profile (default), a model alone, or no model",
    )
    clinic.add_argument("--profile", default="uncertainty_aware_doctor", metavar="NAME|FILE")
    for role in ("patient", "measurement", "moderator"):
        clinic.add_argument(
            f"--{role}-llm", default="", metavar="NAME", help='another model, or "rules"'
        )
    clinic.add_argument("--turns", type=_count, default=20, metavar="N")
    clinic.add_argument("--doctor-bias", default="", metavar="NAME")
    clinic.add_argument("--patient-bias", default="", metavar="NAME")
    bench = actions.add_parser(
        "chestagentbench", parents=[shared], help="questions on chest radiographs, six choices"
    )
    bench.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="with metadata.jsonl"
    )
    page = actions.add_parser("page", help="draw the page of DIR again")
    page.add_argument("folder", type=Path, metavar="DIR")
    options = vars(parser.parse_args(argv))
    action = options.pop("action")
    if action == "page":
        from app.headless.eval_page import write_page

        print(write_page(options["folder"]))
        return 0
    if action == "chestagentbench":
        from app.headless import eval_chestagentbench

        return eval_chestagentbench.run(**options)
    from app.headless import eval_agentclinic
    from app.headless.agentclinic import BIASES

    for name in (options["doctor_bias"], options["patient_bias"]):
        if name and name not in BIASES:
            parser.error(f"there is no bias {name!r}; there are: {', '.join(BIASES)}")
    names = eval_agentclinic.Options.__dataclass_fields__
    chosen = {name: options.pop(name) for name in [*options] if name in names}
    return eval_agentclinic.run(eval_agentclinic.Options(**chosen), **options)


_COMMANDS = {
    "render": _render,
    "export": _export,
    "info": _info,
    "deidentify": _deidentify,
    "ask": _ask,
    "tools": _tools,
    "tool": _tool,
    "mcp": _mcp,
    "mcp-servers": _mcp_servers,
    "models": _models,
    "cuda": _cuda,
    "sessions": _sessions,
    "audit": _audit,
    "eval": _eval,
}
