"""GDCM as a witness, in a process of its own: it aborts on files that it does not like.

Reads paths from stdin, one a line; answers each with one line of JSON: the shape of the stored
values, their type, and the name of a file with their bytes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def read(path: str, out: Path) -> dict[str, Any]:
    """Stored values of all frames as GDCM reads them, written to `out`."""
    import gdcm

    reader: Any = gdcm.ImageReader()
    reader.SetFileName(path)
    if not reader.Read():
        return {"error": "GDCM cannot read it"}
    image = reader.GetImage()
    pixels = image.GetPixelFormat()
    if pixels.GetSamplesPerPixel() != 1:
        return {"error": "colour"}
    data = image.GetBuffer()
    out.write_bytes(data.encode("utf-8", "surrogateescape"))
    columns, rows = image.GetDimension(0), image.GetDimension(1)
    frames = image.GetDimension(2) if image.GetNumberOfDimensions() > 2 else 1
    return {
        "shape": [frames, rows, columns],
        "type": pixels.GetScalarTypeAsString(),
        "file": str(out),
    }


def main() -> None:
    """Serve until stdin ends."""
    out = Path(sys.argv[1])
    for line in sys.stdin:
        try:
            answer = read(line.rstrip("\n"), out)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
