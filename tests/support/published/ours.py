"""What Sightline's code computes of the same tiny models; runs in the model process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from app.tools.chest import (
    boxes,
    chexagent,
    decoding,
    densenet,
    expert,
    llava_net,
    maira,
    medgemma_net,
    medsam2,
    psp_net,
    report_net,
)
from app.tools.model_process.published_weights import cpu_work
from tests.support.published.alike import COLUMNS, ROWS, picture
from tests.support.published.asked import LOCATE, MARKS, PHRASE, QUESTION, SMALL, SQUARE, STEADY
from tests.support.published.cases import build

Numbers = dict[str, Any]


def entry(payload: dict[str, Any]) -> Numbers:
    """Return the numbers of the model `payload["which"]`, written into `payload["folder"]`."""
    which = str(payload["which"])
    path = build(which, Path(payload["folder"]))
    with torch.inference_mode():
        found: Numbers = globals()[f"_{which}"](path)
    return {name: np.asarray(value) for name, value in found.items()}


def _quiet(fraction: float) -> None:
    del fraction


def _medsam2(path: Path) -> Numbers:
    work = cpu_work()
    model = medsam2.load(path, work)
    pixels = model.processor(images=picture(True), return_tensors="pt")["pixel_values"]
    found: Numbers = {"resampled": pixels[0]}
    for steady in ("", "steady "):
        if steady:
            model.net.mask_decoder.output_hypernetworks_mlps[0].proj_out.weight.data.mul_(STEADY)
        for kind, marks in MARKS.items():
            payload = {"pixels": picture(True, *SQUARE), **marks}
            made: Any = getattr(medsam2, "_segment")(model, payload, work)  # noqa: B009
            out = model.net(
                image_embeddings=list(model.features),
                multimask_output=medsam2.is_ambiguous(payload),
                **medsam2.prepare_marks(model, payload, SQUARE, work),
            )
            found |= {
                f"{steady}{kind}: scores": made["scores"],
                f"{steady}{kind}: logits": out.pred_masks[0, 0, made["chosen"]].clamp(-32, 32),
                f"{steady}{kind}: mask": made["mask"].astype(bool),
            }
    return found


def _chexagent(folder: Path) -> Numbers:
    model = chexagent.load(folder, "cpu", torch.float32, _quiet)
    image = Image.fromarray(picture())
    text = expert.tasks()["locate"]["text"].format(PHRASE)
    assert text == LOCATE
    ids = model.prompt(1, text)
    read = model.embed(ids, [image])
    ends = decoding.SpecialIds.of(-1)
    written = decoding.generate_tokens(
        model.language, decoding.embedded_inputs(read), ends, cpu_work(), most=8
    )
    return {
        "ids": ids,
        "pixels": model.preprocess(image),
        "seen": model.visual(model.preprocess(image)[None])[0],
        "logits": model.language(inputs_embeds=read).logits[0, -1],
        "written": written.ids,
    }


def _maira(folder: Path) -> Numbers:
    model = maira.load(folder, "cpu", torch.float32, _quiet)
    pixels = model.preprocess(picture())
    places = model.tower(pixels).feature_maps[-1].shape[1] - 1
    before, _, after = model.prompt(PHRASE).partition(maira.IMAGE)
    reading = boxes.read_maira("<obj>a <box><x10><y20><x30><y40></box></obj><obj>b</obj>")
    return {
        "ids": model.tokenizer(before + maira.IMAGE * places + after)["input_ids"],
        "pixels": pixels[0],
        "logits": model.language(inputs_embeds=model.embed(PHRASE, picture())).logits[0, -1],
        "box": reading.groups[0].boxes[0],
    }


def _llava(folder: Path) -> Numbers:
    model = llava_net.load(folder, cpu_work())
    before, after = llava_net.prompt_tokens(model, QUESTION, image=True)
    pixels = llava_net.preprocess(model, picture(True))
    read = llava_net.embed_prompt(model, (before, after), pixels)
    return {
        "ids": [*before, -200, *after],  # the original's number for the image
        "pixels": pixels[0],
        "logits": model.model(inputs_embeds=read).logits[0, -1],
    }


def _medgemma(folder: Path) -> Numbers:
    model = medgemma_net.load(folder, cpu_work())
    given = medgemma_net.prepare_inputs(model, QUESTION, [picture(False, *SMALL)])
    return {
        "ids": given["input_ids"][0],
        "pixels": given["pixel_values"],
        "resampled": medgemma_net.prepare_inputs(model, QUESTION, [picture()])["pixel_values"],
        "logits": model.model(**given).logits[0, -1],
    }


def _report(folder: Path) -> Numbers:
    section = report_net.load(folder, cpu_work())
    pixels = report_net.preprocess(section, picture())
    names = section.tokenizer
    ids = decoding.SpecialIds((names.sep_token_id,), names.pad_token_id, names.cls_token_id)
    start = torch.tensor([[names.cls_token_id, *range(5, 12)]])
    written = decoding.generate_tokens(
        section.model, {"pixel_values": pixels}, ids, cpu_work(), most=23, beams=2
    )
    end = [names.sep_token_id] if written.finished else []
    return {
        "pixels": pixels[0],
        "logits": section.model(pixel_values=pixels, decoder_input_ids=start).logits[0],
        "written": [names.cls_token_id, *written.ids, *end],
    }


def _densenet(path: Path) -> Numbers:
    made = densenet.evaluate(densenet.load(path), {"pixels": picture()}, "cpu")
    scores = [made["scores"][label] for label in densenet.LABELS]
    return {"pixels": densenet.preprocess(picture())[0], "scores": scores}


def _pspnet(path: Path) -> Numbers:
    # The published script cuts the central square out; ours pads to one.
    top = (ROWS - COLUMNS) // 2
    square, _ = psp_net.letterbox(picture()[top : top + COLUMNS])
    return {"pixels": square[0], "logits": psp_net.load(path)(square)[0]}
