"""Reports of other people's images as DICOM and FHIR: other programs find no error in them."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fhir.resources.R4B.diagnosticreport import DiagnosticReport

from app.errors import FileProblem
from app.imaging.findings import State, new_id
from app.imaging.objects.write_report import write_report
from app.imaging.reports.checks import check_report
from app.imaging.reports.diagnostic_report import diagnostic_report
from app.imaging.reports.report_draft import Signature
from app.imaging.reports.report_subject import subject_of
from app.imaging.reports.written_report import ENCAPSULATED, SR, ReportExport, written_report
from app.imaging.types import ImageRef, Instance, Series, Study
from tests.unit.imaging.export_sets import random_findings
from tests.unit.imaging.report_cases import drafted
from tests.unit.imaging.test_report_findings import FOREIGN, real_image

COUNT = 40
PDF = np.frombuffer(b"%PDF-1.4 nothing", np.uint8)
SIGNED = Signature("Dr Änne Roe", "2024-05-06T07:08:09+02:00")


def study_of(image: Instance) -> tuple[Study, Series]:
    """Return a study of one image."""
    own = image.get("SeriesInstanceUID"), image.get("SeriesDescription")
    series = Series(*own, image.get("Modality"), 3, (image,))
    names = image.get("PatientName"), image.get("PatientID"), image.get("StudyDate")
    uid, title = image.get("StudyInstanceUID"), image.get("StudyDescription")
    return Study(uid, title, *names, (series,)), series


@pytest.mark.slow
def test_reports_of_real_images_are_valid(tmp_path: Path, shared_data: Path) -> None:
    if not shutil.which("dciodvfy"):
        pytest.skip("dciodvfy (dicom3tools) is not installed")
    folders = [shared_data / name for name in ("dicom", "chest", "series")]
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    random.Random(20).shuffle(files)
    done, refused = 0, list[str]()
    for seed, path in enumerate(files):
        image = real_image(path)
        if image is None:
            continue
        refs = [ImageRef(image.sop_instance_uid, k, "") for k in range(min(image.frames, 3))]
        made = random_findings(seed, refs, image.rows, image.columns, masks=True)
        findings = tuple(replace(one, id=new_id(), state=State.ACCEPTED) for one in made)
        study, series = study_of(image)
        subject = subject_of(study, [image], lambda _image, s=series: (s, 0))
        accepted = {one.id: one for one in findings}
        for language in ("en", "de"):
            draft = drafted(*findings, language=language, subject=subject)
            assert check_report(draft, subject, accepted) == (), path.name
        written = written_report(
            replace(draft, signature=SIGNED if seed % 2 else None), subject, accepted
        )
        DiagnosticReport.model_validate(json.loads(diagnostic_report(written, subject, [image])))
        for form in (SR, ENCAPSULATED):
            try:
                data = write_report(ReportExport(form, (image,), written, pdf=PDF))
            except FileProblem as error:
                refused.append(error.reason)
                continue
            out = tmp_path / "made.dcm"
            out.write_bytes(data)
            told = subprocess.run(["dciodvfy", str(out)], capture_output=True, check=False)
            lines = (told.stdout + told.stderr).decode("utf-8", "replace").splitlines()
            wrong = [one for one in lines if one.startswith("Error") and FOREIGN not in one]
            assert wrong == [], f"{form}: {path.name}"
        done += 1
        if done == COUNT:
            break
    assert done >= 30
    assert [one for one in refused if not one.startswith("its header lacks")] == []
