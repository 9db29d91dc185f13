from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from app.tools.hosting.host import ProcessHost
from tests.support.tiny_making import install

if TYPE_CHECKING:
    from training.thorax.shapes import ShapeModel


@pytest.fixture(scope="session")
def tiny_models(
    model_process: ProcessHost, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Path]:
    """Models folders with a tiny model each, made once for each way of making it.

    Called with the tool's name, the card's, and the options of `tests.support.tiny.<tool>.build`.
    """

    @cache
    def made(tool: str, card: str, **options: Any) -> Path:
        models = tmp_path_factory.mktemp(card)
        install(model_process, tool, models, card, **options)
        return models

    return made


@pytest.fixture(scope="session")
def shape_model() -> ShapeModel:
    """Lung outlines for drawing synthetic patients; reading them takes a second."""
    try:
        from training.thorax import shapes

        return shapes.load(limit=120)
    except (ImportError, FileNotFoundError) as error:
        pytest.skip(f"no lung outlines to render with: {error}")
