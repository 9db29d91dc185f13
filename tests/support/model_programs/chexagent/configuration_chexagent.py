from __future__ import annotations

from transformers import PhiConfig


class CheXagentConfig(PhiConfig):
    model_type = "chexagent"
