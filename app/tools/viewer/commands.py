"""The commands of the window's menus that a tool may use, by words.

The window has one table of commands, from which its menus, keys and palette are made
(`views.menu_bar.MainActions`, named by `shortcuts.names_of`). Here are those of them that the
assistant may give; a test holds that each is there, and that every other one is left out on
purpose.
"""

from __future__ import annotations

COMMANDS: dict[str, str] = {
    "invert": "invert",
    "not inverted": "invert",
    "reset view": "reset",
    "fit to window": "fit",
    "actual pixels": "one_to_one",
    "true size": "true_size",
    "zoom in": "zoom_in",
    "zoom out": "zoom_out",
    "flip left-right": "flip_h",
    "flip top-bottom": "flip_v",
    "not flipped": "flip_h",
    "rotate left": "turn_left",
    "rotate right": "turn_right",
    "plane axial": "plane_menu.choices.axial",
    "plane coronal": "plane_menu.choices.coronal",
    "plane sagittal": "plane_menu.choices.sagittal",
    "plane as acquired": "plane_menu.choices.acquired",
    "next series": "next_series",
    "previous series": "previous_series",
    "mark as key image": "key_image",
    "not a key image": "key_image",
    "next key image": "next_key",
    "previous key image": "previous_key",
    "play cine everywhere": "play_all",
    "faster cine": "faster",
    "slower cine": "slower",
    "next time point": "next_time",
    "previous time point": "previous_time",
    "next channel": "next_channel",
    "previous channel": "previous_channel",
    "channels together": "together",
    "link scrolling": "link_menu.choices.scroll",
    "link windows": "link_menu.choices.window",
    "link zoom and pan": "link_menu.choices.view",
    "unlink scrolling": "link_menu.choices.scroll",
    "reference lines": "link_menu.choices.lines",
    "maximise viewport": "layout_menu.maximise",
    "close viewport": "layout_menu.close_one",
    "next viewport": "layout_menu.next",
    "second window": "layout_menu.second",
    "show heatmaps": "heat.switch",
    "histogram": "histogram",
    "magnifier": "magnify",
    "smooth pixels": "smooth",
    "colours grey": "colormaps.choices.",
    "colours hot iron": "colormaps.choices.hot iron",
    "colours rainbow": "colormaps.choices.turbo",
    "colours viridis": "colormaps.choices.viridis",
    "full screen": "full_screen",
    "show panels": "panels",
    "hide panels": "panels",
    "panel studies": "dock.Studies",
    "panel attributes": "dock.Attributes",
    "panel findings": "dock.Findings",
    "panel layers": "dock.Layers",
    "panel record": "dock.Record",
    "panel diagnosis": "dock.Diagnosis",
    "panel report": "dock.Report",
    "measure a length": "ruler",
    "measure an angle": "angle",
    "measure two diameters": "bidirectional",
    "measure a Cobb angle": "cobb",
    "measure the cardiothoracic ratio": "cardiothoracic",
    "probe a value": "probe",
    "draw an arrow": "arrow",
    "draw an ellipse": "ellipse",
    "mark a box": "mark_box",
    "mark a point": "mark_point",
    "edit a mask": "brush",
    "original of edited findings": "review.originals",
    "keyboard and mouse": "shortcuts",
    "undo": "undo",
    "take back": "undo",
    "undo everything": "undo",
    "redo": "redo",
    "open files": "open_files",
    "open folder": "open_folder",
    "open patient record": "open_record",
    "export picture": "export_picture",
    "export movie": "export_movie",
    "export DICOM": "export_dicom",
    "export report": "export_report",
    "de-identified copy": "deidentify",
    "print": "print_picture",
    "copy picture": "copy_picture",
    "close study": "close_study",
    "close all studies": "close_all",
    "close patient record": "close_record",
    "settings": "open_settings",
    "models": "models",
    "audit log": "audit",
}
"""The window's name of each command, by the words that a tool's argument says."""

TEXTS = {"show image texts": "all", "hide names": "no names", "hide image texts": "none"}
"""Commands for the texts over the images, which F2 goes through."""

ASKED = (
    "undo",
    "take back",
    "undo everything",
    "redo",
    "open files",
    "open folder",
    "open patient record",
    "export picture",
    "export movie",
    "export DICOM",
    "export report",
    "de-identified copy",
    "print",
    "copy picture",
    "close study",
    "close all studies",
    "close patient record",
    "settings",
    "models",
    "audit log",
)
"""Commands that write, send, close or take back: a language model's are asked about."""

UNDOING = ("undo", "take back", "undo everything", "redo")
"""Commands for the steps on the undo stack."""

REPEATED = ("undo", "redo", "rotate", "zoom", "next", "previous", "faster", "slower")
"""How commands begin that can be given several times at once."""

IN_EACH = (
    "invert",
    "not inverted",
    "reset",
    "fit",
    "actual",
    "true size",
    "zoom",
    "flip",
    "not flipped",
    "rotate",
    "plane",
    "next series",
    "previous series",
    "mark as key image",
    "not a key image",
    "next key image",
    "previous key image",
    "faster",
    "slower",
    "next time",
    "previous time",
    "next channel",
    "previous channel",
    "channels",
    "colours",
)
"""Beginnings of the commands that are carried out in each of several viewports."""

OF_ONE = (
    "maximise viewport",
    "close viewport",
    "export picture",
    "export movie",
    "copy picture",
    "print",
    "histogram",
)
"""Commands that are given for one viewport only; all others are of the whole window."""

CLOSING = ("close study", "close all studies", "close patient record")
"""Commands that are asked about whoever gives them; a slip would cost what is open."""
