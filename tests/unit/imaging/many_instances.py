"""What many instances cost in memory: answers of workers as they come, without the files.

Run: `python -m tests.unit.imaging.many_instances COUNT`. Prints the highest resident memory of
this process, MB, once they are open after reading them, and that which it has when they were
restored.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from app.imaging.scanning.snapshots import Snapshot, pack_result, restore
from app.imaging.studies.catalogue import Catalogue
from app.imaging.studies.instance_lists import TableReader, instance_table
from app.imaging.types import Instance
from app.workspace.studies import Studies

_BATCH = 250
_PER_SERIES = 500


def a_header(number: int) -> Instance:
    """A CT slice with as much in its header as scanners write."""
    series, place = divmod(number, _PER_SERIES)
    texts = {f"Constant{key}": f"what all slices say of {key}" for key in range(40)}
    texts |= {
        "StudyInstanceUID": f"1.2.826.0.1.3680043.8.498.1{series // 4:09}",
        "SeriesInstanceUID": f"1.2.826.0.1.3680043.8.498.2{series:09}",
        "FrameOfReferenceUID": f"1.2.826.0.1.3680043.8.498.4{series // 4:09}",
        "PatientID": f"P{series // 4}",
        "PatientName": f"Doe^{series // 4}",
        "Modality": "CT",
        "InstanceNumber": str(place + 1),
        "ImageOrientationPatient": "1\\0\\0\\0\\1\\0",
        "ImagePositionPatient": f"-125.5\\-125.5\\{place * 1.25:.3f}",
        "PixelSpacing": "0.488281\\0.488281",
        "SliceLocation": f"{place * 1.25:.3f}",
        "AcquisitionTime": f"10{place // 60 % 60:02}{place % 60:02}.{place:06}",
        "ContentTime": f"11{place // 60 % 60:02}{place % 60:02}.{place:06}",
        "XRayTubeCurrent": str(100 + place * 7 % 300),
    }
    return Instance(
        Path(f"/archive/patient{series // 4}/series{series}/IM{place:05}.dcm"),
        f"1.2.826.0.1.3680043.8.498.3{number:015}",
        "dicom",
        512,
        512,
        number=place + 1,
        attributes=texts,
        size_bytes=525_000 + place,
        mtime_ns=10**18 + number,
    )


def read(count: int) -> Snapshot:
    """Take answers in as a scan does."""
    reader, catalogue, studies = TableReader(), Catalogue(), Studies()
    for start in range(0, count, _BATCH):
        made = [a_header(number) for number in range(start, start + _BATCH)]
        table = json.loads(json.dumps(instance_table(made)))
        catalogue.add(reader.instances(table, [one.path for one in made]))
    result = catalogue.result()
    studies.add(result)
    last = result.studies[-1].series[-1].instances[-1]
    assert studies.series_of(last) is not None
    assert sum(map(len, studies.instances())) == count
    return pack_result(result, "mark", count)


def peak_mb() -> float:
    """The highest resident memory of this process so far (Linux)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(one.split()[1]) * 1024 / 1e6 for one in lines if one.startswith("VmHWM"))


def main() -> None:
    """Print both figures."""
    if sys.argv[1] == "restored":
        data = sys.stdin.buffer.read()
        sizes = [int(text) for text in sys.argv[2:]]
        ends = np.cumsum(sizes).tolist()
        parts = [data[end - size : end] for end, size in zip(ends, sizes, strict=True)]
        studies = Studies()
        studies.add(restore(Snapshot("mark", 1, *parts)))
        assert studies.with_uid(studies.instances()[-1][-1].sop_instance_uid)
        sys.stdout.write(f"{peak_mb():.1f}\n")
        return
    snapshot = read(int(sys.argv[1]))
    sys.stdout.write(f"{peak_mb():.1f} ")
    sys.stdout.flush()
    parts = (snapshot.pages, snapshot.blocks, snapshot.uids)
    subprocess.run(
        [sys.executable, "-m", __spec__.name, "restored", *(str(len(part)) for part in parts)],
        input=b"".join(parts),
        check=True,
    )


if __name__ == "__main__":
    main()
