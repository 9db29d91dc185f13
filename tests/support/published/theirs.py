"""Runs one published program on a tiny model: `python theirs.py WHICH PLACE OUT.npz`.

`make` starts this with the program and its own version of transformers on PYTHONPATH. Everything
that is computed here is computed by published code; what is ours is the reading of the files, and a
stand-in where a program would download something.
"""

from __future__ import annotations

import json
import sys
import tempfile
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file

from tests.support.published.alike import picture
from tests.support.published.asked import LOCATE, MARKS, PHRASE, QUESTION, SMALL, SQUARE, STEADY

Numbers = dict[str, Any]


def _read(folder: Path, name: str = "config.json") -> dict[str, Any]:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def _state(folder: Path) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = {}
    for path in sorted(folder.glob("*.safetensors")):
        found |= load_file(path)
    return found


def _filled(model: Any, state: dict[str, torch.Tensor], unused: tuple[str, ...] = ()) -> Any:
    """Load a state of which no tensor may be missing, and none left over but the unused ones."""
    missing, more = model.load_state_dict(state, strict=False)
    missing = [name for name in missing if not name.endswith(("position_ids", "inv_freq"))]
    more = [name for name in more if not name.startswith(unused or ("?",))]
    if missing or more:
        raise SystemExit(f"not its weights: missing {missing[:5]}, more {more[:5]}")
    return model.float().eval()


def medsam2(path: Path) -> Numbers:
    """bowang-lab/MedSAM2's image predictor, which is facebookresearch/sam2's, at Hiera's widths."""
    parts: Any = {
        name: import_module(f"sam2.modeling.backbones.{name}")
        for name in ("hieradet", "image_encoder")
    }
    sine: Any = import_module("sam2.modeling.position_encoding").PositionEmbeddingSine
    base: Any = import_module("sam2.modeling.sam2_base").SAM2Base
    predictor: Any = import_module("sam2.sam2_image_predictor").SAM2ImagePredictor
    # As sam2/configs/sam2.1_hiera_t512.yaml and build_sam.py have it, but for the widths.
    trunk = parts["hieradet"].Hiera(
        embed_dim=16,
        num_heads=1,
        stages=(1, 2, 7, 2),
        global_att_blocks=(5, 7, 9),
        window_pos_embed_bkg_spatial_size=(7, 7),
    )
    neck = parts["image_encoder"].FpnNeck(
        position_encoding=sine(num_pos_feats=32, normalize=True, scale=None, temperature=10000),
        d_model=32,
        backbone_channel_list=[128, 64, 32, 16],
        fpn_top_down_levels=[2, 3],
        fpn_interp_model="nearest",
    )
    model = base(
        parts["image_encoder"].ImageEncoder(trunk=trunk, neck=neck, scalp=1),
        torch.nn.Identity(),
        torch.nn.Identity(),
        image_size=512,
        directly_add_no_mem_embed=True,
        use_high_res_features_in_sam=True,
        multimask_output_in_sam=True,
        multimask_min_pt_num=0,
        multimask_max_pt_num=1,
        multimask_output_for_tracking=True,
        iou_prediction_use_sigmoid=True,
        pred_obj_scores=True,
        pred_obj_scores_mlp=True,
        sam_mask_decoder_extra_args={
            "dynamic_multimask_via_stability": True,
            "dynamic_multimask_stability_delta": 0.05,
            "dynamic_multimask_stability_thresh": 0.98,
        },
    )
    used = ("image_encoder.", "sam_", "no_mem_embed")
    state = torch.load(path, weights_only=True)["model"]
    missing, _ = model.load_state_dict(
        {name: tensor for name, tensor in state.items() if name.startswith(used)}, strict=False
    )
    if wrong := [name for name in missing if name.startswith(used)]:
        raise SystemExit(f"not its weights: {wrong[:5]}")
    image = predictor(model.eval())
    found: Numbers = {"resampled": getattr(image, "_transforms")(picture(True)).numpy()}  # noqa: B009
    image.set_image(picture(True, *SQUARE))
    # At first the single mask hangs on the threshold and the best of three is taken, then not.
    for steady in ("", "steady "):
        if steady:
            model.sam_mask_decoder.output_hypernetworks_mlps[0].layers[2].weight.data.mul_(STEADY)
        for kind, marks in MARKS.items():
            points, labels = marks["points"] or [], marks["labels"] or []
            given: Any = {"point_labels": torch.zeros(1, len(points) + 2 * bool(marks["box"]))}
            ambiguous = model._use_multimask(True, given)  # a box counts as two points
            masks, scores, low = image.predict(
                point_coords=np.array(points) if points else None,
                point_labels=np.array(labels) if labels else None,
                box=None if marks["box"] is None else np.array(marks["box"])[None],
                multimask_output=bool(ambiguous),
                return_logits=True,
            )
            best = int(scores.argmax())
            found |= {
                f"{steady}{kind}: scores": scores,
                f"{steady}{kind}: logits": low[best],
                f"{steady}{kind}: mask": masks[best] > 0,
            }
    return found


