"""Writes the files of one chapter, widget, exercise or experiment from the templates beside this file."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path

from tfm_lib._refusal import Refusal

TEMPLATES = Path(__file__).parent / "templates"
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def chapter(root: Path, stem: str, call: str, after: str) -> list[Path]:
    """A chapter behind `after` in the table of contents, with a core function of which `call` is a call, `scale(X, by)`.

    The first argument is a tensor of floats, the others are numbers above 0.
    """
    _require_name(stem, "masking")
    function, given = _call(call)
    part, contents = _listed(root, stem, after)
    tensor, *knobs = given
    fields = {
        **_words(stem, function, given),
        "after": after,
        "part": part,
        "label": stem.replace("_", "-"),
        "id": f"{stem}.{function.replace('_', '-')}",
        "posed": f"{stem}/{function.replace('_', '-')}",
        "imports": _imports(bool(knobs)),
        "signature": ", ".join([f'{tensor}: Float[Tensor, "*batch n"]', *(f"{knob}: float" for knob in knobs)]),
        "requirements": "".join(map(_requirement, knobs)),
        "misfit_names": "NO_FLOATS, NUMBER" if knobs else "NO_FLOATS",
        "works": ", ".join([f"{tensor}=torch.ones(2, 3)", *(f"{knob}=1.0" for knob in knobs)]),
        "misfits": ", ".join([f"{tensor}=NO_FLOATS", *(f"{knob}=(*NUMBER, 0.0, -1.0)" for knob in knobs)]),
    }
    written = {
        f"chapters/{stem}.md": _filled("chapter/page.md", fields),
        f"tfm_lib/{stem}.py": _filled("chapter/module.py", fields),
        f"tests/test_{stem}.py": _filled("chapter/test.py", fields),
        f"tests/asks/{stem}.py": _filled("chapter/asks.py", fields),
    }
    return [*_write(root, written), _put(root / "_toc.yml", contents)]


def exercise(root: Path, stem: str, name: str, call: str) -> list[Path]:
    """An exercise of chapter `stem` that asks for the function of which `call` is a call."""
    _require_chapter(root, stem)
    _require_name(name.replace("-", "_"), "shifted-targets")
    function, given = _call(call)
    id = f"{stem}.{name}"
    sizes = ("2, 5", "4, 3", "3, 2, 6")
    numbers = "".join(", 0.5 + torch.rand(()).item()" for _ in given[1:]) or ","
    fields = {
        **_words(stem, function, given),
        "id": id,
        "exercise": _title(name),
        "upper": function.upper(),
        "inputs": "\n".join(f"        (3 * torch.randn({size}){numbers})," for size in sizes),
    }
    page = root / "chapters" / f"{stem}.md"
    text = page.read_text(encoding="utf-8")
    if re.search(rf"^:label: {re.escape(id)}$", text, re.MULTILINE):
        raise Refusal(f"chapters/{stem}.md has an exercise {id}. Choose another name.")
    return [
        _put(page, _before_summary(text, _filled("exercise/page.md", fields), page)),
        _add(root / f"tfm_lib/checks/{stem}.py", _filled("exercise/judge.py", fields)),
        _add(root / f"tests/banks/{stem}.py", _filled("exercise/bank.py", fields)),
    ]


def widget(root: Path, stem: str, name: str, question: str) -> list[Path]:
    """A widget of chapter `stem`: the curve of the chapter's first function of a tensor and a number."""
    _require_chapter(root, stem)
    _require_name(name, "mask_editor")
    taken = [
        path for path in (f"tfm_lib/widgets/{stem}.py", f"frontend/src/{stem}/{name}.js") if (root / path).exists()
    ]
    if taken:
        raise Refusal(
            f"{taken[0]} is there. Add the next widget of {stem} beside it by hand: frontend/README.md has the steps."
        )
    function, first, knob = _curve(root, stem)
    fields = {
        **_words(stem, function, [first, knob]),
        "widget": name,
        "Widget": "".join(word.capitalize() for word in name.split("_")),
        "title": _title(name),
        "question": question,
        "knob": knob,
        "camel": re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), function),
    }
    written = {
        f"frontend/src/{stem}/{name}.js": _filled("widget/script.js", fields),
        f"tfm_lib/widgets/{stem}.py": _filled("widget/module.py", fields),
        f"tests/samples/{stem}.py": _filled("widget/sample.py", fields),
        f"tests/golden_{stem}.py": _filled("widget/golden.py", fields),
        f"frontend/tests/{stem}.test.mjs": _filled("widget/test.mjs", fields),
    }
    page = root / "chapters" / f"{stem}.md"
    here = re.compile(rf" `tfm new widget {stem}/NAME` puts the widget here\.\n")
    text, cell = page.read_text(encoding="utf-8"), _filled("widget/page.md", fields)
    text = here.sub(f"\n\n{cell.strip()}\n", text) if here.search(text) else _before_summary(text, cell, page)
    return [*_write(root, written), _put(page, text)]


def experiment(root: Path, name: str) -> list[Path]:
    """A run that a chapter can quote, once it has been made."""
    _require_name(name, "masking_leaks")
    return _write(root, {f"experiments/{name}.py": _filled("experiment/run.py", {"name": name})})


