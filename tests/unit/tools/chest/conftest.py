from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from training.thorax.shapes import ShapeModel


@pytest.fixture(scope="session")
def shape_model() -> ShapeModel:
    """Lung outlines for drawing synthetic patients; reading them takes a second."""
    try:
        from training.thorax import shapes

        return shapes.load(limit=120)
    except (ImportError, FileNotFoundError) as error:
        pytest.skip(f"no lung outlines to render with: {error}")
