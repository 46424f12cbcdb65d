"""Judges of the exercises in `chapters/transformer.md`."""

import math

import torch
from torch import Tensor

from tfm_lib.checks.judge import Mistake, exercise


@exercise("transformer.shapes", answer="shapes")
def shapes(student, expect):
    batch, m, n, d_model, n_heads, d_ff, vocab_size = 2, 5, 3, 24, 4, 7, 11
    found = student.shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size)
    fits = isinstance(found, (tuple, list)) and len(found) == 6 and all(isinstance(s, (tuple, list)) for s in found)
    expect.true(fits, holds="six shapes come back", otherwise="Expected six shapes, each a tuple such as (batch, m, d_model).")
    memory, queries, keys, weights, hidden, logits = (tuple(shape) for shape in found)
    d_k = d_model // n_heads
    expect.equal(
        memory,
        (batch, m, d_model),
        holds="the memory has a vector for each source word",
        describe="the memory, with batch 2, m 5, n 3, d_model 24, 4 heads,",
        mistakes=[
            Mistake(
                "the memory as long as the target",
                (batch, n, d_model),
                "Your memory is as long as the target. It is made from the source alone: one vector for each of m words.",
            ),
        ],
    )
    for got, length, name, side in ((queries, n, "queries", "target"), (keys, m, "keys", "source")):
        other = m + n - length
        expect.equal(
            got,
            (batch, n_heads, length, d_k),
            holds=f"{name} come from the {side}",
            describe=f"the {name}",
            mistakes=[
                Mistake(
                    "source and target swapped",
                    (batch, n_heads, other, d_k),
                    "The decoder asks and the memory answers: queries are as many as target words, n, keys as many as "
                    "source words, m. Yours are swapped.",
                ),
                Mistake(
                    "heads behind positions",
                    (batch, length, n_heads, d_k),
                    "Your heads stand behind the positions. Each head works on all positions by itself, so heads come "
                    "first: (batch, n_heads, positions, d_k).",
                ),
                Mistake(
                    "heads as wide as the model",
                    (batch, n_heads, length, d_model),
                    "Your heads are d_model wide each. They share it: d_k = d_model / n_heads.",
                ),
                Mistake(
                    "not cut into heads",
                    (batch, length, d_model),
                    "That is before the cut into heads. Each head gets d_model / n_heads of the numbers.",
                ),
            ],
        )
    expect.equal(
        weights,
        (batch, n_heads, n, m),
        holds="weights have a row for each target word and a column for each source word",
        describe="the weights",
        mistakes=[
            Mistake(
                "weights lying on their side",
                (batch, n_heads, m, n),
                "Queries are rows and keys are columns: n rows, one for each target word, m columns.",
            ),
            Mistake(
                "square weights",
                (batch, n_heads, n, n),
                "Square weights belong to self-attention. Here the keys come from the source, so there are m columns.",
            ),
            Mistake(
                "one matrix for all heads",
                (batch, n, m),
                "Each head has weights of its own: there is an axis n_heads behind the batch.",
            ),
        ],
    )
    expect.equal(
        hidden,
        (batch, n, d_ff),
        holds="the hidden layer is d_ff wide at each target position",
        describe="the hidden layer",
        mistakes=[
            Mistake(
                "the hidden layer as wide as the model",
                (batch, n, d_model),
                "That is what goes in and comes out. Between its two matrices the network is d_ff wide.",
            ),
            Mistake(
                "the hidden layer of the encoder",
                (batch, m, d_ff),
                "That is the encoder's. In the decoder there is one vector for each of the n target words.",
            ),
        ],
    )
    expect.equal(
        logits,
        (batch, n, vocab_size),
        holds="logits for each target position, over the vocabulary",
        describe="the logits",
        mistakes=[
            Mistake(
                "only the last logits",
                (batch, vocab_size),
                "Those are the logits of one position. In training each of the n positions says its next word at once.",
            ),
        ],
    )


