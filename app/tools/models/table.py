"""The table of models in the documentation, from the cards."""

from __future__ import annotations

from collections.abc import Iterable

from app import paths
from app.tools.models.cards import ModelCard, cards


def table(known: Iterable[ModelCard] | None = None) -> str:
    """Markdown: one row a model.

    Args:
        known: The cards; by default the shipped ones.
    """
    head = (
        "| model | tools | from | size | licence | terms | code | tried here |",
        "|---|---|---|---|---|---|---|---|",
    )
    rows = (_row(card) for card in (cards().values() if known is None else known))
    return "\n".join([*head, *rows])


def _row(card: ModelCard) -> str:
    if card.embedded:
        source = "shipped"
    elif card.repository:
        pinned = f" at `{card.revision[:12]}`" if card.revision else ""
        source = f"[{card.repository}](https://huggingface.co/{card.repository}){pinned}"
    else:
        source = f"[{card.url.partition('://')[2]}]({card.url})" if card.url else ""
    cells = (
        f"`{card.name}`<br>{card.title}",
        ", ".join(f"`{tool}`" for tool in card.tools),
        source,
        _size(card),
        card.licence,
        ("to accept, gated" if card.gated else "to accept") if card.terms else "none",
        "after a yes" if card.trust_remote_code else "none",
        card.tried,
    )
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _size(card: ModelCard) -> str:
    size = card.size
    if card.embedded:
        folder = paths.resources_dir() / "models" / card.name
        size = sum((folder / file.name).stat().st_size for file in card.files)
    if not size:
        return "not known"
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
