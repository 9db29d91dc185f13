from __future__ import annotations

from transformers import LlavaForConditionalGeneration

from .configuration_maira2 import Maira2Config  # noqa: TID252  (a folder, no package)


class Maira2ForConditionalGeneration(LlavaForConditionalGeneration):
    config_class = Maira2Config