def chapters(root: Path) -> list[str]:
    """The stems of the chapters that have a module in the core, in reading order."""
    stems = re.findall(r"file: chapters/(\w+)", (root / "_toc.yml").read_text(encoding="utf-8"))
    return [stem for stem in stems if (root / "tfm_lib" / f"{stem}.py").is_file()]


def _words(stem: str, function: str, given: Sequence[str]) -> dict[str, str]:
    return {
        "stem": stem,
        "title": _title(stem),
        "function": function,
        "given": ", ".join(given),
        "first": given[0],
    }


def _title(name: str) -> str:
    return re.sub(r"[-_]", " ", name).capitalize()


def _require_name(name: str, example: str) -> None:
    if not NAME.fullmatch(name):
        raise Refusal(f"{name!r} is no name for a file here: small letters, digits and underscores, as {example}.")


def _require_chapter(root: Path, stem: str) -> None:
    if stem not in chapters(root):
        raise Refusal(f"There is no chapter {stem} with a module; there are {', '.join(chapters(root))}.")


def _call(call: str) -> tuple[str, list[str]]:
    found = re.fullmatch(r"([a-z]\w*)\((\w+(?:, *\w+)*)\)", call.strip())
    if not found:
        raise Refusal(f"{call!r} is no call of a function with names for its arguments, as “soft_cap(X, cap)”.")
    return found[1], re.split(r", *", found[2])


def _listed(root: Path, stem: str, after: str) -> tuple[str, str]:
    """The part of the book in which the chapter `after` stands, and the table of contents with `stem` behind it."""
    text = (root / "_toc.yml").read_text(encoding="utf-8")
    _require_chapter(root, after)
    (line,) = re.finditer(rf"^ *- file: chapters/{after}\n", text, re.MULTILINE)
    added = line[0].replace(after, stem)
    captions = re.findall(r"caption: (.+)", text[: line.end()])
    return (captions[-1] if captions else "Front matter"), text[: line.end()] + added + text[line.end() :]


def _imports(numbers: bool) -> str:
    ours = "from tfm_lib._errors import require_number\n" if numbers else ""
    return f"from jaxtyping import Float\nfrom torch import Tensor\n\n{ours}from tfm_lib._shapes import checked"


def _requirement(knob: str) -> str:
    return f'    require_number("{knob}", {knob}, lambda value: 0 < value < float("inf"), "be a number above 0")\n'


def _curve(root: Path, stem: str) -> tuple[str, str, str]:
    """The first public function of a chapter's module that takes a tensor and a number, with their names."""
    for node in ast.parse((root / "tfm_lib" / f"{stem}.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and len(node.args.args) == 2:
            first, knob = node.args.args
            if knob.annotation and ast.unparse(knob.annotation) == "float":
                return node.name, first.arg, knob.arg
    raise Refusal(
        f"tfm_lib/{stem}.py has no function of a tensor and a number, whose curve a first widget could draw. "
        "Begin by a copy of frontend/src/masking and tfm_lib/widgets/masking.py: frontend/README.md has the steps."
    )


def _filled(template: str, fields: dict[str, str]) -> str:
    text = (TEMPLATES / f"{template}.template").read_text(encoding="utf-8")
    return re.sub(r"«(\w+)»", lambda found: fields[found[1]], text)


def _write(root: Path, files: dict[str, str]) -> list[Path]:
    """All of the files, or none where one of them is there."""
    if taken := [name for name in files if (root / name).exists()]:
        raise Refusal(f"{taken[0]} is there already; nothing was written. Choose another name, or move it away.")
    return [_put(root / name, text) for name, text in files.items()]


def _put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def _add(path: Path, text: str) -> Path:
    """The whole text as a new file; its last statements, behind those of a file that is there."""
    if not path.exists():
        return _put(path, text)
    old, lines = path.read_text(encoding="utf-8").rstrip("\n"), text.splitlines()
    known = {ast.unparse(node) for node in ast.parse(old).body}
    has_tables = any(
        isinstance(node, ast.Assign) and "RIGHT" in ast.unparse(node.targets[0]) for node in ast.parse(old).body
    )
    fresh = [node for node in ast.parse(text).body[1:] if ast.unparse(node) not in known]
    fresh = [node for node in fresh if not (has_tables and ast.unparse(node).startswith("RIGHT, WRONG ="))]
    gap = "\n\n\n" if any(isinstance(node, ast.FunctionDef) for node in fresh) else "\n"
    start = fresh[0].lineno - 1
    heading = max((at for at in range(start) if lines[at].startswith("#")), default=start)
    start = heading if not any(lines[at] and at > heading for at in range(heading + 1, start)) else start
    return _put(path, old + gap + "\n".join(lines[start:]) + "\n")


def _before_summary(text: str, block: str, page: Path) -> str:
    if "\n## Summary\n" not in text:
        raise Refusal(f"chapters/{page.name} has no heading “Summary”, before which to put it.")
    return text.replace("\n## Summary\n", f"\n{block}## Summary\n", 1)