@exercise("transformer.cross-attention", answer="cross_attention")
def cross_attention(student, expect):
    Z, H = torch.randn(3, 4), torch.randn(5, 4)
    W_Q, W_K, W_V = torch.randn(4, 2), torch.randn(4, 2), torch.randn(4, 6)
    is_word = torch.tensor([True, True, True, True, False])

    def attend(asks=Z, told=H, seen=is_word, scale=math.sqrt(2), dim=-1, values=None):
        scores = asks @ W_Q @ (told @ W_K).T / scale
        scores = scores if seen is None else scores.masked_fill(~seen, -torch.inf)
        return scores.softmax(dim=dim) @ ((told if values is None else values) @ W_V)

    zeroed = (Z @ W_Q @ (H @ W_K).T / math.sqrt(2)) * is_word
    everything = torch.ones(5, dtype=torch.bool)
    expect.close(
        student.cross_attention(Z, H, W_Q, W_K, W_V, everything),
        attend(seen=None),
        holds="three who ask, five who answer",
        describe="the look across, nothing hidden",
        mistakes=[
            Mistake(
                "memory and target swapped",
                attend(asks=H, told=Z, seen=None),
                "You let the memory ask and the target answer. Queries come from Z, keys and values from H: the result has "
                "one row for each row of Z.",
            ),
            Mistake(
                "self-attention",
                attend(told=Z, seen=None),
                "Your keys and values come from Z: that is self-attention, and the source is never looked at.",
            ),
            Mistake(
                "no scale",
                attend(seen=None, scale=1.0),
                "The scores are not scaled. Divide them by √d_k.",
            ),
            Mistake(
                "scaled by the width of the model",
                attend(seen=None, scale=math.sqrt(4)),
                "You divided by √d_model. The vectors that are multiplied have d_k numbers, the columns of W_K.",
            ),
            Mistake(
                "softmax over the queries",
                attend(seen=None, dim=0),
                "Your softmax runs down the columns. Each query shares 1 among the keys: the last axis, dim=-1.",
            ),
        ],
    )
    expect.close(
        student.cross_attention(Z, H, W_Q, W_K, W_V, is_word),
        attend(),
        holds="padding gets no weight",
        describe="the look across with one note hidden",
        mistakes=[
            Mistake(
                "padding not hidden",
                attend(seen=None),
                "A note of padding still gets weight: is_word is not used.",
            ),
            Mistake(
                "0 instead of −∞",
                zeroed.softmax(dim=-1) @ (H @ W_V),
                "A score of 0 is not a weight of 0: e⁰ = 1. Hide with −∞ before the softmax.",
            ),
            Mistake(
                "mask the wrong way round",
                attend(seen=~is_word),
                "You hide the words and look at the padding. is_word is True where a note may be seen: fill where it is "
                "False.",
            ),
        ],
    )


@exercise("transformer.tied", answer=("embed", "unembed"))
def tied(student, expect):
    E, places, ids = torch.randn(9, 4), torch.randn(6, 4), torch.tensor([3, 1, 3])
    rows, first = E[ids], places[:3]
    expect.close(
        student.embed(ids, E, places),
        2 * rows + first,
        holds="words times √d_model, plus places",
        describe="three words in, d_model = 4",
        mistakes=[
            Mistake("not scaled", rows + first, "The words are not scaled: multiply them by √d_model, which is 2 here."),
            Mistake(
                "places scaled too",
                2 * (rows + first),
                "You scaled the sum. Only the words are multiplied by √d_model; the places are added as they are.",
            ),
            Mistake(
                "scaled by d_model",
                4 * rows + first,
                "You multiplied by d_model. It is its root.",
            ),
            Mistake(
                "scaled by the vocabulary",
                3 * rows + first,
                "You multiplied by the root of the vocabulary's size, the rows of E. d_model is the length of a row.",
            ),
            Mistake("no places", 2 * rows, "The places are missing: without them the order of words is lost."),
            Mistake(
                "places of the ids",
                2 * rows + places[ids],
                "You took the place whose number is the word's id. Places count 0, 1, 2 from the start of the sentence.",
            ),
        ],
    )
    Y = torch.randn(3, 4)
    expect.close(
        student.unembed(Y, E),
        Y @ E.T,
        holds="a logit is a dot product with a word's row",
        describe="three vectors out",
        mistakes=[
            Mistake(
                "scaled on the way out",
                2 * Y @ E.T,
                "√d_model belongs to the way in only. On the way out the dot products stand as they are.",
            ),
            Mistake(
                "probabilities",
                (Y @ E.T).softmax(dim=-1),
                "Those are probabilities. Logits come before the softmax, which the loss takes by itself.",
            ),
            Mistake(
                "transposed logits",
                E @ Y.T,
                "Rows are positions and columns words: (n, v). Yours lie on their side.",
            ),
        ],
    )


