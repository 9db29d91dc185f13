"""The embedded chest segmentation on synthetic films whose truth is known, and its refusals."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file  # noqa: E402

from app.tools.chest import thorax_net  # noqa: E402
from app.tools.chest.ctr_geometry import measure  # noqa: E402
from app.tools.chest.model_pictures import NEGATIVE_NOTE  # noqa: E402
from app.tools.chest.thorax_arch import STRUCTURES, ThoraxNet  # noqa: E402
from tests.support import thorax_cases as cases  # noqa: E402

if TYPE_CHECKING:
    from training.thorax.shapes import ShapeModel

MODEL = Path(__file__).resolve().parents[4] / "resources" / "models" / "thorax-net"
WEIGHTS = MODEL / "thorax-net.safetensors"
Film = tuple[NDArray[np.float32], NDArray[np.uint8]]


def displayed(attenuation: NDArray[np.float32]) -> NDArray[np.float32]:
    """A plain window from attenuation to 0..1."""
    low, high = np.percentile(attenuation, (1, 99))
    return np.clip((attenuation - low) / (high - low), 0, 1).astype(np.float32)


SEGMENTED: dict[tuple[str, tuple[int, ...]], thorax_net.ThoraxSegmentation] = {}
"""By the film's pixels: several tests look at what is found on the same one."""


def segmented(pixels: NDArray[np.float32], net: ThoraxNet) -> thorax_net.ThoraxSegmentation:
    key = hashlib.sha256(pixels.tobytes()).hexdigest(), pixels.shape
    if key not in SEGMENTED:
        SEGMENTED[key] = thorax_net.segment(pixels, net)
    return SEGMENTED[key]


def dice(found: NDArray[np.bool_], true: NDArray[np.bool_]) -> float:
    return float(2 * (found & true).sum() / (found.sum() + true.sum()))


@pytest.fixture(scope="module")
def net() -> ThoraxNet:
    torch.set_num_threads(1)  # waiting for a second core costs more where tests share the machine
    return thorax_net.load(WEIGHTS)


@pytest.fixture(scope="module")
def films(shape_model: ShapeModel) -> list[Film]:
    """Six synthetic patients from seeds that training never drew."""
    from training.thorax import render

    drawn = [render.frontal(np.random.default_rng([77, i]), shape_model) for i in range(6)]
    return [(displayed(image), labels) for image, labels in drawn]


def test_synthetic_films_are_segmented_close_to_the_truth(net: ThoraxNet, films: list[Film]):
    scores: dict[str, list[float]] = {name: [] for name in STRUCTURES}
    for pixels, labels in films:
        found = segmented(pixels, net)
        assert found.refused is None
        assert found.view == "frontal"
        for value, name in enumerate(STRUCTURES, start=1):
            scores[name].append(dice(found.masks[name], labels == value))
    assert np.mean(scores["Right Lung"]) > 0.94
    assert np.mean(scores["Left Lung"]) > 0.94
    assert np.mean(scores["Heart"]) > 0.90


def test_masks_have_the_inputs_size_and_do_not_overlap(net: ThoraxNet, films: list[Film]):
    tall = np.pad(np.kron(films[0][0], np.ones((3, 3), np.float32)), ((40, 0), (0, 91)))
    found = segmented(tall, net)
    masks = [found.masks[name] for name in STRUCTURES]
    assert all(m.shape == tall.shape and m.dtype == np.bool_ for m in masks)
    assert int(np.sum(masks, axis=0).max()) == 1


def test_masks_are_placed_in_wide_and_tall_images(net: ThoraxNet, films: list[Film]):
    pixels, labels = films[0]
    for pad in (((0, 0), (60, 20)), ((20, 60), (0, 0))):
        found = segmented(np.pad(pixels, pad), net)
        true = np.pad(np.isin(labels, (1, 2)), pad)
        assert dice(found.masks["Right Lung"] | found.masks["Left Lung"], true) > 0.9


def test_a_border_of_one_grey_changes_no_mask(net: ThoraxNet, films: list[Film]):
    pixels, _ = films[0]
    bare = segmented(pixels, net)
    for grey in (0.0, 0.5, 1.0):
        framed = segmented(np.pad(pixels, 60, constant_values=grey), net)
        for name in STRUCTURES:
            inner = framed.masks[name][60:-60, 60:-60]
            assert dice(inner, bare.masks[name]) > 0.99
            assert framed.masks[name].sum() == inner.sum()


def test_the_cardiothoracic_ratio_is_that_of_the_true_masks_or_warned_about(
    net: ThoraxNet, films: list[Film]
):
    near = 0
    for pixels, labels in films:
        true = {name: labels == value for value, name in enumerate(STRUCTURES, start=1)}
        found = segmented(pixels, net)
        ours = measure(found.masks, confidence=found.confidence, position="PA")
        wanted = measure(true, position="PA").ratio
        assert ours.ratio is not None
        assert wanted is not None
        off = abs(ours.ratio - wanted)
        near += off <= 0.05
        assert off <= 0.05 or (found.warnings and ours.warnings)
    assert near >= len(films) - 1  # on one an effusion hides the heart's left edge


