"""A general chat template (ChatML), and test messages that show if a model's own template works."""

from __future__ import annotations

from typing import Any

CHATML = (
    "{%- for message in messages -%}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}"
)
"""The template for a model without a usable one; most models know its marks."""

MISSING = (
    "The model has no chat template: a general one (ChatML) is used, and its answers may suffer. "
    "Models made for conversation are called Instruct or Chat."
)
BROKEN = (
    "The model has a broken chat template: a general one (ChatML) is used instead, and its answers "
    "may suffer."
)

HELLO: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello"},
]
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look at it",
        "parameters": {"type": "object", "properties": {}},
    },
}
CALLED: list[dict[str, Any]] = [
    *HELLO,
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "seen"},
]