@exercise("transformer.count", answer="count")
def count(student, expect):
    sizes = 50, 8, 12, 3

    def total(vocab_size, d_model, d_ff, n_layers, tables=1, matrices=4, bias=1, cross=1, norms=5, final=0, out=0):
        attention = matrices * (d_model * d_model + bias * d_model)
        network = 2 * d_model * d_ff + bias * (d_ff + d_model)
        layer = (2 + cross) * attention + 2 * network + norms * 2 * d_model
        return tables * vocab_size * d_model + n_layers * layer + final * 2 * d_model + out * vocab_size

    want = total(*sizes)
    expect.equal(
        student.count(*sizes),
        want,
        holds="a small machine, part by part",
        describe="a vocabulary of 50, d_model 8, d_ff 12 and 3 layers",
        mistakes=[
            Mistake(
                "three tables of words",
                total(*sizes, tables=3),
                "You counted E three times: for the source, the target and the output. Tied, it is one matrix.",
            ),
            Mistake(
                "two tables of words",
                total(*sizes, tables=2),
                "You counted E twice. The way in, for both languages, and the way out share one matrix.",
            ),
            Mistake(
                "no biases",
                total(*sizes, bias=0),
                "The biases are missing: one number for each output of every linear map in the layers.",
            ),
            Mistake(
                "a bias on the logits",
                total(*sizes, out=1),
                "You gave the logits a bias, one number for each word. The last linear map has none.",
            ),
            Mistake(
                "cross-attention forgotten",
                total(*sizes, cross=0, norms=4),
                "A decoder layer has three sub-layers: the cross-attention, with its norm, is missing.",
            ),
            Mistake(
                "cross-attention forgotten",
                total(*sizes, cross=0),
                "A decoder layer has two attentions: the cross-attention is missing.",
            ),
            Mistake(
                "W_O forgotten",
                total(*sizes, matrices=3),
                "You gave an attention three matrices. The fourth, W^O, mixes the heads.",
            ),
            Mistake(
                "norms forgotten",
                total(*sizes, norms=0),
                "The norms are missing: each sub-layer has one, with γ and β.",
            ),
            Mistake(
                "norms after the stacks",
                total(*sizes, final=2),
                "You counted one more norm after each stack. A post-norm layer ends with a norm already.",
            ),
            Mistake(
                "one norm a layer",
                total(*sizes, norms=2),
                "You counted one norm for each layer. Each sub-layer has its own: two in an encoder layer, three in a "
                "decoder layer.",
            ),
        ],
    )
    expect.equal(
        student.count(37_000, 512, 2048, 6), 63_082_496, holds="the paper's base model", describe="the paper's base model"
    )
    expect.equal(
        student.count(37_000, 1024, 4096, 6), 214_245_376, holds="and its big one", describe="the paper's big model"
    )


@exercise("transformer.one-stack", answer="one_stack_mask")
def one_stack_mask(student, expect):
    m, n = 2, 3
    rows, columns = torch.arange(m + n)[:, None], torch.arange(m + n)
    past, source = columns <= rows, columns < m
    expect.close(
        student.one_stack_mask(m, n),
        past | source,
        holds="the source whole, the target up to itself",
        describe="two source words and three target words",
        mistakes=[
            Mistake(
                "causal only",
                past,
                "The first source word does not see the second: yours is the causal mask. The source is all there from the "
                "start, so let every query see all of it.",
            ),
            Mistake(
                "the source sees the target",
                past | source | (rows < m),
                "Your source words see the target, which does not exist yet when the machine begins to write.",
            ),
            Mistake(
                "no limit",
                torch.ones(m + n, m + n, dtype=torch.bool),
                "Everybody sees everything, target words their future too.",
            ),
            Mistake(
                "transposed",
                (past | source).T,
                "Rows and columns are swapped: the query is the row, the key the column.",
            ),
            Mistake(
                "two kinds of attention apart",
                (past & (rows >= m) & ~source) | (source & (rows < m)),
                "Source sees source and target sees target, but nothing leads across. Target words must see the source.",
            ),
            Mistake(
                "off by one",
                past | (columns <= m),
                "Your source is one word too long: it ends before position m, so key < m.",
            ),
        ],
    )
    expect.close(
        student.one_stack_mask(4, 2),
        (torch.arange(6) <= torch.arange(6)[:, None]) | (torch.arange(6) < 4),
        holds="for other lengths as well",
        describe="four source words and two target words",
    )


