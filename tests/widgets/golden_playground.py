"""Words and answers of the playground, as tfm_lib draws and writes them."""

from tfm_lib.corpora.words import ANSWERS, PHRASES, uniform, unseen, unseen_phrases, word


def numbers() -> dict:
    draws = {seed: uniform(seed) for seed in (0, 5, 2**31)}
    drawn = {seed: [word(draw) for _ in range(500)] for seed, draw in draws.items()}
    answers = {task: [answer(each) for each in drawn[0]] for task, answer in ANSWERS.items()}
    phrases = {task: [make(draw) for _ in range(500)] for task, make in PHRASES.items() for draw in [uniform(5)]}
    kept = {task: unseen_phrases(task) for task in PHRASES}
    return {
        "drawn": drawn,
        "unseen": unseen(),
        "long": unseen(5, 16),
        "answers": answers,
        "phrases": phrases,
        "kept": kept,
    }