def test_on_a_mirrored_film_the_masks_follow_the_picture_and_a_warning_says_so(
    net: ThoraxNet, films: list[Film]
):
    warned = 0
    for pixels, labels in films:
        true = {name: labels == value for value, name in enumerate(STRUCTURES, start=1)}
        shown, masks = cases.mirrored(pixels, true)
        found = segmented(shown, net)
        warned += any("mirrored" in note for note in found.warnings)
        assert dice(found.masks["Right Lung"], masks["Right Lung"]) > 0.85
        assert dice(found.masks["Left Lung"], masks["Left Lung"]) > 0.85
    assert warned == len(films)


def real_films() -> list[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
    """The four real films with lung masks, never trained or tuned on."""
    from tests.bench.bench_thorax import films

    found = [(pixels, true) for _, pixels, true in films()]
    if not found:
        pytest.skip("the shared films with lung masks are not here")
    return found


def lungs_found(pixels: NDArray[np.float32], net: ThoraxNet) -> NDArray[np.bool_]:
    masks = segmented(pixels, net).masks
    none = np.zeros(pixels.shape, np.bool_)
    return masks.get("Right Lung", none) | masks.get("Left Lung", none)


def test_lungs_of_real_films_are_found_as_they_are(net: ThoraxNet):
    scores = [dice(lungs_found(pixels, net), true) for pixels, true in real_films()]
    assert np.mean(scores) >= 0.94
    assert min(scores) >= 0.92


def test_lungs_of_real_films_are_found_however_they_are_shown(net: ThoraxNet):
    """Each way on one film; `tests.bench.bench_thorax` has each on all four."""
    pairs, scores = real_films(), {}
    for i, (name, change) in enumerate(cases.CHANGES.items()):
        pixels, true = pairs[i % len(pairs)]
        shown, masks = change(pixels, {"lungs": true})
        scores[name] = dice(lungs_found(shown, net), masks["lungs"])
    assert np.mean(list(scores.values())) >= 0.92
    assert min(scores.values()) >= 0.89, scores


@pytest.mark.parametrize("degrees", [-8, 8])
def test_a_film_that_is_mirrored_and_turned_is_no_lateral(net: ThoraxNet, degrees: int):
    """The fourth film, turned by -8 degrees, was taken for one."""
    pixels, true = real_films()[3]
    change = cases.together(cases.mirrored, cases.rotated(degrees))
    shown, masks = change(pixels, {"lungs": true})
    found = segmented(shown, net)
    assert found.refused is None
    assert any("mirrored" in note for note in found.warnings)
    assert dice(lungs_found(shown, net), masks["lungs"]) >= 0.89
    seen = thorax_net.classify_view(shown, net)
    assert (seen.view, seen.mirrored > 0.8) == ("frontal", True)
    negative = thorax_net.classify_view(1 - shown, net)
    assert (negative.view, negative.mirrored > 0.5) == ("inverted", True)


@pytest.mark.parametrize("degrees", [-8, 0, 8])
@pytest.mark.parametrize("is_mirrored", [False, True])
def test_the_real_lateral_is_one_from_either_side(net: ThoraxNet, degrees: int, is_mirrored: bool):
    lateral = cases.real_lateral()
    if lateral is None:
        pytest.skip("the shared lateral is not here")
    shown, _ = cases.rotated(degrees)(lateral[:, ::-1] if is_mirrored else lateral, {})
    for pixels in (shown, 1 - shown):
        assert segmented(pixels, net).refused is not None
        assert thorax_net.classify_view(pixels, net).view == "lateral"


@pytest.mark.parametrize(
    "name", ["CT_small.dcm", "MR_small.dcm", "examples_rgb_color.dcm", "examples_palette.dcm"]
)
def test_real_pictures_of_no_chest_are_refused(net: ThoraxNet, name: str):
    from pydicom.data import get_testdata_file

    pixels = cases.decoded(Path(str(get_testdata_file(name, download=False))))
    assert segmented(pixels, net).refused is not None


def test_the_patients_right_lung_is_on_the_viewers_left(net: ThoraxNet, films: list[Film]):
    found = segmented(films[0][0], net)
    centres = {name: np.nonzero(found.masks[name])[1].mean() for name in STRUCTURES}
    assert centres["Right Lung"] < centres["Heart"] < centres["Left Lung"]


def test_inverted_polarity_is_told_and_undone(net: ThoraxNet, films: list[Film]):
    for pixels, _ in films:
        upright, flipped = (segmented(p, net) for p in (pixels, 1 - pixels))
        assert not upright.inverted
        assert flipped.inverted
        assert NEGATIVE_NOTE in flipped.warnings
        assert NEGATIVE_NOTE not in upright.warnings
        assert dice(upright.masks["Right Lung"], flipped.masks["Right Lung"]) > 0.95


def test_laterals_and_other_images_are_refused(net: ThoraxNet):
    from training.thorax import negatives

    for i in range(8):
        pixels = displayed(negatives.lateral(np.random.default_rng([78, i])))
        found = segmented(pixels, net)
        assert found.refused is not None
        assert not found.masks
        other = displayed(negatives.other(np.random.default_rng([79, i])) + 1e-3)
        assert segmented(other, net).refused is not None


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((300, 300), np.float32),
        np.ones((10, 400), np.float32),
        np.random.default_rng(0).random((256, 256)).astype(np.float32),
        np.tile(np.linspace(0, 1, 200, dtype=np.float32), (200, 1)),
    ],
    ids=["blank", "strip", "noise", "ramp"],
)
def test_what_shows_no_chest_is_refused(net: ThoraxNet, pixels: NDArray[np.float32]):
    assert segmented(pixels, net).refused is not None


