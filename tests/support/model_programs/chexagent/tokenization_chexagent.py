from __future__ import annotations

from typing import Any

from transformers import CodeGenTokenizer

_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['from'] == 'human' %}{{ '<|user|>\n' + message['value'] + eos_token + '\n' }}"
    "{% else %}{{ '<|system|>\n' + message['value'] + eos_token + '\n' }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
)


class CheXagentTokenizer(CodeGenTokenizer):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.chat_template = _TEMPLATE

    def from_list_format(self, parts: list[dict[str, str]]) -> str:
        text, count = "", 0
        for part in parts:
            if "image" in part:
                count += 1
                text += f"Picture {count}:<|img|>{part['image']}<|/img|>\n"
            else:
                text += part["text"]
        return text
