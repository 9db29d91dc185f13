"""What is compared once a model is installed: published scores of a film, and two vision towers."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.tools.chest.classifier import LABELS
from app.tools.hosting.host import ProcessHost
from app.tools.models.cards import CardFile, ModelCard, SelfCheck, card
from app.tools.models.install_plan import Consent
from app.tools.models.records import sha256_of
from app.tools.models.status import ModelStatus
from app.tools.models.store import ModelStore
from tests.support.tiny_making import make
from tests.unit.tools.chest.synthetic import radiograph
from tests.unit.tools.support import call

pytest.importorskip("torchxrayvision")

DENSENET = card("densenet121-res224-all")
LLAVA = card("llava-med-v1.5-mistral-7b")
WITNESS = "tests.unit.tools.chest.self_check_witness"


def check_of(wanted: ModelCard) -> SelfCheck:
    assert wanted.self_check is not None
    return wanted.self_check


@pytest.fixture(scope="module")
def brought(model_process: ProcessHost, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with DenseNet's weights (random ones), and a film that is not square."""
    folder = tmp_path_factory.mktemp("brought")
    make(model_process, "chest_xray_classifier", folder / DENSENET.files[0].name)
    film = np.clip(radiograph(), 0, 255).astype(np.uint8)
    Image.fromarray(film).save(folder / check_of(DENSENET).file.name)
    return folder


@pytest.fixture(scope="module")
def published(brought: Path, model_process: ProcessHost) -> ModelCard:
    """The card of these weights, with the scores that torchxrayvision's own script prints."""
    weights, film = brought / DENSENET.files[0].name, brought / check_of(DENSENET).file.name
    scores = call(model_process, f"{WITNESS}:scores", path=str(weights), film=str(film))
    expected = {name: float(score) for name, score in scores.items() if name in LABELS}
    about = CardFile(film.name, film.stat().st_size, sha256_of(film), "https://example.invalid/f")
    file = replace(DENSENET.files[0], size=weights.stat().st_size, sha256=sha256_of(weights))
    check = replace(check_of(DENSENET), file=about, expected=expected)
    return replace(DENSENET, files=(file,), self_check=check)


def installed(
    models: Path, wanted: ModelCard, brought: Path, host: ProcessHost | None, *, film: bool = True
) -> tuple[ModelStore, ModelStatus]:
    """The store and the status that the installation returns."""
    store = ModelStore(models, known={wanted.name: wanted})
    target = store.paths_of(wanted).self_check_file
    assert target is not None
    if film:
        target.parent.mkdir(parents=True)
        shutil.copy(brought / target.name, target)
    plan = store.plan_install(brought / wanted.files[0].name)
    (status,) = store.install(plan, Consent(), host=host)
    return store, status


def test_the_published_scores_of_a_known_film_are_met(
    tmp_path: Path, published: ModelCard, brought: Path, model_process: ProcessHost
):
    assert len(check_of(published).expected) == 18
    store, status = installed(tmp_path / "models", published, brought, model_process)
    met = "passed: 18 published scores of 00000001_000.png met to 0.0"
    assert status.self_check.startswith(met)
    assert store.status(published).self_check == status.self_check, "it is kept in the record"
    assert store.require(published.name, "x").warnings == ()


def test_other_scores_fail_and_every_result_then_says_so(
    tmp_path: Path, published: ModelCard, brought: Path, model_process: ProcessHost
):
    check = check_of(published)
    off = dict(check.expected) | {"Mass": check.expected["Mass"] + 0.1}
    wrong = replace(published, self_check=replace(check, expected=off))
    store, status = installed(tmp_path / "models", wrong, brought, model_process)
    assert status.self_check.startswith("failed: 18 published scores")
    assert "met to 0.1000 (Mass); 0.02 is allowed" in status.self_check
    (warning,) = store.require(wrong.name, "x").warnings
    assert "self-check" in warning
    assert "failed" in warning
    mended = ModelStore(store.folder, known={published.name: published})
    (again,) = mended.verify(published.name, host=model_process)
    assert again.self_check.startswith("passed"), "verifying runs it again"
    assert mended.require(published.name, "x").warnings == ()


def test_without_the_film_it_says_where_to_get_it_and_where_to_put_it(
    tmp_path: Path, published: ModelCard, brought: Path, model_process: ProcessHost
):
    store, status = installed(tmp_path / "m", published, brought, model_process, film=False)
    target = store.paths_of(published).self_check_file
    assert status.self_check.startswith(f"not run: {target} is not there. Download https://")
    assert target is not None
    target.parent.mkdir()
    target.write_bytes(b"another picture")
    (status,) = store.verify(published.name, host=model_process)
    assert "is not the published file" in status.self_check
    assert store.require(published.name, "x").warnings == (), "not run is no failure"


def test_without_the_ai_packages_it_is_not_run(tmp_path: Path, published: ModelCard, brought: Path):
    _store, status = installed(tmp_path / "models", published, brought, None)
    assert status.self_check.startswith("not run: it needs the AI packages")


def test_the_shipped_scores_are_those_of_the_classifier():
    check = check_of(DENSENET)
    assert set(check.expected) == set(LABELS)
    assert check.fetched
    assert check.file.url.startswith("https://github.com/mlmed/torchxrayvision/")


def test_the_digest_of_the_film_is_that_of_torchxrayvisions_test_image(shared_data: Path):
    check = check_of(DENSENET)
    film = shared_data / "chest" / "nih-00000001_000-Cardiomegaly.png"
    assert (film.stat().st_size, sha256_of(film)) == (check.file.size, check.file.sha256)


@pytest.mark.parametrize("changed", [False, True])
def test_llava_meds_vision_tower_is_compared_with_clips(
    tmp_path: Path, model_process: ProcessHost, changed: bool
):
    models = tmp_path / "models"
    make(model_process, "llava_med_qa", models / LLAVA.name)
    store = ModelStore(models, known={LLAVA.name: LLAVA})
    store.accept(LLAVA.name)
    (status,) = store.verify(LLAVA.name, host=model_process)
    assert "clip-vit-large-patch14-336.bin is not there" in status.self_check
    clip = models / "self-check" / check_of(LLAVA).file.name
    clip.parent.mkdir()
    asked: dict[str, Any] = {"folder": str(models / LLAVA.name), "changed": changed}
    count = call(model_process, f"{WITNESS}:write_clip", file=str(clip), **asked)["count"]
    about = replace(check_of(LLAVA).file, size=clip.stat().st_size, sha256=sha256_of(clip))
    known = replace(LLAVA, self_check=replace(check_of(LLAVA), file=about))
    (status,) = ModelStore(models, known={LLAVA.name: known}).verify("", host=model_process)
    if changed:
        assert status.self_check.startswith(f"failed: 1 of {count} tensors of the vision tower")
        assert "up to 0.25 apart" in status.self_check
    else:
        assert status.self_check == f"passed: all {count} tensors of the vision tower are CLIP's"


def test_the_cards_of_llava_med_say_which_tower_they_see_with():
    for name in (LLAVA.name, f"{LLAVA.name}-hf"):
        told = " ".join(card(name).limits)
        assert "published program loads openai/clip-vit-large-patch14-336" in told