def chexagent(folder: Path) -> Numbers:
    """StanfordAIMI/CheXagent-2-3b's own program, with transformers 4.40.0 as it asks for."""
    transformers: Any = import_module("transformers")
    for unused in ("albumentations", "albumentations.pytorch", "cv2", "pyarrow"):
        sys.modules[unused] = ModuleType(unused)
    sys.modules["albumentations.pytorch"].ToTensorV2 = None  # type: ignore[attr-defined]

    class CheXagentConfig(transformers.PhiConfig):
        model_type = "chexagent"

    own = ModuleType("chexagent.configuration_chexagent")
    own.CheXagentConfig = CheXagentConfig  # type: ignore[attr-defined]
    sys.modules.setdefault(own.__name__, own)
    program: Any = import_module("chexagent.modeling_chexagent")
    seeing: Any = import_module("chexagent.modeling_visual")
    reading: Any = import_module("chexagent.tokenization_chexagent")
    about, looks = _read(folder), _read(folder, "vision/preprocessor_config.json")
    tower = transformers.SiglipVisionConfig(**_read(folder, "vision/config.json")["vision_config"])
    seeing.AutoModel = SimpleNamespace(  # it would download the tower, whose weights are replaced
        from_pretrained=lambda _: transformers.SiglipVisionModel(tower)
    )
    processor = SimpleNamespace(image_mean=looks["image_mean"], image_std=looks["image_std"])
    seeing.AutoProcessor = SimpleNamespace(
        from_pretrained=lambda _: SimpleNamespace(image_processor=processor)
    )
    places = (tower.image_size // tower.patch_size) ** 2
    reading.IMG_TOKEN_SPAN = places  # 1024 at the published size
    config = CheXagentConfig(**about)
    config.name_or_path = str(folder)
    model = _filled(program.CheXagentForCausalLM(config), _state(folder))
    tokenizer = reading.CheXagentTokenizer.from_pretrained(str(folder))
    path = Path(tempfile.mkdtemp()) / "a.png"
    Image.fromarray(picture()).save(path)
    query = tokenizer.from_list_format([{"image": str(path)}, {"text": LOCATE}])
    talk = [
        {"from": "system", "value": "You are a helpful assistant."},
        {"from": "human", "value": query},
    ]
    ids = tokenizer.apply_chat_template(talk, add_generation_prompt=True, return_tensors="pt")
    with torch.no_grad():
        logits = model(ids).logits[0, -1]
        seen = model.model.visual.encode([str(path)], training=False)[0]
        written = model.generate(
            ids, do_sample=False, num_beams=1, use_cache=True, max_new_tokens=8
        )
    row = ids[0].tolist()
    begin, end = (row.index(at) for at in (tokenizer.img_start_id, tokenizer.img_end_id))
    row[begin + 1 : end] = [tokenizer.img_pad_id] * (end - begin - 1)  # the path to the picture
    return {
        "ids": np.array(row),
        "pixels": model.model.visual.load_image(str(path), training=False).numpy(),
        "seen": seen.numpy(),
        "logits": logits.numpy(),
        "written": written[0, ids.shape[1] :].numpy(),
    }


def maira(folder: Path) -> Numbers:
    """microsoft/maira-2's own program."""
    transformers: Any = import_module("transformers")
    program: Any = import_module("maira2.modeling_maira2")
    processing: Any = import_module("maira2.processing_maira2")
    settings: Any = import_module("maira2.configuration_maira2")
    about = _read(folder)
    config = settings.Maira2Config(
        **{name: value for name, value in about.items() if name not in ("auto_map", "model_type")}
    )
    model = _filled(program.Maira2ForConditionalGeneration(config), _state(folder))
    processor = processing.Maira2Processor(
        image_processor=transformers.BitImageProcessor.from_pretrained(folder),
        tokenizer=transformers.PreTrainedTokenizerFast.from_pretrained(
            folder, model_input_names=["input_ids", "attention_mask"]
        ),
        patch_size=config.vision_config.patch_size,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )
    given = processor.format_and_preprocess_phrase_grounding_input(
        frontal_image=Image.fromarray(picture()), phrase=PHRASE, return_tensors="pt"
    )
    with torch.no_grad():
        logits = model(**given).logits[0, -1]
    said = "<obj>a <box><x10><y20><x30><y40></box></obj><obj>b</obj>"
    boxes = processor.convert_output_to_plaintext_or_grounded_sequence(said)
    return {
        "ids": given["input_ids"][0].numpy(),
        "pixels": given["pixel_values"][0].numpy(),
        "logits": logits.numpy(),
        "box": np.array(boxes[0][1][0]),
    }


def llava(folder: Path) -> Numbers:
    """microsoft/LLaVA-Med's own program, with transformers 4.36.2 as it asks for."""
    transformers: Any = import_module("transformers")
    program: Any = import_module("llava.model.language_model.llava_mistral")
    tools: Any = import_module("llava.mm_utils")
    templates: Any = import_module("llava.conversation").conv_templates
    state = _state(folder)
    begin = "model.vision_tower.vision_tower."
    tower = {name[len(begin) :]: state[name] for name in state if name.startswith(begin)}
    vision = folder.parent / "clip"
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3}
    looks: Any = transformers.CLIPVisionConfig(
        **sizes, num_attention_heads=1, image_size=56, patch_size=14, hidden_act="quick_gelu"
    )
    seeing = _filled(transformers.CLIPVisionModel(looks), tower)
    seeing.save_pretrained(vision)  # where the program would download openai's
    transformers.CLIPImageProcessor(
        size={"shortest_edge": 56}, crop_size={"height": 56, "width": 56}
    ).save_pretrained(vision)
    about = _read(folder)
    config = program.LlavaMistralConfig(**{**about, "mm_vision_tower": str(vision)})
    config.mm_hidden_size = 64
    model = program.LlavaMistralForCausalLM(config)
    seen = model.get_vision_tower()
    seen.load_model()
    rest = {name: tensor for name, tensor in state.items() if not name.startswith(begin)}
    model.load_state_dict(rest, strict=False)
    model = model.float().eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), use_fast=False)
    talk = templates["mistral_instruct"].copy()
    talk.append_message(talk.roles[0], f"<image>\n{QUESTION}")
    talk.append_message(talk.roles[1], None)
    ids = tools.tokenizer_image_token(talk.get_prompt(), tokenizer, -200, return_tensors="pt")
    image = Image.fromarray(picture(True))
    # The original shifts a padded picture by one pixel more at random; ours never does.
    tools.random = SimpleNamespace(randint=lambda least, most: least)
    pixels = tools.process_images([image], seen.image_processor, config)
    with torch.no_grad():
        logits = model(ids[None], images=pixels).logits[0, -1]
    return {"ids": ids.numpy(), "pixels": pixels[0].numpy(), "logits": logits.numpy()}