@exercise("transformer.machine", answer="transformer")
def machine(student, expect):
    src, tgt = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]]), torch.tensor([[1, 9, 3], [1, 4, 0]])
    E = torch.randn(10, 4)
    mixes = torch.randn(6, 4, 4)

    def embed(ids: Tensor) -> Tensor:
        return E[ids] + torch.arange(ids.shape[1])[:, None] / 3

    def attend(X: Tensor, M: Tensor, mask: Tensor | None, mix: Tensor) -> Tensor:
        scores = X @ mix @ M.transpose(-2, -1)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(dim=-1) @ M

    def encoder_layer(k: int):
        return lambda X, mask: torch.tanh(X + attend(X, X, mask, mixes[k]))

    def decoder_layer(k: int):
        def layer(Y: Tensor, memory: Tensor, tgt_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
            Y = torch.tanh(Y + attend(Y, Y, tgt_mask, mixes[k]))
            return torch.tanh(Y + attend(Y, memory, memory_mask, mixes[k + 1]))

        return layer

    encoder, decoder = [encoder_layer(0), encoder_layer(1)], [decoder_layer(2), decoder_layer(4)]
    real, causal = (src != 0)[:, None, :], torch.ones(3, 3, dtype=torch.bool).tril()
    own_padding = (tgt != 0)[:, None, :]

    def build(src_mask=real, tgt_mask=causal, memory_mask=real, memory=lambda states, k: states[-1], scale=1.0):
        states, Y = [embed(src)], embed(tgt)
        for layer in encoder:
            states.append(layer(states[-1], src_mask))
        for k, layer in enumerate(decoder):
            Y = layer(Y, memory(states, k), tgt_mask, memory_mask)
        return scale * Y @ E.T

    logits = student.transformer(src, tgt, embed, encoder, decoder, lambda Y: Y @ E.T)
    expect.shape(
        logits,
        (2, 3, 10),
        holds="logits for each target position and word",
        mistakes=[
            Mistake("no logits", (2, 3, 4), "You return the decoder's vectors. The last step is `unembed`."),
            Mistake(
                "source and target swapped",
                (2, 4, 10),
                "Your logits are as many as source words: encoder and decoder have changed places.",
            ),
        ],
    )
    expect.close(
        logits[tgt != 0],
        build()[tgt != 0],
        holds="sources of different length, two layers a side",
        describe="the logits of the real target words",
        tolerance=1e-4,
        mistakes=[
            Mistake(
                "decoder layer k reads encoder layer k",
                build(memory=lambda states, k: states[k + 1])[tgt != 0],
                "Your decoder layers look at the encoder layers of their own height. All of them look at the finished "
                "memory, the output of the last encoder layer.",
            ),
            Mistake(
                "the encoder left out",
                build(memory=lambda states, k: states[0])[tgt != 0],
                "Your memory is the embedded source: the encoder's result is not used.",
            ),
            Mistake(
                "padding of the source read by the encoder",
                build(src_mask=None)[tgt != 0],
                "The encoder reads padding as if it were words. Give its layers padding_mask(src_ids, 0).",
            ),
            Mistake(
                "padding of the source read by the decoder",
                build(memory_mask=None)[tgt != 0],
                "The cross-attention looks at the notes of padding. The memory has the source's padding, so its mask is "
                "padding_mask(src_ids, 0), too.",
            ),
            Mistake(
                "padding of the source read by both",
                build(src_mask=None, memory_mask=None)[tgt != 0],
                "Padding of the source is read as if it were words, by encoder and decoder. Hide it with "
                "padding_mask(src_ids, 0) in both.",
            ),
            Mistake(
                "the decoder sees the future",
                build(tgt_mask=None)[tgt != 0],
                "Your decoder sees the words that it is to predict. Its self-attention needs the causal mask.",
            ),
            Mistake(
                "the decoder sees the future, but no padding",
                build(tgt_mask=own_padding)[tgt != 0],
                "You hid the target's padding, and not its future. Its self-attention needs the causal mask, which hides "
                "padding on the right as well.",
            ),
            Mistake(
                "a causal encoder",
                build(src_mask=real & torch.ones(4, 4, dtype=torch.bool).tril())[tgt != 0],
                "Your encoder may not look ahead. The source is all there: only its padding is hidden.",
            ),
        ],
    )
