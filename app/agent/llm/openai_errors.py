"""What went wrong at an endpoint, in words that say what to do. No traceback, no key."""

from __future__ import annotations

from typing import Any

from app.agent.llm.base import ModelFailed

_TEXT_LIMIT = 200


def failure(error: Exception, host: str, model: str, started: bool) -> ModelFailed:
    """The error of the `openai` package as one of ours.

    Args:
        error: Any openai.OpenAIError.
        host: The endpoint's host.
        model: The model that was asked for.
        started: Whether part of the answer had come.
    """
    import openai

    if isinstance(error, openai.APIStatusError):
        return _status(error.status_code, error, host, model)
    if isinstance(error, openai.APITimeoutError):
        return ModelFailed(
            "the language model did not answer in time"
            if not started
            else "the language model stopped in the middle of its answer",
            subject=host,
            remedy="Ask again. A model on this machine may still be loading: wait a minute.",
        )
    if isinstance(error, openai.APIConnectionError):
        return cut(host) if started else _unreachable(host)
    return ModelFailed(
        f"the language model reported an error{_said(error)}",
        subject=host,
        remedy="Ask again, or choose another model in the settings.",
    )


def unreadable(host: str, detail: str) -> ModelFailed:
    """The endpoint sent something else than a chat-completions stream."""
    return ModelFailed(
        "the language model's endpoint sent an answer that cannot be read",
        subject=host,
        remedy='Check the address in the settings (it usually ends with "/v1") or ask again.',
        detail=detail,
    )


def cut(host: str) -> ModelFailed:
    """The stream ended before the answer did."""
    return ModelFailed(
        "the connection broke in the middle of the answer",
        subject=host,
        remedy="Ask again.",
    )


def _unreachable(host: str) -> ModelFailed:
    return ModelFailed(
        "the language model cannot be reached",
        subject=host,
        remedy="Check that it is running and that its address in the settings is right, or "
        "choose the offline planner.",
    )


def _status(status: int, error: Any, host: str, model: str) -> ModelFailed:
    match status:
        case 401 | 403:
            reason, remedy = "the key was refused", "Check the key in the settings."
        case 404:
            reason = f'there is no model "{model}", or the address is wrong'
            remedy = "Check the model's name and the address in the settings."
        case 429:
            wait = _retry_after(error)
            reason = "too many requests, or the account's quota is used up"
            remedy = f"Ask again in {wait} s." if wait else "Wait a minute and ask again."
        case 400 | 413 | 422:
            reason = f"the request was refused (HTTP {status}){_said(error)}"
            remedy = "Start a new conversation, or choose another model."
        case _ if 300 <= status < 400:
            reason = "it redirects to another address, which is not followed"
            remedy = "Enter the final address in the settings."
        case _:
            reason = f"the language model's server failed (HTTP {status})"
            remedy = "Wait a moment and ask again."
    return ModelFailed(reason, subject=host, remedy=remedy)


def _retry_after(error: Any) -> int:
    value = str(error.response.headers.get("retry-after", ""))
    return int(value) if value.isdigit() and len(value) < 6 else 0


def _said(error: Any) -> str:
    """The endpoint's own words, shortened; they are shown, never logged."""
    body = getattr(error, "body", None)
    text = body.get("message") if isinstance(body, dict) else None
    line = " ".join(str(text).split()) if text else ""
    return f": {line[:_TEXT_LIMIT]}" if line else ""