def medgemma(folder: Path) -> Numbers:
    """Gemma 3 by transformers 4.50, with which MedGemma was published."""
    transformers: Any = import_module("transformers")
    model, report = transformers.Gemma3ForConditionalGeneration.from_pretrained(
        folder, torch_dtype=torch.float32, output_loading_info=True, attn_implementation="eager"
    )
    if wrong := [*report["missing_keys"], *report["unexpected_keys"]]:
        raise SystemExit(f"not its weights: {wrong[:5]}")
    signs = {"boi": "<start_of_image>", "eoi": "<end_of_image>", "image": "<image_soft_token>"}
    processor = transformers.Gemma3Processor(
        image_processor=transformers.Gemma3ImageProcessor.from_pretrained(folder),
        tokenizer=transformers.GemmaTokenizerFast(
            tokenizer_file=str(folder / "tokenizer.json"),
            extra_special_tokens={f"{name}_token": sign for name, sign in signs.items()},
        ),
        chat_template=(folder / "chat_template.jinja").read_text(encoding="utf-8"),
        image_seq_length=model.config.mm_tokens_per_image,
    )
    talk = [
        {
            "role": "system",
            "content": [{"type": "text", "text": "You are an expert radiologist."}],
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": QUESTION},
                {"type": "image", "image": Image.fromarray(picture(False, *SMALL)).convert("RGB")},
            ],
        },
    ]
    given = processor.apply_chat_template(
        talk, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
    )
    with torch.no_grad():
        logits = model.eval()(**given).logits[0, -1]
    return {
        "ids": given["input_ids"][0].numpy(),
        "pixels": given["pixel_values"].numpy(),
        "resampled": processor.image_processor(
            Image.fromarray(picture()).convert("RGB"), return_tensors="pt"
        )["pixel_values"].numpy(),
        "logits": logits.numpy(),
    }


