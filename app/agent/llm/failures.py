"""Turns failures of an endpoint into errors with reason and remedy, without traceback or key.

Each also says whether the same request may succeed a little later: the loop repeats only then.
"""

from __future__ import annotations

import math
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from app.agent.llm.base import ModelFailed, TooLong
from app.paths import shipped_table

_TEXT_LIMIT = 200
_KEY_LENGTH = 8
_RETRY_STATUS = frozenset({408, 409, 425, 429})
_QUOTA = ("insufficient_quota", "billing", "credit balance", "quota exceeded")
_ERRORS: dict[str, list[str]] = shipped_table("language_models", "errors")
_TOO_LONG = tuple(_ERRORS["too_long"])
"""Words for a request that is too long: OpenAI, vLLM, llama.cpp, LM Studio, Ollama, Anthropic."""
_LIMIT = re.compile(
    r"(?:context (?:length|size|window)(?: of| is|:)? ?\(?|> )(\d{3,9})(?! ?in the)", re.IGNORECASE
)
_USED = re.compile(
    r"(?:resulted in|too long:|requested|your prompt contains(?: at least)?|request \() ?(\d{3,9})",
    re.IGNORECASE,
)
_FINAL = tuple(_ERRORS["final"])
"""Types of errors that Anthropic and OpenAI send inside a stream and that a retry cannot mend."""
_BROKEN = frozenset(_ERRORS["broken"])
"""Errors of an established connection, in Python, anyio and httpx2."""
OR_ELSE = "or choose another model in the settings"
CHECK_ADDRESS = 'Check the address in the settings (it usually ends with "/v1")'


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The endpoint that error messages name; they never contain its `secret`, the API key."""

    host: str
    model: str = ""
    secret: str = ""

    def without_secret(self, text: str) -> str:
        """Return text with the API key, if that has 8 or more characters, replaced by "[key]"."""
        # A text shorter than any real key may be part of a word.
        return text.replace(self.secret, "[key]") if len(self.secret) >= _KEY_LENGTH else text


def model_failure(error: BaseException, at: Endpoint, started: bool) -> ModelFailed:
    """Return an error from the packages `openai`, `anthropic` or `httpx2` as `ModelFailed`.

    `started` says whether part of the answer had arrived.
    """
    for item in _causes(error):
        if isinstance(item, ModelFailed):
            return item
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 300:  # below: an error in the stream of an answer
        return _status(error, at)
    kinds = _kinds(error)
    if "ConnectTimeout" in kinds:
        return model_failed(
            "the language model's server does not accept the connection", at, _ADDRESS, True
        )
    if kinds & {"APITimeoutError", "TimeoutException", "TimeoutError"}:
        return silent_endpoint(at, started)
    if kinds & {"APIConnectionError", "TransportError"}:
        return cut_off_answer(at) if started else connection_failure(error, at)
    code = _code(error)
    # A server that took the request and then failed may do better the next time.
    found = model_failed(
        f"the language model reported an error{_server_message(error, at)}",
        at,
        f"Ask again, {OR_ELSE}.",
        code in _RETRY_STATUS or not (400 <= code < 500 or _body(error).get("type") in _FINAL),
    )
    found.too_long = None if started else _context_exceeded(error)
    return found


def unreadable_answer(at: Endpoint, detail: str, started: bool = False) -> ModelFailed:
    """Return the error for an answer that cannot be read; `detail` is for the log.

    `started` says whether part of the answer had arrived.
    """
    found = model_failed(
        "the language model's endpoint sent an answer that cannot be read",
        at,
        f"{CHECK_ADDRESS} or ask again.",
        started,
    )
    found.detail = detail
    return found


def cut_off_answer(at: Endpoint) -> ModelFailed:
    """Return the error for a stream that ended before the answer did."""
    return model_failed("the connection broke in the middle of the answer", at, "Ask again.", True)


def silent_endpoint(at: Endpoint, started: bool) -> ModelFailed:
    """Return the error for an endpoint that sends nothing for too long.

    `started` says whether part of the answer had arrived.
    """
    return model_failed(
        "the language model stopped in the middle of its answer"
        if started
        else "the language model did not answer in time",
        at,
        "Ask again. A model on this machine may still be loading: wait a minute.",
        # Asked again at once, a silent server would be waited for three times as long.
        started,
    )


def oversized_answer(at: Endpoint) -> ModelFailed:
    """Return the error for an answer above the size limit."""
    return model_failed(
        "the answer is larger than any sensible one and was stopped", at, f"Ask again, {OR_ELSE}."
    )


def model_failed(reason: str, at: Endpoint, remedy: str, retryable: bool = False) -> ModelFailed:
    """Return a `ModelFailed` about the endpoint `at`, with this reason, remedy and `retryable`."""
    found = ModelFailed(reason, subject=at.host, remedy=remedy)
    found.retryable = retryable
    return found


_ADDRESS = (
    "Check that it is running and that its address in the settings is right, or choose the "
    "offline planner."
)


def connection_failure(error: BaseException, at: Endpoint) -> ModelFailed:
    """Return the error for a connection that failed, or that was lost before the answer began."""
    for item in _causes(error):
        if isinstance(item, ssl.SSLCertVerificationError):
            why = str(getattr(item, "verify_message", "") or "no reason given").rstrip(".")
            return model_failed(
                f"its certificate is not trusted ({why})",
                at,
                "Check the address and this computer's clock; a hospital's own certificate has "
                "to be installed by its administrator. Nothing was sent.",
            )
        if isinstance(item, ssl.SSLError) and item.reason in (
            "WRONG_VERSION_NUMBER",
            "HTTP_REQUEST",
        ):
            return model_failed(
                "it does not speak TLS", at, 'Begin the address with "http://" for this server.'
            )
        if isinstance(item, socket.gaierror):
            return model_failed(
                "no computer of this name is known",
                at,
                "Check the address in the settings and the network connection.",
                item.errno == socket.EAI_AGAIN,
            )
    refused = any(isinstance(item, ConnectionRefusedError) for item in _causes(error))
    if _kinds(error) & _BROKEN and not refused:
        return model_failed("the connection broke before the answer began", at, "Ask again.", True)
    return model_failed("the language model cannot be reached", at, _ADDRESS)


def _status(error: Any, at: Endpoint) -> ModelFailed:
    status: int = error.status_code
    retryable = status in _RETRY_STATUS or 500 <= status < 600
    wait_s = retry_after(error.response.headers)
    said = _server_message(error, at)
    spent = any(mark in _words(error) for mark in _QUOTA)
    match status:
        case 401 | 403:
            reason, remedy = "the key was refused", "Check the key in the settings."
        case 404 if not at.model:  # its models were asked for
            reason = "it has no list of models at this address"
            remedy = "Check the address in the settings, or type the model's name."
        case 404:
            reason = f'there is no model "{at.model}", or the address is wrong'
            remedy = "Check the model's name and the address in the settings."
        case 402 | 429 | 400 if spent or status == 402:
            reason, retryable = "the account's quota is used up", False
            remedy = "Top up the account there, or choose another model in the settings."
        case 429:
            reason = "too many requests"
            remedy = f"Ask again in {wait_s:.0f} s." if wait_s else "Wait a minute and ask again."
        case 400 | 413 | 422 if "not support tools" in said or "tool choice" in said:
            reason = f"this model or its server calls no tools by itself{said}"
            remedy = "In the settings choose another form of tool calls, or another model."
        case 400 | 413 | 422:
            reason = f"the request was refused (HTTP {status}){said}"
            remedy = "Start a new conversation, or choose another model."
        case _ if 300 <= status < 400:
            reason = "it redirects to another address, which is not followed"
            remedy = "Enter the final address in the settings."
        case _ if 400 <= status < 500 and not retryable:
            reason = f"the request was refused (HTTP {status}){said}"
            remedy = "Check the address in the settings, or choose another model."
        case _:
            reason = f"the language model's server failed (HTTP {status}){said}"
            remedy = "Wait a moment and ask again."
    found = model_failed(reason, at, remedy, retryable)
    found.retry_after_s = wait_s if retryable else None
    if status in (400, 413, 422, 500):  # llama.cpp's older servers say 500
        found.too_long = _context_exceeded(error)
        found.retryable = retryable and found.too_long is None
    return found


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that an endpoint asks to wait, or None if it does not say.

    The header retry-after-ms takes precedence over Retry-After, which is a number of seconds or a
    date (RFC 9110, 10.2.3).
    """
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            value = float(headers.get(name, "")) / scale
        except ValueError:
            continue
        if math.isfinite(value) and value >= 0:
            return value
    try:
        date = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, TypeError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max((date - datetime.now(UTC)).total_seconds(), 0.0)


