"""Samples of the widgets of chapter `training`."""

from samples import Sample, changed
from tfm_lib.widgets.training import LabelSmoothing, LearningRate, TrainingReplay

RUN = {
    "losses": [3.0, 2.0, 1.5],
    "rates": [0.1, 0.2, 0.1],
    "src_tokens": ["a", "b"],
    "tgt_tokens": ["x", "<eos>"],
    "looks": [
        {"step": 0, "exact": 0.0, "written": "", "weights": [[[0.5, 0.5], [0.5, 0.5]], [[1, 0], [0, 1]]]},
        {"step": 3, "exact": 0.25, "written": "x", "weights": [["90 10", "20 80"], ["70 30", "0 100"]]},
    ],
}


def replay(**other) -> TrainingReplay:
    return TrainingReplay({**RUN, **other})


SAMPLES = {
    "learning_rate": Sample(
        code="LearningRate()",
        change="warmup = 1000",
        says="at step 1000",
        refused={
            "d_model must be one of 64, 128, 256, 512, 1024; it is 100": lambda: LearningRate(d_model=100),
            "warmup must lie between 10 and 16000; it is 0": lambda: LearningRate(warmup=0),
            "factor must lie between 0.1 and 4; it is 9.0": lambda: LearningRate(factor=9.0),
            "compare must be one of none, constant, inverse root, cosine, linear, all; it is 'step'": lambda: (
                LearningRate(compare="step")
            ),
            "steps must be one of 1000, 2000…": lambda: LearningRate(steps=7),
            "value must lie between 1 and 100000; it is 0": lambda: LearningRate(value=0),
        },
    ),
    "label_smoothing": Sample(
        code="LabelSmoothing()",
        change="value = 0.92",
        says="p = 0.920",
        refused={
            "epsilon must lie between 0 and 0.5; it is 0.6": lambda: LabelSmoothing(epsilon=0.6),
            "vocabulary must be one of 2, 5, 10, 100, 1000, 37000; it is 7": lambda: LabelSmoothing(vocabulary=7),
            "convention must be one of all, others; it is 'most'": lambda: LabelSmoothing(convention="most"),
            "value must lie between 0.001 and 0.999; it is 1.0": lambda: LabelSmoothing(value=1.0),
        },
    ),
    "training_replay": Sample(
        code="TrainingReplay()",
        change="value = 23",
        says="step 600",
        refused={
            "looks must hold at least one look; it is empty": lambda: replay(looks=[]),
            "rates must have shape (3); it has shape (1,)": lambda: replay(rates=[1.0]),
            "weights of look 0 must have shape (heads, 2, 1); it has shape (2, 2, 2)": lambda: replay(src_tokens=["a"]),
            "value must lie between…": lambda: changed(replay(), value=2),
            "head must lie between…": lambda: changed(replay(), head=2),
            "focus must lie between…": lambda: changed(replay(), focus=5),
        },
    ),
}