def report(folder: Path) -> Numbers:
    """IAMJB's baselines by transformers 4.40, as on their page, with the beams that it asks for."""
    transformers: Any = import_module("transformers")
    model, info = transformers.VisionEncoderDecoderModel.from_pretrained(
        folder, output_loading_info=True
    )
    if wrong := [*info["missing_keys"], *info["unexpected_keys"]]:
        raise SystemExit(f"not its weights: {wrong[:5]}")
    tokenizer = transformers.BertTokenizer.from_pretrained(folder)
    processor = transformers.ViTImageProcessor.from_pretrained(folder)
    image = Image.fromarray(picture()).convert("RGB")
    pixels = processor(image, return_tensors="pt").pixel_values
    start = torch.tensor([[tokenizer.cls_token_id, *range(5, 12)]])
    settings = transformers.GenerationConfig(
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
        pad_token_id=tokenizer.pad_token_id,
        decoder_start_token_id=tokenizer.cls_token_id,
        num_return_sequences=1,
        max_length=24,
        num_beams=2,
        use_cache=True,
    )
    with torch.no_grad():
        logits = model.eval()(pixel_values=pixels, decoder_input_ids=start).logits[0]
        written = model.generate(pixels, generation_config=settings)
    return {"pixels": pixels[0].numpy(), "logits": logits.numpy(), "written": written[0].numpy()}


def _radiograph() -> torch.Tensor:
    """As torchxrayvision's scripts/process_image.py prepares a picture."""
    xrv: Any = import_module("torchxrayvision")
    image = xrv.datasets.normalize(picture(), 255)[None]
    image = xrv.datasets.XRayCenterCrop()(image)
    return torch.from_numpy(image)[None].float()


def densenet(path: Path) -> Numbers:
    """torchxrayvision's classifier, resampled by the model itself."""
    xrv: Any = import_module("torchxrayvision")
    about = xrv.models.model_urls["densenet121-res224-all"]
    model = xrv.models.DenseNet(weights=None, num_classes=len(about["labels"]))
    loaded: Any = torch.load(path, weights_only=False)
    model.load_state_dict(loaded.state_dict())
    model.op_threshs = torch.tensor(about["op_threshs"])
    model.upsample = None
    with torch.no_grad():
        image = xrv.utils.fix_resolution(_radiograph(), 224, model)
        return {"pixels": image[0].numpy(), "scores": model.eval()(image)[0].numpy()}


def pspnet(path: Path) -> Numbers:
    """torchxrayvision's segmentation of a square picture."""
    xrv: Any = import_module("torchxrayvision")
    nets: Any = import_module("torchxrayvision.baseline_models.chestx_det")
    torchvision: Any = import_module("torchvision")
    net = nets.PSPNet.__new__(nets.PSPNet)  # its constructor would download the weights
    torch.nn.Module.__init__(net)
    net.transform = torchvision.transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    net.model = nets.pspnet(14)
    state = torch.load(path, weights_only=True)
    net.model.load_state_dict({k.removeprefix("module."): v for k, v in state.items()})
    with torch.no_grad():
        image = xrv.utils.fix_resolution(_radiograph(), 512, net)
        return {"pixels": image[0].numpy(), "logits": net.eval()(image)[0].numpy()}


if __name__ == "__main__":
    name, where, out = sys.argv[1:]
    torch.manual_seed(0)
    np.savez(out, **globals()[name](Path(where)))
    about = {package: version(package) for package in ("transformers", "torch")}
    sys.stdout.write(json.dumps(about) + "\n")
