"""The table of weights that tools use: which file exactly, where it is published, its terms."""

from __future__ import annotations

from dataclasses import dataclass

_RELEASE = "https://github.com/mlmed/torchxrayvision/releases/download/v1/"


@dataclass(frozen=True, slots=True)
class WeightSpec:
    """A file of weights that a tool uses.

    Attributes:
        name: What `models get` and `Need` call it.
        title: For people.
        file_name: The published file's name, also its name in the models folder.
        sha256: Of the published file; "" for an embedded one, whose card has it.
        size: Of the published file, bytes.
        url: Where it is published; "" for an embedded one.
        licence: Terms of use.
        used_by: Names of the tools that use it.
        check: Entry that checks a file's structure in the model process, called with {"weights"}.
        embedded: It is shipped in the resources; nothing has to be installed.
    """

    name: str
    title: str
    file_name: str
    sha256: str
    size: int
    url: str
    licence: str
    used_by: tuple[str, ...]
    check: str = ""
    embedded: bool = False

    @property
    def file_names(self) -> tuple[str, ...]:
        """The published name first, then a safetensors conversion of the same tensors."""
        return (self.file_name, f"{self.name}.safetensors")


DENSENET = WeightSpec(
    name="densenet121-res224-all",
    title="torchxrayvision DenseNet-121, 18 findings",
    file_name=(
        "nih-pc-chex-mimic_ch-google-openi-kaggle-densenet121-d121-tw-lr001-rot45-tr15-sc15-"
        "seed0-best.pt"
    ),
    sha256="56524913dd16a906422e8d8b66a7a5c46be1d82eb7ac012d8103776f1aa68899",
    size=28_382_008,
    url=_RELEASE
    + "nih-pc-chex-mimic_ch-google-openi-kaggle-densenet121-d121-tw-lr001-rot45-tr15-sc15-"
    "seed0-best.pt",
    licence="Apache-2.0 (torchxrayvision); trained on data sets with terms of their own",
    used_by=("chest_xray_classifier",),
    check="app.tools.chest.densenet:check",
)
PSPNET = WeightSpec(
    name="pspnet-chestx-det",
    title="torchxrayvision PSPNet (ChestX-Det), 14 structures",
    file_name="pspnet_chestxray_best_model_4.pth",
    sha256="019b167eac6b729fc1bb92bbbc185fc1730aaa65819f4e3fe718186cadc044fc",
    size=272_988_989,
    url=_RELEASE + "pspnet_chestxray_best_model_4.pth",
    licence="Apache-2.0 (torchxrayvision, ChestX-Det); trained on NIH ChestX-ray14",
    used_by=("chest_xray_segmentation", "cardiothoracic_ratio"),
    check="app.tools.chest.psp_net:check",
)
THORAX_NET = WeightSpec(
    name="thorax-net",
    title="Sightline's embedded network: right lung, left lung, heart",
    file_name="thorax-net.safetensors",
    sha256="",
    size=0,
    url="",
    licence="Apache-2.0; trained on synthetic radiographs, see its card",
    used_by=("chest_xray_segmentation", "cardiothoracic_ratio"),
    embedded=True,
)
WEIGHTS: tuple[WeightSpec, ...] = (DENSENET, PSPNET, THORAX_NET)
