"""The second layout of a figure: panels below one another, one legend below them, nothing wider than the figure."""

import pytest
from matplotlib.lines import Line2D

from tfm_lib.drawing.display import figure, show, svg_text
from tfm_lib.drawing.phone import NARROW, narrow

LONG = "the very long name of some arm of a trial"


def drawn(cols: int):
    fig, axes = figure(1, cols, width=7, height=2.6, sharey=True, squeeze=False)
    for k, ax in enumerate(axes[0]):
        ax.plot([0, 1], [0, k], label="a line")
        ax.plot([0, 1], [1, k], label=f"another one, the {k}th")
        ax.set(title=f"panel {k}", yticks=[0, 1], yticklabels=["short", LONG if cols < 4 else "long"])
        ax.legend()
    axes[0][cols // 2].set_xlabel("a label of all panels together, longer than one line")
    return fig, list(axes[0])


@pytest.mark.parametrize(("cols", "columns"), [(1, 1), (2, 1), (3, 1), (4, 2), (6, 3)])
def test_panels_stand_below_one_another(cols, columns):
    fig, axes = drawn(cols)
    narrow(fig)
    fig.draw_without_rendering()
    assert fig.get_figwidth() == NARROW
    boxes = [ax.get_position() for ax in axes]
    assert len({round(box.x0, 2) for box in boxes}) == columns
    assert all(upper.y0 > lower.y1 for upper, lower in zip(boxes, boxes[columns:]))


def test_panels_keep_their_reading_order_whichever_was_drawn_first():
    fig, axes = figure(2, 2, width=7, squeeze=False)
    first, second = axes[0]
    for ax in (first, second):
        ax.remove()
    late = fig.add_subplot(axes[1][0].get_gridspec()[0, 0])
    narrow(fig)
    fig.draw_without_rendering()
    assert late.get_position().y0 > axes[1][0].get_position().y1


def test_a_panel_that_stays_empty_takes_no_room():
    heights = []
    for off in (False, True):
        fig, axes = figure(1, 2, width=7)
        if off:
            axes[1].axis("off")
        narrow(fig)
        heights.append(fig.get_figheight())
    assert heights[1] < 0.6 * heights[0]


def test_a_legend_and_long_words_find_their_place():
    fig, axes = drawn(2)
    narrow(fig)
    fig.draw_without_rendering()
    assert not any(ax.get_legend() for ax in axes)
    (legend,) = fig.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "a line",
        "another one, the 0th",
        "another one, the 1th",
    ]
    assert legend.get_window_extent().y1 < min(ax.get_window_extent().y0 for ax in axes)
    assert [bool(ax.get_xlabel()) for ax in axes] == [False, True] and "\n" in axes[1].get_xlabel()
    names = [label for ax in axes for label in ax.get_yticklabels()]
    assert len(names) == 4 and all(label.get_visible() for label in names)
    texts = [*names, axes[1].xaxis.label]
    assert all(text.get_window_extent().x0 >= 0 and text.get_window_extent().x1 <= fig.bbox.x1 for text in texts)


def test_both_layouts_are_shown_and_one_is_hidden_where_no_style_sheet_chooses():
    fig, _ = drawn(2)
    text = show(fig, alt="two").data
    assert text.count("<svg") == 2 and text.count('class="tfm-narrow" style="display: none"') == 1


def test_a_power_of_ten_stays_whole_and_a_line_keeps_its_look():
    fig, ax = figure(width=6)
    ax.errorbar([0, 1], [1e-3, 1e9], yerr=[0, 0], fmt="o:", label="dotted")
    ax.set_yscale("log")
    ax.legend()
    narrow(fig)
    fig.draw_without_rendering()
    assert not any("\n" in label.get_text() for label in ax.get_yticklabels())
    (legend,) = fig.legends
    assert ":" in {line.get_linestyle() for line in legend.findobj(Line2D)}


@pytest.mark.parametrize(("top", "ticks"), [(100, ["10⁻¹", "10⁰", "10¹", "10²"]), (0.7, ["2·10⁻¹", "6·10⁻¹"])])
def test_ticks_of_a_log_axis_are_text_in_the_type_of_the_page(top, ticks):
    fig, ax = figure()
    ax.plot([0, 1], [0.15, top])
    ax.set(yscale="log", xticks=[], ylim=(0.1, top))
    for svg in (svg_text(fig), svg_text(fig)):
        assert "tspan" not in svg and [f">{tick}</text>" in svg for tick in ticks] == [True] * len(ticks)
