from __future__ import annotations

from pathlib import Path

import numpy as np
import tifffile
from PIL import Image

from app.tools.microscopy.image_info import ImageInfo
from tests.unit.tools.support import Bench


def test_an_ome_tiff_is_described_as_it_was_written(tmp_path: Path):
    path = tmp_path / "stack.ome.tif"
    pixels = np.zeros((2, 3, 2, 20, 30), np.uint16)
    tifffile.imwrite(
        path,
        pixels,
        ome=True,
        metadata={
            "axes": "TZCYX",
            "Channel": {"Name": ["DAPI", "Actin"]},
            "PhysicalSizeX": 0.25,
            "PhysicalSizeXUnit": "µm",
            "PhysicalSizeY": 0.5,
            "PhysicalSizeYUnit": "µm",
            "PhysicalSizeZ": 2.0,
            "PhysicalSizeZUnit": "µm",
        },
    )
    bench = Bench(tmp_path)
    bench.open(path)
    result = bench.run(ImageInfo(), image_path="image-1")
    assert result.output == {
        "rows": 20,
        "columns": 30,
        "channels": ["DAPI", "Actin"],
        "bits": 16,
        "depths": 3,
        "times": 2,
        "pixel_size_um": [0.5, 0.25],
        "z_step_um": 2.0,
    }
    assert result.summary == (
        "30 x 20 pixels (columns x rows), 16 bits; 2 channels: DAPI, Actin; 3 depths; "
        "2 time points; a pixel is 0.5 x 0.25 µm (height x width); 2 µm between depths."
    )


def test_a_picture_has_three_colours_and_no_pixel_size(tmp_path: Path):
    Image.fromarray(np.arange(72, dtype=np.uint8).reshape(4, 6, 3)).save(tmp_path / "a.png")
    bench = Bench(tmp_path)
    bench.open(tmp_path / "a.png")
    result = bench.run(ImageInfo(), image_path="image-1")
    assert result.output["channels"] == ["red", "green", "blue"]
    assert result.output["pixel_size_um"] is None
    assert "pixel size unknown" in result.summary
