"""The tool `generate_and_run_analysis`: what the code is given, and what comes back of it."""

from __future__ import annotations

import base64
import io
import json
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from PIL import Image

from app.agent.policy.approvals import LONGEST_SHOWN, shown_arguments
from app.agent.policy.arguments import judge_arguments
from app.agent.policy.judgements import Rule
from app.agent.policy.policy import Policy
from app.agent.policy.scope import NO_SCOPE
from app.records.record_library import RecordLibrary
from app.records.types import NoRecords, Records
from app.settings import PolicySettings
from app.tools.api import Approval, ToolFailed, ToolResult, ToolRetry
from app.tools.record import file_readers, generated_analysis
from app.tools.record.analysis_primitives import FUNCTIONS
from app.tools.record.generated_analysis import MOST_CODE, SPEC, AnalysisInput, GeneratedAnalysis
from app.tools.sandbox import sandbox as sandbox_module
from app.tools.sandbox.jobs import Limits
from tests.support.made_record import MadeRecords
from tests.unit.records.record_files import BUNDLES
from tests.unit.tools.support import Bench, NoHost, gradient, write_dicom

needs_bundles = pytest.mark.skipif(
    not BUNDLES.is_dir(), reason="needs ../shared/data/records beside the repository"
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def run(bench: Bench, code: str, records: Records | None = None, **arguments: Any) -> ToolResult:
    context = replace(bench.context(), records=records or MadeRecords())
    return GeneratedAnalysis().run(AnalysisInput(code=code, **arguments), context)


def test_the_code_reads_patients_and_their_entries(bench: Bench):
    done = run(
        bench,
        "def analyze():\n"
        "    found = {}\n"
        "    for pid in get_patients():\n"
        "        labs = get_labs(pid, code='2160-0', since='2025')\n"
        "        found[pid] = {'creatinine': [(x['value']['number'], x['value']['unit'],\n"
        "                                      x['start']) for x in labs],\n"
        "                      'conditions': [x['name'] for x in get_conditions(pid)],\n"
        "                      'born': get_demographics(pid)['birth_date']}\n"
        "    pressure = get_vital_signs('anna', code='8480-6')[0]\n"
        "    found['systolic'] = pressure['components'][0]['value']['number']\n"
        "    return found\n",
    )
    assert done.output["result"] == {
        "anna": {
            "creatinine": [
                [1.4, "mg/dL", "2026-03-02T08:00:00+01:00"],
                [1.0, "mg/dL", "2025-03-02T08:00:00+01:00"],
            ],
            "conditions": ["Acute bronchitis", "Diabetes mellitus type 2"],
            "born": "1950-06-15",
        },
        "bert": {"creatinine": [], "conditions": [], "born": "1961"},
        "systolic": 151.0,
    }
    assert done.summary == (
        "The analysis ran over 2 patients and 7 entries, and returned 3 values."
    )
    assert done.metadata["sandbox"] in ("bubblewrap", "Landlock and seccomp", "sandbox-exec")
    assert list(bench.out.iterdir()) == []  # nothing of the record is left


def test_what_a_killed_program_left_is_removed(bench: Bench):
    left = bench.out / "generated-analysis-x" / "input" / "data"
    left.mkdir(parents=True)
    (left / "record.sqlite").write_bytes(b"a copy of the record")
    (bench.out / "table.csv").touch()
    run(bench, "def analyze(): return {}")
    assert [one.name for one in bench.out.iterdir()] == ["table.csv"]


def test_a_whole_patient_and_each_getter(bench: Bench):
    names = sorted(name for name in FUNCTIONS if name.startswith("get_") and "dicom" not in name)
    names = [name for name in names if name not in ("get_patients", "get_entries")]
    calls = ", ".join(f"'{name}': {name}('anna')" for name in names)
    done = run(
        bench,
        f"def analyze():\n    return {{'whole': load_patient('anna'), 'all': get_entries('anna'), "
        f"'parts': {{{calls}}}}}",
    )
    found = done.output["result"]
    assert {k: len(v) for k, v in found["whole"]["entries"].items()} == Counter(
        one["kind"] for one in found["all"]
    )
    assert len(found["all"]) == 10
    assert [one["name"] for one in found["parts"]["get_medications"]] == [
        "Metformin 500 MG Oral Tablet"
    ]
    assert found["parts"]["get_notes"][0]["text"].startswith("Cough for three weeks.")
    assert len(found["parts"]["get_observations"]) == 5


def test_only_so_many_patients_are_given(bench: Bench):
    code = "def analyze(): return {'ids': get_patients()}"
    done = run(bench, code, patient_limit=1)
    assert done.output["result"] == {"ids": ["anna"]}
    assert done.output["notes"] == ["Only the first 1 of 2 patients were given."]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def analyze(): return {'x': get_labs('nobody')}", "there is no patient 'nobody'"),
        ("def analyze(): return get_entries('anna', 'hobby')", "no entries of the kind 'hobby'"),
        (
            "def analyze(): return {'x': globals()['get_' + 'notes']('anna')}",
            "no entries of the kind 'note' were given",
        ),
        ("def analyze(): return {'x': get_dicom_metadata_from_path('image-9')}", "'image-9'"),
    ],
)
def test_what_the_code_does_wrong_is_told_with_its_own_line(bench: Bench, code: str, told: str):
    with pytest.raises(ToolRetry) as failed:
        run(bench, code)
    assert told in failed.value.reason
    assert 'File "<analysis>", line 1, in analyze' in failed.value.reason
    assert "analysis_primitives" not in failed.value.reason


