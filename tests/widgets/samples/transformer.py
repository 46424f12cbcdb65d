"""Samples of the widgets of chapter `transformer`."""

import torch

from tfm_lib.transformer import Transformer, TransformerConfig
from tfm_lib.widgets.transformer import ACROSS, FAINT, ROW, Film, FollowToken, ModelSize
from widgets.picture_numbers import bars, cells, chosen, column, heading, points, rectangles, words
from widgets.samples import Sample

SRC, TGT = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 11, 12]])


def machine(norm: str = "post", dropout: float = 0.0) -> Transformer:
    model = Transformer(TransformerConfig(20, d_model=16, n_heads=4, d_ff=64, n_layers=2, dropout=dropout, norm=norm))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def follower(src_ids=SRC, tgt_ids=TGT, **arguments) -> FollowToken:
    return FollowToken(machine(), src_ids, tgt_ids, **arguments)


def follow_token_still(axes, widget):
    state = widget.model()
    m = len(state["src_tokens"])
    stages = state["encoder"] if state["word"] < m else state["decoder"]
    stage = stages[min(state["value"], len(stages) - 1)]
    rows = chosen(widget.rows(), layer=stage["layer"], step=stage["name"])
    yield bars(axes[0])[0], column(rows, "value")
    for drawn in points(axes[0])[1:]:  # after the line at 0
        yield drawn, column(rows, "number", "added")
    shares = [float(told.rsplit(" ", 1)[1]) for told in widget.readout().rsplit(": ", 1)[1].split(" · ")]
    yield bars(axes[1])[0][::-1], shares


def film_still(axes, widget):
    one = widget.model()["film"]["two" if widget.model()["swapped"] else "one"]
    yield sorted(words(axes[0])), sorted([*one["written"][1:-1], *one["words"][:-1]])
    shown = [weight for row in one["crossed"][:-1] for weight in row[:-1] if weight > FAINT]
    yield [line.get_linewidth() / 5 for line in axes[0].lines], shown
    yield bars(axes[1])[0], one["looks"]["first"]["weights"][one["focus"]]
    yield cells(axes[2]), one["heads"]
    yield cells(axes[3]), one["looks_back"]
    yield bars(axes[4])[0][::-1], [p for _, p in one["next"][one["step"]]]
    yield words(axes[5]).count(widget.model()["film"]["plain"]), 2


def film(widget):
    model = widget.model()
    one = model["film"]["two" if model["swapped"] else "one"]
    if model["depth"] == 2:  # the numbers of both vectors and their products, band after band
        caption = widget.box.locator(".tfm-film-caption").inner_text()
        look, (i, j) = one["looks"]["first"], map(int, model["pick"].split(".")[1:])
        dot = look["dots"][i][j]
        assert f"sum to {dot:.2f}.".replace("-", "−") in caption
        assert f"the weight is {look['weights'][i][j]:.2f}." in caption
    elif model["depth"] == 1:
        cells = widget.box.locator('[data-control="pick"] [role="gridcell"]').all_text_contents()
        assert cells == [f"{x:.2f}" for row in one["looks"]["first"]["weights"] for x in row]
    else:
        drawn = widget.box.locator(".tfm-film text").all_text_contents()
        assert set(one["words"][:-1]) <= set(drawn)


def model_size_still(axes, widget):
    rows = chosen(widget.rows(), what="parameters")
    shown = dict(zip([row["part"] for row in rows], column(rows, "number"), strict=True))
    machine, listed = axes
    yield sorted(1e6 * width for width in bars(listed)[0]), sorted(shown.values())
    areas: dict[str, float] = {}
    for each in rectangles(machine):
        areas[each.get_gid()] = areas.get(each.get_gid(), 0) + each.get_width() * each.get_height() / (ACROSS * ROW)
    yield (
        list(areas.values()),
        [
            shown[name]
            for name in (
                "words, E",
                "encoder attention",
                "encoder feed-forward",
                "decoder attention",
                "cross-attention",
                "decoder feed-forward",
            )
        ],
    )
    yield heading(listed), widget.readout().split(" · ")[0]


SAMPLES = {
    "film": Sample(
        code="Film()",
        change="value = 22",
        says="asks with a query",
        states=[{"swapped": True}, {"value": 20, "depth": 1}, {"value": 20, "depth": 2, "pick": "first.3.1"}],
        still=film_still,
        refused={
            "value must be from 0 to 600; it is -1.0": lambda: Film(value=-1),
            "depth must be one of 0, 1, 2; it is 3": lambda: Film(depth=3),
        },
    ),
    "follow_token": Sample(
        code="FollowToken(value=2)",
        change="word = 1",
        says="“6” of the source",
        states=[{"word": 1, "value": 2, "head": 1}, {"value": 0}, {"value": 8}],
        still=follow_token_still,
        refused={
            "value must be from 0 to 8; it is 99": lambda: follower(value=99),
            "word must be from 0 to 6; it is 7": lambda: follower(word=7),
            "head must be from 0 to 4; it is 5": lambda: follower(head=5),
            "number must be from 1 to 16; it is 0": lambda: follower(number=0),
            "src_ids must be one sentence, ids of shape (1, length); it has shape (2,)": lambda: follower(
                src_ids=torch.tensor([1, 2])
            ),
            "tgt_ids must be one sentence, ids of shape (1, length); it has shape (2, 3)": lambda: follower(
                tgt_ids=torch.ones(2, 3).long()
            ),
        },
    ),
    "model_size": Sample(
        code="ModelSize()",
        change="preset = 'big'",
        says="214,245,376 parameters",
        states=[{"preset": "translator"}, {"norm": "pre", "length": 900}],
        still=model_size_still,
        refused={
            "preset must be one of base, big, translator or own; it is 'huge'": lambda: ModelSize(preset="huge"),
            "value must be one of 64, 128, 256, 512, 1024, 2048, 4096; it is 500": lambda: ModelSize(value=500),
            "n_layers must be from 1 to 24; it is 0": lambda: ModelSize(n_layers=0),
            "vocab_size must be from 100 to 200000; it is 7": lambda: ModelSize(vocab_size=7),
            "norm must be post or pre; it is 'none'": lambda: ModelSize(norm="none"),
        },
    ),
}
