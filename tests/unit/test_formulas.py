"""Formulas become characters, and amounts of money do not."""

from __future__ import annotations

import re

import pytest

from app.agent.answers.evidence import FORMULA
from app.views.chat.formulas import unicode_formula
from app.views.chat.markdown import plain_text


@pytest.mark.parametrize(
    ("tex", "shown"),
    [
        (r"A_1 = \frac{\pi r^2}{2}", "A₁ = (π r²)/2"),
        (r"\mathrm{SUV}_{bw} = \frac{C(t)}{D / m}", "SUV_bw = C(t)/(D / m)"),
        (r"\text{CTR} = \frac{a + b}{c} \leq 0.5", "CTR = (a + b)/c ≤ 0.5"),
        (r"\bar{x} \pm 1.96\,\sigma/\sqrt{n}", "x̄ ± 1.96 σ/√n"),
        (r"10^{-3}\,\text{mm}^2/\text{s}", "10⁻³ mm²/s"),
        (r"37\,^\circ\text{C}", "37 °C"),
        (r"\frac{\frac{a}{b}}{c}", "(a/b)/c"),
        (r"e^{-\lambda t}", "e^(−λ t)"),
        (r"D = 2\cdot\frac{TP}{2TP+FP+FN}", "D = 2·TP/(2TP+FP+FN)"),
        (r"x_{\text{max}} = \sqrt[3]{a+1}", "xₘₐₓ = ∛(a+1)"),
        (r"\left( \ln 2 \right)", "( ln 2 )"),
        (r"\nosuchthing{x}", r"\nosuchthingx"),
        ("{" * 3000, ""),
    ],
)
def test_a_formula_is_written_in_characters(tex: str, shown: str):
    assert unicode_formula(tex) == shown


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("costs $5 and $10", []),
        ("US$ 5 and US$ 6", []),
        ("$HOME/bin:$PATH", []),
        ("from $5 to $10 or 20$", []),
        ("the $x$-axis", ["$x$"]),
        ("$x^2$ and $5 < y$", ["$x^2$", "$5 < y$"]),
        (r"\(a\) and \[b\]", [r"\(a\)", r"\[b\]"]),
        ("$$a+b$$", ["$$a+b$$"]),
        (r"price \$x$", []),
    ],
)
def test_what_is_a_formula(text: str, found: list[str]):
    assert [one[0] for one in re.finditer(FORMULA, text)] == found


def test_markdown_becomes_plain_text():
    text = "## Head\n- **bold** `code` $x^2$ [1]\n  1. in\n\n| a | b |\n|---|---|\n| 1 | **2** |"
    assert plain_text(text) == "Head\n• bold code x² [1]\n  1. in\n\na\tb\n1\t2"
    assert plain_text("```py\n| a | $b$\n```\n$$\nr^2\n$$") == "| a | $b$\nr²"