def _context_exceeded(error: Any) -> TooLong | None:
    """Return the sizes that the endpoint names if the request exceeds its context, else None."""
    words = _words(error)
    if not any(mark in words for mark in _TOO_LONG):
        return None
    body = _body(error)
    sizes: list[int] = []
    for name, form in (("n_ctx", _LIMIT), ("n_prompt_tokens", _USED)):
        value, match = body.get(name), form.search(words)
        if isinstance(value, int) and value > 0:
            sizes.append(value)
        else:
            sizes.append(int(match[1]) if match else 0)
    return TooLong(*sizes)


def _causes(error: BaseException) -> Iterator[BaseException]:
    waiting, seen = [error], set[int]()
    while waiting:
        item = waiting.pop(0)
        if id(item) in seen:
            continue
        seen.add(id(item))
        yield item
        waiting += [cause for cause in (item.__cause__, item.__context__) if cause is not None]
        if isinstance(item, BaseExceptionGroup):
            waiting += item.exceptions


def _kinds(error: BaseException) -> set[str]:
    """Return the names of the types of an error and all its causes."""
    return {kind.__name__ for item in _causes(error) for kind in type(item).__mro__}


def _body(error: Any) -> dict[str, Any]:
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    return inner if isinstance(inner, dict) else {}


def _code(error: Any) -> int:
    code = _body(error).get("code")
    return int(code) if isinstance(code, int | str) and str(code).isdigit() else 0


def _words(error: Any) -> str:
    body = _body(error)
    said = server_text(getattr(error, "body", None))
    return " ".join((*(str(body.get(name, "")) for name in ("code", "type")), said)).lower()


def _server_message(error: Any, at: Endpoint) -> str:
    """Return the endpoint's own words, shortened; they are shown, never logged."""
    return quoted(server_text(getattr(error, "body", None)), at)


def server_text(body: Any) -> str:
    """Return the message in an error's body, however the server wraps it; "" if there is none.

    The body may be the message itself, unless it is HTML. Otherwise the message is looked for under
    "message", "error" (a text or an object), "detail" (FastAPI, also a list), "msg".
    """
    if isinstance(body, str):
        return "" if body.lstrip().startswith("<") else body
    if isinstance(body, list):
        return "; ".join(filter(None, map(server_text, body)))
    if isinstance(body, Mapping):
        texts = (server_text(body.get(name)) for name in ("message", "error", "detail", "msg"))
        return next(filter(None, texts), "")
    return ""


def quoted(text: str, at: Endpoint) -> str:
    """Return ": " and a server's message in one short line without the API key; "" if empty."""
    line = " ".join(at.without_secret(text).split())
    return f": {line[:_TEXT_LIMIT]}" if line else ""
