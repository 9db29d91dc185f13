"""Names of the microscopy pack's tools, and those that document 002 of the seeds gives them."""

from __future__ import annotations

PREPROCESSOR = "image_preprocessor"
CELLS = "cell_segmenter"
NUCLEI = "nuclei_segmenter"
ORGANOIDS = "organoid_segmenter"
CROPPER = "single_cell_cropper"
ANALYZER = "cell_state_analyzer"
VISUALIZER = "analysis_visualizer"
CAPTIONER = "image_captioner"
INFO = "image_info"

SEGMENTERS = (CELLS, NUCLEI, ORGANOIDS)

OTHER_NAMES = {
    name: (f"{'_'.join(part.capitalize() for part in name.split('_'))}_Tool",)
    for name in (*(PREPROCESSOR, *SEGMENTERS, CROPPER, ANALYZER, VISUALIZER, CAPTIONER, INFO),)
}
"""Other names by which a model may call each tool: "Nuclei_Segmenter_Tool"."""
