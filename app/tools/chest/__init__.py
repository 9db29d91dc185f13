"""The chest radiograph pack.

Importing it loads no torch, because models run in the model process.
"""

from __future__ import annotations

from app.tools.api import Registrar
from app.tools.chest.cardiothoracic import CardiothoracicRatio
from app.tools.chest.classifier import ChestXRayClassifier
from app.tools.chest.compare import ChestXRayCompare
from app.tools.chest.expert import ChestXRayExpert
from app.tools.chest.generator import ChestXRayGenerator
from app.tools.chest.grounding import XRayPhraseGrounding
from app.tools.chest.llava_med import LlavaMed
from app.tools.chest.medgemma import MedGemma
from app.tools.chest.medsam2_segment import MedSam2Segment
from app.tools.chest.plan import PLAN
from app.tools.chest.report import ChestXRayReportGenerator
from app.tools.chest.segmentation import ChestXRaySegmentation
from app.tools.chest.segmenter import Segmenter


def register(registry: Registrar) -> None:
    """Add the chest pack's tools and its plan (which says when they are used) to the registry."""
    segmenter = Segmenter()
    registry.register(ChestXRayClassifier())
    registry.register(ChestXRaySegmentation(segmenter))
    registry.register(CardiothoracicRatio(segmenter))
    registry.register(ChestXRayReportGenerator())
    registry.register(ChestXRayExpert())
    registry.register(LlavaMed())
    registry.register(MedGemma())
    registry.register(XRayPhraseGrounding())
    registry.register(ChestXRayCompare(segmenter))
    registry.register(MedSam2Segment())
    registry.register(ChestXRayGenerator())
    registry.plan(PLAN)
