"""Style sheet of the chat, made from the tokens of the theme."""

from __future__ import annotations

from dataclasses import asdict
from string import Template

from app.views.theme import SPACE, THEME, TYPE

_SHEET = Template("""
#chatDock, #chatBody, #chatHeader, #chatFooter { background: ${panel}; }
#chatHeader { border-bottom: 1px solid ${border}; }
#chatScroll, #chatScroll > QWidget { background: ${panel}; border: none; }

QTextBrowser#chatText {
    background: transparent; border: none; padding: 0; border-radius: 0;
    selection-background-color: ${accent}; selection-color: ${accent_text};
}
QTextBrowser#chatText:focus { border: none; }
QTextBrowser#chatText[tone="muted"] { color: ${text_muted}; font-size: ${label}px; }
QTextBrowser#chatText[tone="error"] { color: ${text}; }
QTextBrowser#chatText[tone="warning"] { color: ${warning}; font-size: ${label}px; }
QTextBrowser#chatText[tone="mono"] {
    font-family: "${mono}", "DejaVu Sans Mono", monospace; font-size: ${caption}px;
    color: ${text_muted}; background: ${panel}; border: 1px solid ${border};
    border-radius: ${radius_small}px; padding: 6px 8px;
}
QTextBrowser#chatText[tone="mono"]:focus { border-color: ${accent}; }

QFrame#chatBubble { background: ${selected}; border-radius: 12px; border: none; }
QFrame#chatCard { background: ${raised}; border: 1px solid ${border}; border-radius: ${radius}px; }
QFrame#chatCard[state="failed"] { border-left: 3px solid ${error}; }
QFrame#chatCard[state="approval"] { border: 1px solid ${warning}; }
QDialog#chatConsent QScrollArea, QDialog#chatConsent QScrollArea > QWidget > QWidget {
    background: transparent; border: none;
}
QFrame#chatTouched { background: ${panel}; border: 1px solid ${border};
    border-left: 3px solid ${warning}; border-radius: ${radius_small}px; }
QTextBrowser#chatText[tone="place"] {
    font-family: "${mono}", "DejaVu Sans Mono", monospace; font-size: ${label}px; color: ${text};
}
QLabel#chatNumber { color: ${accent}; font-weight: 600; }
QFrame#chatCard[cited="true"] { border: 1px solid ${accent}; }
QFrame#chatNotice { background: ${raised}; border: 1px solid ${border};
    border-left: 3px solid ${error}; border-radius: ${radius}px; }
QFrame#chatNotice[tone="warning"] { border-left: 3px solid ${warning}; }
QFrame#chatNotice[tone="muted"], QFrame#chatNotice[tone="done"] {
    background: transparent; border: none;
}
QTextBrowser#chatText[tone="thinking"] {
    color: ${text_muted}; font-size: ${label}px; border: none;
    border-left: 2px solid ${border}; padding: 0 0 0 10px;
}
QTextBrowser#chatText[tone="thinking"]:focus { border: none; border-left: 2px solid ${accent}; }

QPushButton#chatLink {
    background: transparent; border: 1px solid transparent; border-radius: 4px;
    padding: 2px 5px 2px 0; color: ${text_muted}; font-size: ${caption}px; font-weight: 500;
    text-align: left;
}
QPushButton#chatBadge {
    background: ${raised}; border: 1px solid ${border}; border-radius: 10px;
    padding: 2px 9px 2px 7px; color: ${text_muted}; font-size: ${caption}px; font-weight: 500;
}
QPushButton#chatLink:hover, QPushButton#chatBadge:hover {
    color: ${text}; background: ${hover};
}
QPushButton#chatSuggestion {
    background: ${raised}; border: 1px solid ${border}; border-radius: ${radius}px;
    padding: 10px 12px; text-align: left; font-weight: 400;
}
QPushButton#chatSuggestion:hover { background: ${hover}; border-color: ${text_faint}; }
QPushButton#chatJump {
    background: ${raised}; border: 1px solid ${border}; border-radius: 15px; padding: 0;
}
QPushButton#chatJump:hover { background: ${hover}; }
QPushButton#chatLink:focus, QPushButton#chatBadge:focus, QPushButton#chatSuggestion:focus,
QPushButton#chatJump:focus { border-color: ${accent}; }

QProgressBar#chatProgress { background: ${border}; border: none; border-radius: 1px; }
QProgressBar#chatProgress::chunk { background: ${accent}; border-radius: 1px; }

QFrame#chatComposer { background: ${raised}; border: 1px solid ${border}; border-radius: 10px; }
QFrame#chatComposer[focused="true"] { border-color: ${accent}; }
QPlainTextEdit#chatInput {
    background: transparent; border: none; padding: 0; border-radius: 0;
}
QPushButton#chatSend, QPushButton#chatStop {
    border-radius: 8px; padding: 0; min-width: 32px; max-width: 32px; min-height: 32px;
    max-height: 32px;
}
QPushButton#chatSend { background: ${accent}; border: 1px solid ${accent}; }
QPushButton#chatSend:hover { background: ${accent_hover}; border-color: ${accent_hover}; }
QPushButton#chatSend:focus { border-color: ${text}; }
QPushButton#chatSend:disabled { background: ${hover}; border-color: ${hover}; }
QPushButton#chatStop { background: ${hover}; border: 1px solid ${text_faint}; }
QPushButton#chatStop:hover { border-color: ${error}; }
QPushButton#chatStop[stopping="after_tool"] { border: 1px dashed ${warning}; }
QToolButton#chatStopMore {
    border: none; border-radius: 6px; padding: 0; min-width: 16px; max-width: 16px;
    min-height: 32px; max-height: 32px;
}
QToolButton#chatStopMore:focus { border: 1px solid ${accent}; }
QPushButton#chatStop:focus { border-color: ${accent}; }
QFrame#chatPending {
    background: transparent; border: 1px dashed ${border}; border-radius: ${radius}px;
}
""")


def sheet() -> str:
    """Return the chat's Qt style sheet with the theme's colours and sizes filled in."""
    return _SHEET.substitute(asdict(THEME) | asdict(TYPE) | asdict(SPACE))
