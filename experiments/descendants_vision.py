"""Compare a vision Transformer with logistic regression on scikit-learn's small digits, with the same split.

Takes about two minutes on one core; with the variable TFM_RUNS set, each training is saved as it finishes.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch

import hashlib

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from experiments.record import Made, curve, record
from tfm_lib.descendants import VisionTransformer, patches
from tfm_lib.transformer import TransformerConfig

SIDE, SIZE, CLASSES = 8, 2, 10
STEPS, BATCH, RATE, WARMUP = 3000, 64, 2e-3, 100  # STEPS chosen on a fifth of the training images, with other seeds
SEEDS = [0, 1, 2]


def digits() -> dict[str, tuple[Tensor, Tensor]]:
    """Return images with values 0 to 1 and their classes; a hash of the pixels assigns a fifth to the test part."""
    found = load_digits()
    images, classes = torch.tensor(found.images, dtype=torch.float32) / 16, torch.tensor(found.target)
    held_out = torch.tensor(
        [hashlib.sha256(image.tobytes()).digest()[0] < 51 for image in found.images.astype("uint8")]
    )
    return {"train": (images[~held_out], classes[~held_out]), "test": (images[held_out], classes[held_out])}


def shifted(images: Tensor, generator: torch.Generator) -> Tensor:
    """Move each image by −1, 0 or 1 pixel down and across; pixels shifted in are empty."""
    by = torch.randint(3, (2, len(images)), generator=generator)
    padded = F.pad(images, (1, 1, 1, 1))
    rows, cols = (by[:, :, None] + torch.arange(SIDE)).unbind(0)
    return padded[torch.arange(len(images))[:, None, None], rows[:, :, None], cols[:, None, :]]


def run(seed: int) -> Made:
    """Train once; return the share of test images classified correctly."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    data, generator = digits(), torch.Generator().manual_seed(seed)
    config = TransformerConfig(CLASSES, d_model=64, n_heads=4, d_ff=128, n_layers=2, dropout=0.0, norm="pre")
    model, losses = VisionTransformer(config, SIDE, SIZE, CLASSES), []
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.05)
    images, classes = data["train"]
    for step in range(1, STEPS + 1):
        optimiser.param_groups[0]["lr"] = RATE * min(step / WARMUP, 1 - step / (STEPS + 1))
        rows = torch.randint(len(images), (BATCH,), generator=generator)
        loss = F.cross_entropy(model(shifted(images[rows], generator)), classes[rows])
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
    images, classes = data["test"]
    with torch.no_grad():
        named = model.eval()(images).argmax(dim=-1)
    right = round((named == classes).float().mean().item(), 4)
    print(seed, right, flush=True)
    return {"seed": seed, "right": right, "curve": curve(losses, 50)}, model


def logistic(moved: bool) -> float:
    """Fit logistic regression on the pixels of the same images; with `moved` on all nine shifts of each as well."""
    data = digits()
    images, classes = data["train"]
    if moved:
        padded = F.pad(images, (1, 1, 1, 1))
        images = torch.cat([padded[:, r : r + SIDE, c : c + SIDE] for r in range(3) for c in range(3)])
        classes = classes.repeat(9)
    model = LogisticRegression(max_iter=2000, C=1.0).fit(images.flatten(1).numpy(), classes.numpy())
    images, classes = data["test"]
    return round(float(model.score(images.flatten(1).numpy(), classes.numpy())), 4)


def main() -> None:
    torch.set_num_threads(1)
    data = digits()
    what = (
        f"Digits of {SIDE} × {SIDE} pixels, {len(data['train'][0])} to learn from and {len(data['test'][0])} to be named, split by "
        f"a hash of the pixels. A vision Transformer (patches of {SIZE} × {SIZE}, two layers, d_model 64), {STEPS} updates of "
        f"{BATCH} images, each moved by up to one pixel. right: the share of test images that it names rightly; "
        "logistic: that of logistic regression on the pixels, on the images as they are and with all nine shifts."
    )
    with record("descendants_vision", what) as numbers:
        train, test = data["train"][0], data["test"][0]
        numbers["settings"] = {"train": len(train), "test": len(test), "steps": STEPS, "batch": BATCH, "size": SIZE}
        numbers["settings"]["patches"] = patches(test[:1], SIZE).shape[1]
        first = [int((data["test"][1] == digit).nonzero()[0]) for digit in range(CLASSES)]
        numbers["images"] = (test[first] * 16).int().tolist()  # one of each digit, for a figure
        numbers["logistic"] = {"as they are": logistic(False), "with shifts": logistic(True)}
        arm = "vision Transformer"
        made = numbers.pieces(arm, SEEDS, run, STEPS)
        numbers["runs"] = [{key: one[key] for key in one if key != "cpu_seconds"} for one in made]
        numbers.rows(arm, "runs")


if __name__ == "__main__":
    main()