@pytest.mark.parametrize("pixels", [np.zeros((4, 4, 3)), np.full((64, 64), np.nan)])
def test_pixels_of_the_wrong_kind_are_an_error(net: ThoraxNet, pixels: NDArray[np.float32]):
    with pytest.raises(ValueError, match="pixels must be"):
        segmented(pixels.astype(np.float32), net)


def test_confidence_is_the_mean_inside_the_mask_not_over_the_image(
    net: ThoraxNet, films: list[Film]
):
    found = segmented(films[0][0], net)
    assert all(0.7 < found.confidence[name] <= 1 for name in STRUCTURES)


def test_entry_returns_arrays_and_plain_values_only(films: list[Film]):
    pixels = (films[0][0] * 255).astype(np.uint8)
    answer = thorax_net.entry(
        {"pixels": pixels, "weights": str(WEIGHTS)}, lambda fraction, text: None
    )
    masks = cast("dict[str, NDArray[np.uint8]]", answer.pop("masks"))
    assert {name: m.dtype for name, m in masks.items()} == dict.fromkeys(STRUCTURES, np.dtype("u1"))
    assert json.loads(json.dumps(answer)) == answer
    own = {"confidence", "inverted", "view", "warnings", "refused", "spread"}
    assert set(answer) == own | {"device", "dtype", "notes"}


def test_altered_weights_are_refused(tmp_path: Path):
    shutil.copy(MODEL / "card.json", tmp_path)
    blob = bytearray(WEIGHTS.read_bytes())
    blob[-1] ^= 1
    (tmp_path / WEIGHTS.name).write_bytes(blob)
    with pytest.raises(thorax_net.ThoraxNetError, match="sha256"):
        thorax_net.load(tmp_path / WEIGHTS.name)


def test_missing_weights_name_the_file(tmp_path: Path):
    with pytest.raises(thorax_net.ThoraxNetError, match=r"nothing\.safetensors"):
        thorax_net.load(tmp_path / "nothing.safetensors")


def test_weights_of_another_network_are_refused(tmp_path: Path):
    import hashlib

    path = tmp_path / "other.safetensors"
    save_file({"layer": torch.zeros(3)}, path)
    card = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    (tmp_path / "card.json").write_text(json.dumps(card))
    with pytest.raises(thorax_net.ThoraxNetError, match="not the weights of this network"):
        thorax_net.load(path)


def test_loaded_weights_equal_the_file(net: ThoraxNet):
    stored, state = load_file(WEIGHTS), net.state_dict()
    assert stored.keys() == state.keys()
    assert all(torch.equal(stored[name], state[name]) for name in stored)


def test_saved_and_loaded_again_gives_the_same_answer(net: ThoraxNet, tmp_path: Path):
    path = tmp_path / "again.safetensors"
    save_file({n: v.contiguous() for n, v in net.state_dict().items()}, path)
    copy = ThoraxNet().eval()
    copy.load_state_dict(load_file(path))
    x = torch.rand(1, 1, 256, 256, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(copy(x), net(x), strict=True))


def test_a_glance_tells_the_same_as_a_whole_look(net: ThoraxNet):
    x = torch.rand(2, 1, 256, 256, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        for views, whole in zip(net.classify_view(x), net(x)[1:], strict=True):
            assert torch.allclose(views, whole)


def test_card_tells_size_and_parameters():
    card = json.loads((MODEL / "card.json").read_text())
    assert WEIGHTS.stat().st_size < 2_000_000
    assert card["parameters"] == sum(p.numel() for p in ThoraxNet().parameters())


def test_measuring_module_loads_neither_torch_nor_qt():
    code = (
        "import sys, app.tools.chest.ctr_geometry; print({'torch', 'PySide6'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=MODEL.parents[2],
    )
    assert done.stdout.strip() == "set()"