def test_what_it_printed_comes_with_its_error(bench: Bench):
    with pytest.raises(ToolRetry, match="KeyError: 'x'\nIt printed:\nseen"):
        run(bench, "def analyze():\n    print('seen')\n    return {}['x']")


def test_a_job_that_is_stopped_says_why(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(generated_analysis, "LIMITS", Limits(seconds=0.4))
    with pytest.raises(ToolRetry) as failed:
        run(bench, "def analyze():\n    while True: pass")
    assert failed.value.reason == "The analysis was stopped: it took longer than 0.4 s"


def test_without_a_sandbox_the_code_does_not_run(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sandbox_module, "_found", [])
    monkeypatch.setattr(sandbox_module, "candidates", tuple)
    with pytest.raises(ToolFailed, match="Generated code cannot run on this computer"):
        run(bench, "def analyze(): return {}")


def test_without_a_record_or_image_there_is_nothing_to_analyse(bench: Bench):
    with pytest.raises(ToolRetry, match="nothing to analyse"):
        run(bench, "def analyze(): return {}", NoRecords())


# -- images


@pytest.fixture
def film(bench: Bench, tmp_path: Path) -> Path:
    """Anna's CT slice, in HU by its rescale, with one pixel of padding."""
    pixels = gradient()
    pixels[0, 0] = 0
    path = write_dicom(
        tmp_path / "ct.dcm",
        pixels,
        PatientID="4711",
        PatientName="Roth^Anna",
        PatientBirthDate="19500615",
        PatientSex="F",
        Modality="CT",
        RescaleSlope="2",
        RescaleIntercept="-1024",
        PixelPaddingValue=0,
        StudyDescription="Thorax",
    )
    bench.open(path)
    return path


def test_the_vision_functions_of_the_seed(bench: Bench, film: Path):
    done = run(
        bench,
        "def analyze():\n"
        "    found = []\n"
        "    for pid in get_patients(10):\n"
        "        images = find_patient_images(pid)\n"
        "        if images['dicom_count'] > 0:\n"
        "            found.append({'patient': pid, 'image': load_dicom_image(pid, 0),\n"
        "                          'modality': get_dicom_metadata(pid, 0)['modality'],\n"
        "                          'size': len(load_dicom_image(pid)),\n"
        "                          'path': get_dicom_metadata_from_path(\n"
        "                              images['dicom_files'][0])})\n"
        "    return {'imaging_results': found, 'scan': scan_dicom_directory(),\n"
        "            'none': load_dicom_image('bert'), 'empty': get_dicom_metadata('bert')}\n",
    )
    found = done.output["result"]
    first = found["imaging_results"][0]
    # The picture goes to a tool that looks at it by its name, not as text to the model.
    assert first["image"] == {"picture": "image-1"}
    assert (first["patient"], first["modality"]) == ("anna", "CT")
    assert first["path"]["dimensions"] == [1, 40, 30]
    assert first["path"]["study_description"] == "Thorax"
    assert first["size"] > 100
    assert found["scan"]["modality"] == {"CT": 1}
    assert found["scan"]["files"] == ["image-1"]
    assert (found["none"], found["empty"]) == (None, {})
    assert len(found["imaging_results"]) == 1


def test_a_picture_is_what_the_viewer_shows(bench: Bench, film: Path):
    done = run(
        bench,
        "def analyze():\n    text = load_dicom_image('anna')\n"
        "    return {'halves': [text[:100], text[100:]]}\n",
    )
    picture = Image.open(io.BytesIO(base64.b64decode("".join(done.output["result"]["halves"]))))
    assert np.array_equal(np.asarray(picture), bench.images.resolve("image-1").display)


def test_values_are_those_of_the_file_in_its_units(bench: Bench, film: Path):
    done = run(
        bench,
        "def analyze():\n    values = load_image_values('image-1')\n"
        "    return {'statistics': image_statistics('image-1'), 'row': values[3],\n"
        "            'missing': np.isnan(values).sum()}\n",
    )
    dataset = pydicom.dcmread(film)
    expected = dataset.pixel_array.astype(float) * 2 - 1024
    kept = expected[dataset.pixel_array != 0]
    found = done.output["result"]
    assert found["row"] == expected[3].tolist()
    assert found["missing"] == expected.size - kept.size == 1
    assert found["statistics"] == pytest.approx(
        {
            "minimum": kept.min(),
            "maximum": kept.max(),
            "mean": kept.mean(),
            "std": kept.std(),
            "median": np.median(kept),
            "p5": np.percentile(kept, 5),
            "p95": np.percentile(kept, 95),
        }
    )


def test_an_image_that_contradicts_the_record_is_nobody_s(bench: Bench, tmp_path: Path):
    # The patient's ID, and another date of birth.
    other = {"PatientID": "4711", "PatientBirthDate": "19700101"}
    bench.open(write_dicom(tmp_path / "a.dcm", gradient(), **other))
    done = run(
        bench,
        "def analyze():\n    return {'anna': find_patient_images('anna')['dicom_count'],\n"
        "            'all': scan_dicom_directory()['total_files']}\n",
    )
    assert done.output["result"] == {"anna": 0, "all": 1}


class Here(NoHost):
    """Reads files in this process: they are our own."""

    def call(self, entry: str, payload: Any, **_: Any) -> dict[str, Any]:
        return getattr(file_readers, entry.partition(":")[2])(payload)


def test_images_and_ecgs_of_the_data_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "dicom"
    folder.mkdir()
    write_dicom(folder / "Anna_Roth[1].dcm", gradient(), PatientID="4711", PatientBirthDate="")
    (folder / "damaged.dcm").write_bytes(b"no DICOM")
    monkeypatch.setenv("COHERENT_DICOM_PATH", str(folder))
    done = run(
        Bench(tmp_path, Here()),
        "def analyze():\n    images = find_patient_images('anna')\n"
        "    return {'images': images,\n"
        "            'mean': image_statistics(images['dicom_files'][0])['mean'],\n"
        "            'ecg': analyze_ecg_for_rhythm('anna')['ecg_available'],\n"
        "            'no': load_ecg_image('anna'), 'picture': load_dicom_image('anna')}\n",
    )
    found = done.output["result"]
    assert found["images"]["dicom_count"] == 1
    (name,) = found["images"]["dicom_files"]
    assert found["picture"] == {"picture": name}
    assert found["mean"] == pytest.approx(gradient().mean(), rel=1e-6)
    assert (found["ecg"], found["no"]) == (False, None)
    assert done.output["notes"] == ["1 DICOM files cannot be read."]


class Elsewhere:
    """A model on another machine."""

    name, sees, remote = "far", False, True

    def ask(self, prompt: str, *, system: str = "", images: Sequence[str] = ()) -> str:
        raise AssertionError("it was asked")


def test_code_of_a_remote_model_is_given_nothing_that_it_could_send_as_numbers(
    bench: Bench, film: Path
):
    code = (
        "import os, pathlib\n"
        "def analyze():\n"
        "    texts = [p.read_bytes() for p in pathlib.Path('..', 'input', 'data').rglob('*')\n"
        "             if p.is_file()]\n"
        "    numbers = [list(text) for text in texts]\n"
        "    [get_notes(p) for p in get_patients()], load_dicom_image('anna')\n"
        "    # find_patient_images load_image_values image_statistics load_patient\n"
        "    return {'size': len(texts), 'data': [sum(numbers, [])[i:i+60000] for i in\n"
        "            range(0, sum(map(len, texts)), 60000)],\n"
        "            'labs': [x['value']['number'] for x in get_labs('anna')],\n"
        "            'picture': load_dicom_image('anna'), 'who': get_demographics('anna'),\n"
        "            'max': image_statistics('image-1')['maximum']}\n"
    )
    context = replace(bench.context(), records=MadeRecords(), model=Elsewhere())
    done = GeneratedAnalysis().run(AnalysisInput(code=code), context)
    found = done.output["result"]
    data = bytes(number for part in found["data"] for number in part)
    assert found["labs"] == [1.4, 1.0, 0.9]
    assert found["max"] == 4095 * 2 - 1024
    assert b"Creatinine" in data
    for text in (b"Roth", b"4711", b"0815", b"Lindenweg", b"1950-06", b"Cough", b"twice a day"):
        assert text not in data, text
    assert b"PNG" not in data
    assert gradient()[3].tobytes() not in data
    assert found["picture"] == {"picture": "image-1"}
    assert found["who"] == {
        "id": "anna", "name": "", "birth_date": "1950", "gender": "female", "deceased": "",
        "identifiers": [], "details": {},
    }  # fmt: skip
    assert "another machine" in done.output["notes"][-1]
    here = run(bench, "def analyze(): return {'who': get_demographics('anna')['name']}")
    assert here.output["result"] == {"who": "Anna Roth"}


# -- asking


def test_code_may_name_paths_and_code_systems_and_is_asked_about():
    code = (
        "import os\ndef analyze():\n    return {'x': get_conditions('a', code='http://snomed.info/"
        "sct'), 'y': open('/etc/passwd').read(), 'z': '../up ~/x'}\n"
    )
    arguments = {"code": code, "description": "See https://loinc.org/2160-0", "patient_limit": 5}
    assert SPEC.approval is Approval.EXECUTE
    assert judge_arguments(SPEC, arguments, NO_SCOPE, PolicySettings()).rule is Rule.ALLOW
    assert Policy.standard().judge(SPEC, arguments).rule is Rule.ASK


def test_other_tools_that_execute_may_still_name_no_address():
    other = replace(SPEC, paths={})
    arguments = {"code": "http://example.org/x", "description": ""}
    assert judge_arguments(other, arguments, NO_SCOPE, PolicySettings()).rule is Rule.DENY


def test_the_longest_code_is_shown_whole():
    lines = ("x" * 38 + "\n") * (MOST_CODE // 39)
    assert len(shown_arguments({"code": lines, "description": ""})) < LONGEST_SHOWN
    with pytest.raises(ValueError, match="at most"):
        AnalysisInput(code="x" * (MOST_CODE + 1))


# -- real records


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecordLibrary]:
    opened = RecordLibrary(tmp_path_factory.mktemp("index"), workers=2)
    opened.open([BUNDLES])
    yield opened
    opened.close()


@needs_bundles
def test_figures_over_the_twelve_records_equal_a_plain_walk(bench: Bench, library: RecordLibrary):
    done = run(
        bench,
        "def analyze():\n"
        "    conditions, weights = {}, {}\n"
        "    for pid in get_patients():\n"
        "        for one in get_conditions(pid):\n"
        "            conditions.setdefault(one['name'], set()).add(pid)\n"
        "        values = [x['value']['number'] for x in get_vital_signs(pid, code='29463-7')]\n"
        "        weights[pid] = [len(values), np.mean(values) if values else None]\n"
        "    return {'conditions': {k: len(v) for k, v in conditions.items()}, 'w': weights}\n",
        library,
    )
    conditions: Counter[str] = Counter()
    weights: dict[str, list[Any]] = {}
    for path in BUNDLES.glob("*.json"):
        resources = [one["resource"] for one in json.loads(path.read_text())["entry"]]
        patient = next(one["id"] for one in resources if one["resourceType"] == "Patient")
        conditions.update(
            {one["code"]["text"] for one in resources if one["resourceType"] == "Condition"}
        )
        values = [
            one["valueQuantity"]["value"]
            for one in resources
            if one["resourceType"] == "Observation"
            and "29463-7" in [code["code"] for code in one["code"]["coding"]]
        ]
        weights[patient] = [len(values), statistics.fmean(values) if values else None]
    assert done.output["result"]["conditions"] == dict(conditions)
    assert sum(count for count, _ in weights.values()) > 40
    for patient, (count, mean) in weights.items():
        assert done.output["result"]["w"][patient] == [count, pytest.approx(mean)]
