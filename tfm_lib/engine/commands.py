"""The commands `tfm train`, `tfm translate` and `tfm write`."""

from __future__ import annotations

import io
import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from tfm_lib import _completion
from tfm_lib._refusal import Refusal

if TYPE_CHECKING:
    from tfm_lib.engine.presets import Preset
    from tfm_lib.engine.run import RunFolder
    from tfm_lib.engine.translator import Translator

MODELS = Path("trained")
STORIES = "stories"
UNBOUNDED = 10**9  # updates; the clock ends the run


def train(
    corpus: Annotated[
        str,
        typer.Option(
            autocompletion=_completion.one_of(_completion.CORPORA),
            help="Embedded: numbers, dates, copy, reverse, sort; or stories, for `tfm write`. Real: multi30k, "
            "tatoeba-en-fr, tatoeba-en-ko, wmt14-en-de. Yours: a file such as pairs.tsv, a sentence, a tab and its "
            "translation on each line.",
        ),
    ] = "numbers",
    config: Annotated[
        str | None,
        typer.Option(
            help="A preset: tiny, small, base or big; tiny if none. Stories have one of their own.",
            autocompletion=_completion.one_of(_completion.PRESETS),
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(help="The folder of the run; trained/CORPUS-CONFIG if none. A run begun there goes on."),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Updates of the parameters.", min=1)] = None,
    minutes: Annotated[
        float | None,
        typer.Option(help="Stop after so long, instead of after so many steps; the schedule follows.", min=0.01),
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Target tokens an update, padding counted.", min=1)] = None,
    accumulate: Annotated[int | None, typer.Option(help="Split each update into so many micro-batches.", min=1)] = None,
    peak: Annotated[float | None, typer.Option(help="Highest learning rate of the cosine schedule.", min=0)] = None,
    dropout: Annotated[float | None, typer.Option(min=0, max=0.9)] = None,
    subword_dropout: Annotated[
        float | None,
        typer.Option(
            help="Leave out this share of merges, anew in each epoch; words are cut differently.", min=0, max=0.9
        ),
    ] = None,
    optimiser: Annotated[str | None, typer.Option(help="adam, or muon for the layers' matrices.")] = None,
    weight_decay: Annotated[float | None, typer.Option(help="Of the layers' matrices, with muon.", min=0)] = None,
    seed: Annotated[int, typer.Option(help="Of the weights, the order and the dropout.")] = 0,
    precision: Annotated[
        str,
        typer.Option(
            help="float32, bfloat16, or auto: bfloat16 where the machine is built for it and the model large enough."
        ),
    ] = "auto",
    patience: Annotated[
        int | None, typer.Option(help="Stop after so many validations without progress; 0: never.", min=0)
    ] = None,
    checkpoint_every: Annotated[int, typer.Option(help="Steps between checkpoints.", min=1)] = 500,
    typed: Annotated[
        bool,
        typer.Option("--typed", help="English to French: train on other names and numbers and hasty typing, too."),
    ] = False,
    bits: Annotated[
        int | None, typer.Option(help="Keep the trained model in 8, 16 or 32 bits a number; 32 if none.")
    ] = None,
    half: Annotated[bool, typer.Option("--half", help="The same as --bits 16.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget the run in the folder and begin anew.")] = False,
) -> None:
    """Train a Transformer on a corpus. The same command goes on where a run was stopped; Ctrl-C saves first.

    On several processes: torchrun --nproc-per-node 2 -m tfm_lib.cli train …
    """
    from tfm_lib.engine.run import RunFolder

    told = corpus == STORIES
    if told and (config or typed or dropout or subword_dropout):
        raise Refusal(
            "The stories have a model of their own: --config, --typed, --dropout and --subword-dropout don't go with them."
        )
    config = config or "tiny"
    asked = {
        "steps": steps,
        "seconds": minutes and 60 * minutes,
        "max_tokens": max_tokens,
        "accumulate": accumulate,
        "peak": peak,
        "patience": patience,
        "subword_dropout": subword_dropout,
        "optimiser": optimiser,
        "typed": typed or None,
        "weight_decay": 0.0 if optimiser == "adam" and weight_decay is None else weight_decay,
    }
    preset = _preset(STORIES if told else config, asked, seed, precision, dropout)
    folder = RunFolder(to or MODELS / (STORIES if told else f"{Path(corpus).stem}-{config}"))
    _run(corpus, preset, folder, checkpoint_every, _bits(bits, half), fresh)


def register(app: typer.Typer) -> None:
    app.command()(train)
    app.command()(translate)
    app.command()(write)


def _preset(config: str, asked: dict[str, Any], seed: int, precision: str, dropout: float | None) -> Preset:
    """Return the preset called `config`, with the requested options in place of its own."""
    from tfm_lib.engine.presets import PRESETS, Preset
    from tfm_lib.engine.writer import BASE, writer

    if config not in (*PRESETS, STORIES):
        raise Refusal(f"There is no preset {config!r}; there are {', '.join(PRESETS)}.")
    if asked["optimiser"] not in (None, "adam", "muon"):
        raise Refusal(f"--optimiser must be adam or muon; got {asked['optimiser']!r}.")
    if asked["seconds"] and not asked["steps"]:
        asked = {**asked, "steps": UNBOUNDED}
    preset = Preset(writer().config, BASE, "stories") if config == STORIES else PRESETS[config]
    try:
        chosen = {name: value for name, value in asked.items() if value is not None}
        options = replace(preset.options, seed=seed, **chosen)
    except ValueError as error:
        raise Refusal(f"{error}.") from None
    options = replace(options, bfloat16=_bfloat16(precision, preset.model.d_model))
    model = preset.model if dropout is None else replace(preset.model, dropout=dropout)
    return replace(preset, options=options, model=model)


def _bits(bits: int | None, half: bool) -> int:
    """Return the number of bits that store each number of the trained model."""
    from tfm_lib.engine.trained import BITS

    if bits not in (None, *BITS) or (half and bits not in (None, 16)):
        raise Refusal(f"--bits must be 8, 16 or 32, and 16 beside --half; got {bits}{' with --half' * half}.")
    return bits or (16 if half else 32)


def _run(corpus: str, preset: Preset, folder: RunFolder, checkpoint_every: int, bits: int, fresh: bool) -> None:
    """Train in the folder and report the result; expected errors become one-sentence refusals."""
    from tfm_lib.corpora.real import CorpusUnavailable
    from tfm_lib.engine.progress import Bar, judged
    from tfm_lib.engine.run import FolderHeld, train_run, wait_for_all
    from tfm_lib.engine.trainer import OtherRun
    from tfm_lib.engine.writer_run import train_writer

    with _processes() as rank:
        console = Console(highlight=False, quiet=rank > 0)
        try:
            with Bar(console) as bar, folder.held() if rank == 0 else nullcontext():
                if fresh and rank == 0:
                    folder.clear()
                wait_for_all()
                if corpus == STORIES:
                    last = train_writer(preset.options, folder, bar, checkpoint_every, bits)
                else:
                    last = train_run(corpus, preset, folder, bar, checkpoint_every, bits)
        except OtherRun as error:
            raise Refusal(f"{error} Begin anew with --fresh, or take another folder with --to.") from None
        except (CorpusUnavailable, FolderHeld, ValueError) as error:
            raise Refusal(str(error)) from None
        except (PermissionError, FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise Refusal(f"{error.filename or folder.path} cannot be written: {error.strerror}.") from None
        except KeyboardInterrupt:
            kept = (
                f"{folder.path} holds the run; the same command goes on from there."
                if folder.is_begun
                else "Nothing was saved yet."
            )
            console.print(f"Stopped. {kept}", soft_wrap=True)
            raise typer.Exit(130) from None
        use = "Write with it: tfm write" if corpus == STORIES else "Translate with it: tfm translate"
        console.print(
            f"Done: validation loss {last['val_loss']:.3f}, {judged(last)} after {last['step']} steps. "
            f"{use} --model {folder.path}",
            soft_wrap=True,
        )


def translate(
    sentences: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SENTENCE]...", help="What to translate; none: a sentence a line from standard input."),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="A folder that `tfm train` wrote, or a file that the book's playground saved; the shipped English–French translator if none."
        ),
    ] = None,
    beam: Annotated[int, typer.Option(help="Width of the beam; 1 is greedy, and fastest.", min=1)] = 4,
    alpha: Annotated[float, typer.Option(help="Exponent of the length penalty.", min=0)] = 0.6,
    attention: Annotated[
        Path | None, typer.Option(help="Write tokens and every attention weight to this JSON file.")
    ] = None,
) -> None:
    """Translate: one sentence a line in, one translation a line out, and nothing else on standard output."""
    from tfm_lib.engine.trained import NoModel
    from tfm_lib.engine.translator import Translator

    try:
        translator = Translator.load(model) if model else Translator.shipped()
    except NoModel as error:
        raise Refusal(str(error)) from None
    kept, number = [], 0
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    for group in [[os.fsencode(each) for each in sentences]] if sentences else _lines(sys.stdin.buffer):
        texts = []
        for line in group:
            number += 1
            texts.append(_readable(line, f"{'Sentence' if sentences else 'Line'} {number}", translator))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the doubts, printed below with their numbers
            if attention:
                seen = [translator.attention(text, beam, alpha) if text.strip() else None for text in texts]
                written = [each["translation"] if each else "" for each in seen]
                kept += [_as_lists(each) for each in seen if each]
            else:
                written = translator.translate(texts, beam, alpha)
        for place, text in enumerate(texts, number - len(texts) + 1):
            if doubt := translator.doubt(text):
                print(doubt if sentences else f"Line {place}: {doubt}", file=sys.stderr)
        print(*written, sep="\n", flush=True)
    if attention:
        attention.write_text(json.dumps(kept, ensure_ascii=False) + "\n", encoding="utf-8")


def write(
    prompt: Annotated[
        str, typer.Argument(help="What to go on from: the beginning of a story, a question about one, an instruction.")
    ] = "",
    stage: Annotated[
        str,
        typer.Option(
            help="How far it was trained: base, follow, prefer or think; think if none.",
            autocompletion=_completion.one_of(_completion.STAGES),
        ),
    ] = "",
    model: Annotated[
        Path | None, typer.Option(help="A folder that `tfm train --corpus stories` wrote; the shipped one if none.")
    ] = None,
    temperature: Annotated[float, typer.Option(help="0 takes the most probable word each time.", min=0)] = 0.0,
    top_p: Annotated[
        float | None, typer.Option(help="Draw from the nucleus of this probability.", min=0, max=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="Of what is drawn.")] = 0,
) -> None:
    """Write on after a prompt, as the small assistant of the book does; the text goes to standard output."""
    from tfm_lib.engine.assistant import Assistant
    from tfm_lib.engine.trained import NoModel

    try:
        assistant = Assistant.load(model, stage or "base") if model else Assistant.shipped(stage or "think")
        print(assistant.write(prompt, temperature, top_p, seed))
    except (NoModel, ValueError) as error:
        raise Refusal(f"{str(error).rstrip('.')}.") from None


AT_ONCE = 32  # lines of standard input that are translated together


def _lines(stream: Any) -> Iterator[list[bytes]]:
    """Yield the lines received so far, up to `AT_ONCE` together; a typed line is answered soon."""
    rest = b""
    while chunk := stream.read1(1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (lines[at : at + AT_ONCE] for at in range(0, len(lines), AT_ONCE))
    if rest:
        yield [rest]


def _readable(line: bytes, name: str, translator: Translator) -> str:
    """Return the text of a line; report an unreadable or too long one on standard error and return an empty line."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        place = f"byte {error.start + 1} is 0x{line[error.start]:02x}"
        print(f"{name} is not UTF-8 ({place}): passed over. Its translation is an empty line.", file=sys.stderr)
        return ""
    tokens, room = len(translator.ids(text)[0]) - 1, translator.room()
    if tokens > room:
        print(
            f"{name} has {tokens} tokens and the model reads {room}: passed over. Its translation is an empty line.",
            file=sys.stderr,
        )
        return ""
    return text


def _as_lists(seen: dict[str, Any]) -> dict[str, Any]:
    return {**seen, "weights": {place: value.tolist() for place, value in seen["weights"].items()}}


def _bfloat16(precision: str, d_model: int) -> bool:
    import torch

    if precision not in ("auto", "float32", "bfloat16"):
        raise Refusal(f"--precision must be auto, float32 or bfloat16; got {precision!r}.")
    if precision != "auto":
        return precision == "bfloat16"
    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported() and d_model >= 128
    capable = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return d_model >= 128 and bool(capable.get("avx512_bf16") or capable.get("amx_bf16"))


@contextmanager
def _processes() -> Iterator[int]:
    """Under torchrun, join the other processes; yields this one's rank."""
    import torch
    import torch.distributed as dist

    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield 0
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield dist.get_rank()
    finally:
        dist.destroy_process_group()
