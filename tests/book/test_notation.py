"""Notation, glossary and bibliography agree with the code and with the chapters that use them, both ways."""

import ast
import re
from pathlib import Path

import pytest
from project import CORE, PRIVATE, ROOT

CHAPTERS = sorted((ROOT / "chapters").glob("*.md"))
MODULES = [ROOT / "tfm_lib" / f"{stem}.py" for stem in [*CORE, *PRIVATE] if stem != "_errors"]
NOTATION = (ROOT / "chapters" / "notation.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "chapters" / "glossary.md").read_text(encoding="utf-8")
LATER = "*(later)*"
RIVALS = {
    *("n_head", "num_heads", "nhead", "nheads", "heads_num", "num_layers", "nlayers", "n_layer"),
    *("dim_model", "model_dim", "dmodel", "embed_dim", "n_embd", "hidden_size", "hidden_dim"),
    *("dim_feedforward", "d_inner", "ffn_dim", "head_dim", "d_head", "dim_head", "dk", "dv"),
    *("attn_mask", "attention_mask", "key_padding_mask", "query_mask", "attn", "attn_weights", "attention_weights"),
    *("source", "target", "trg", "enc_output", "encoder_output"),
}


def table(anchor: str) -> list[list[str]]:
    """The rows, without header, of the first table after `(anchor)=` in the notation."""
    after = NOTATION.split(f"({anchor})=", 1)[1].splitlines()
    start = next(i for i, line in enumerate(after) if line.startswith("|"))
    rows = []
    for line in after[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def axes_of(path: Path) -> set[str]:
    """The axis letters in the jaxtyping annotations of a module."""
    annotations = [
        node.slice.elts[1].value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Subscript)
        and getattr(node.value, "id", None) != "Literal"
        and isinstance(node.slice, ast.Tuple)
        and len(node.slice.elts) == 2
        and isinstance(node.slice.elts[1], ast.Constant)
        and isinstance(node.slice.elts[1].value, str)
    ]
    words = {word.strip("*#{}") for annotation in annotations for word in annotation.split()}
    return {word for word in words if word not in {"", "...", "_"} and not word.isdigit()}  # _ is any size


def identifiers(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    return names


def roles(role: str) -> list[tuple[str, str]]:
    """(page, target) for every use of a role in the chapters, code fences included."""
    found = []
    for path in CHAPTERS:
        for content in re.findall(rf"\{{{role}\}}`([^`]+)`", path.read_text(encoding="utf-8")):
            titled = re.fullmatch(r".*?<([^>]+)>", content, flags=re.DOTALL)
            found.append((path.name, " ".join((titled[1] if titled else content).split())))
    return found


def glossary_entries() -> dict[str, str]:
    """Definition by term; terms that share a definition stand on lines of their own above it."""
    body = re.search(r"^:::\{glossary\}\n(.*?)^:::$", GLOSSARY, flags=re.DOTALL | re.MULTILINE)[1]
    entries, heads, definition = {}, [], []
    for line in [*body.splitlines(), "end"]:
        if line[:1].strip() and not line.startswith(":"):
            if definition:
                entries |= dict.fromkeys(heads, " ".join(definition))
                heads, definition = [], []
            heads.append(line.strip())
        elif line.strip() and heads:
            definition.append(line.strip())
    return entries


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_axis_of_the_core_stands_in_the_table(path):
    known = {letter for row in table("notation-axes") for letter in codes(row[0])}
    assert axes_of(path) <= known, f"{path.name} uses axes that notation does not define"


def test_every_axis_of_the_table_is_used_by_the_core():
    used = set().union(*map(axes_of, MODULES))
    for row in table("notation-axes"):
        for letter in codes(row[0]):
            assert letter in used or LATER in row[0], f"no signature uses the axis {letter}"


def test_every_name_of_the_table_occurs_in_the_core():
    sources = "\n".join(path.read_text(encoding="utf-8") for path in MODULES)
    known = set().union(*map(identifiers, MODULES))
    for row in table("notation-symbols"):
        for name in codes(row[1]):
            there = name in known if name.isidentifier() else name in sources
            assert there != (LATER in row[1]), f"notation and core disagree about {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_the_core_has_no_rival_names(path):
    assert not identifiers(path) & RIVALS


@pytest.mark.parametrize("mask", ["causal_mask", "padding_mask", "combine"])
def test_mask_shapes_are_as_notation_says(mask):
    import torch

    from tfm_lib import masking

    n, m, batch = 3, 5, 2
    ids = torch.tensor([[7, 7, 7, 0, 0], [7, 7, 7, 7, 0]])
    made = {
        "causal_mask": masking.causal_mask(n),
        "padding_mask": masking.padding_mask(ids, pad_id=0),
        "combine": masking.combine(masking.causal_mask(m), masking.padding_mask(ids, pad_id=0)),
    }
    shapes = {codes(row[0])[0].split("(")[0]: codes(row[1]) for row in table("notation-mask")}
    if mask == "combine":
        assert made[mask].shape == (batch, m, m)
    else:
        assert tuple(made[mask].shape) == eval(shapes[mask][0], {"n": n, "m": m, "batch": batch})  # noqa: S307 (our own table)


def test_every_term_is_in_the_glossary():
    known = {term.lower() for term in glossary_entries()}
    missing = sorted({(page, term) for page, term in roles("term") if term.lower() not in known})
    assert not missing, f"terms without an entry: {missing}"


def test_every_glossary_entry_has_a_definition_and_korean():
    entries = glossary_entries()
    assert len(entries) >= 40
    for term, definition in entries.items():
        assert len(definition.split()) >= 6, f"{term} is not defined"
        assert re.search("[가-힣]", definition), f"{term} has no Korean term"


def test_every_citation_is_in_the_references():
    keys = re.findall(r"^@\w+\{([^,\s]+),", (ROOT / "references.bib").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(keys) == len(set(keys)), "a key stands twice in references.bib"
    bare = [(page, re.sub(r"\{[^}]*\}", "", cell)) for page, cell in roles("cite:?[a-z]*")]  # "{see}key{section 3}"
    cited = {(page, key.strip()) for page, cell in bare for key in cell.split(",")}
    assert not sorted((page, key) for page, key in cited if key not in keys)
    assert not sorted(set(keys) - {key for _, key in cited}), "entries that no chapter cites"
