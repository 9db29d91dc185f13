"""The style sheet of the settings window, with the theme's colours and sizes."""

from __future__ import annotations

from dataclasses import asdict
from string import Template

from app.views.theme import SPACE, THEME, TYPE

_SHEET = Template("""
#settingsDialog { background: ${panel}; }
#settingsPage, #settingsDialog QScrollArea { background: ${panel}; border: none; }
#settingsFoot { background: ${panel}; border-top: 1px solid ${border}; }
QListWidget#settingsList {
    background: ${window}; border: none; border-right: 1px solid ${border}; padding: 10px 8px;
}
QListWidget#settingsList::item {
    padding: 9px 10px; border-radius: ${radius_small}px; color: ${text_muted};
}
QListWidget#settingsList::item:hover { background: ${hover}; }
QListWidget#settingsList::item:selected { background: ${selected}; color: ${text}; }
QListWidget#settingsList::item:selected:focus { border: 1px solid ${accent}; padding: 8px 9px; }
#settingsDialog QComboBox { padding-right: 26px; }
#settingsDialog QSpinBox, #settingsDialog QDoubleSpinBox { padding: 0 26px 0 0; }
#settingsDialog QAbstractSpinBox:hover { border-color: ${text_faint}; }
#settingsDialog QAbstractSpinBox:focus { border-color: ${accent}; }
#settingsDialog QAbstractSpinBox::up-button, #settingsDialog QAbstractSpinBox::down-button {
    subcontrol-origin: border; width: 26px; border: none; background: transparent;
}
#settingsDialog QAbstractSpinBox::up-button { subcontrol-position: top right; }
#settingsDialog QAbstractSpinBox::down-button { subcontrol-position: bottom right; }
#settingsDialog QAbstractSpinBox::up-button:hover,
#settingsDialog QAbstractSpinBox::down-button:hover { background: ${hover}; }
#settingsDialog QCheckBox { spacing: 8px; }
#settingsDialog QCheckBox::indicator {
    width: 14px; height: 14px; border: 1px solid ${text_faint}; border-radius: 4px;
    background: ${window};
}
#settingsDialog QCheckBox::indicator:checked { background: ${accent}; border-color: ${accent}; }
#settingsDialog QCheckBox:focus { color: ${accent_hover}; }
#settingsDialog QCheckBox::indicator:focus { border-color: ${accent_hover}; }
#settingsDialog QPushButton[primary="true"]:disabled {
    background: ${hover}; color: ${text_faint}; border-color: ${border};
}
QTextBrowser#chatText {
    background: transparent; border: none; padding: 0; border-radius: 0;
    selection-background-color: ${accent}; selection-color: ${accent_text};
}
QTextBrowser#chatText[tone="muted"] { color: ${text_muted}; }
QTextBrowser#chatText[tone="ok"] { color: ${ok}; }
QTextBrowser#chatText[tone="error"] { color: ${error}; }
""")


def style_sheet() -> str:
    """Return the style sheet of the settings dialog, used by the models window too."""
    return _SHEET.substitute(asdict(THEME) | asdict(TYPE) | asdict(SPACE))
