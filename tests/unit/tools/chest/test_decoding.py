"""How a language model is let write: greedily or by beams, never by chance."""

from __future__ import annotations

from typing import Any, cast

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from app.tools.chest.decoding import GeneratedTokens, SpecialIds, embedded_inputs, generate_tokens  # noqa: E402
from app.tools.model_process.memory import Placement  # noqa: E402
from app.tools.model_process.serving import Work  # noqa: E402

END, PAD, START = 2, 0, 1
IDS = SpecialIds((END,), PAD)


class Writes:
    """A model that writes what it is told to, and keeps how it was asked."""

    def __init__(self, *row: int) -> None:
        self.row = row
        self.asked: dict[str, Any] = {}

    def generate(self, **asked: Any) -> Any:
        self.asked = asked
        return torch.tensor([self.row])


def work(share: float = 1.0) -> Work:
    return Work(Placement("cpu", "float32"), lambda fraction, text: None, share)


def test_nothing_is_drawn_by_chance():
    """Also where the model's own folder says so: the settings given replace its own."""
    model = Writes(5, END)
    generate_tokens(model, {}, IDS, work(), most=7)
    settings = model.asked["generation_config"]
    assert (settings.do_sample, settings.num_beams, settings.max_new_tokens) == (False, 1, 7)


@pytest.mark.parametrize(
    ("row", "written"),
    [
        ((5, 6, END, PAD, PAD), GeneratedTokens([5, 6], finished=True)),
        ((5, 6, 7), GeneratedTokens([5, 6, 7], finished=False)),
        ((END,), GeneratedTokens([], finished=True)),
    ],
)
def test_a_text_ends_at_its_end_and_one_that_was_cut_off_is_told(
    row: tuple[int, ...], written: GeneratedTokens
):
    assert generate_tokens(Writes(*row), {}, IDS, work(), most=7) == written


def test_the_prompt_and_the_decoders_first_token_are_no_part_of_the_answer():
    prompt = {"input_ids": torch.tensor([[8, 9, END]])}
    answer = generate_tokens(Writes(8, 9, END, 5, END), prompt, IDS, work(), most=7)
    assert answer == GeneratedTokens([5], finished=True)
    started = SpecialIds((END,), PAD, START)
    assert generate_tokens(Writes(START, 5, END), {}, started, work(), most=7).ids == [5]


def test_fewer_beams_are_told():
    model, doing = Writes(5, END), work(0.5)
    generate_tokens(model, {}, IDS, doing, most=7, beams=4)
    assert model.asked["generation_config"].num_beams == 2
    assert doing.notes == ["written with 2 of 4 beams: the text may be of lower quality"]
    whole = work()
    generate_tokens(model, {}, IDS, whole, most=7, beams=4)
    assert whole.notes == []


def test_without_beams_no_share_is_asked_for():
    """Asked for it would be done once more, the same way, when memory ran out."""

    class Unshared:
        progress = staticmethod(lambda fraction, text: None)
        notes: list[str] = []  # noqa: RUF012

        @property
        def share(self) -> float:
            raise AssertionError

    generate_tokens(Writes(5, END), {}, IDS, cast("Work", Unshared()), most=7)


def test_a_prompt_of_embeddings_is_read_whole_and_is_no_part_of_what_comes_back():
    inputs = embedded_inputs(torch.zeros(1, 3, 4))
    assert inputs["attention_mask"].tolist() == [[1, 1, 1]]
    model = Writes(5, 6, 7, 8, END)
    assert generate_tokens(model, inputs, SpecialIds.of(END), work(), most=9) == GeneratedTokens(
        [5, 6, 7, 8], finished=True
    )
    assert model.asked["generation_config"].pad_token_id == END
