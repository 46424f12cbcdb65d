"""Numbers of the chapter's widget, as tfm_lib computes them."""

from tfm_lib.widgets.descendants import MODELS, PASSES, SENTENCE, WORDS, family, order_of, words_of


def numbers() -> dict:
    sentences = [SENTENCE, "One", "Two words", "a b c d e", " ".join("abcdefghijklmnop")]
    cases = []
    for sentence in sentences:
        for model in MODELS:
            for epoch in (1, 2, 9):
                rows, cols, targets, mask = family(words_of(sentence), model, epoch)
                read = {"rows": rows, "cols": cols, "targets": targets, "mask": mask.tolist()}
                cases.append({"sentence": sentence, "model": model, "epoch": epoch, "read": read})
    orders = [
        {"n": n, "epoch": epoch, "order": order_of(n, epoch)} for n in (1, 2, 5, 12) for epoch in range(1, PASSES + 1)
    ]
    return {"cases": cases, "orders": orders, "signs": WORDS.shared["signs"]}
