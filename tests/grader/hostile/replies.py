"""What a cell may send in place of an honest reply, and files that are slow to read. None is worth more than the triangle beside it."""

from __future__ import annotations

import json

from grader.hostile.cases import REACH, Case, beside_honest

PRIME = (1 << 61) - 1  # numbers that it divides have one hash
EITHER: dict = {"status": None}  # refused or stopped, but never a fault of the grader


def saying(made: str, **more) -> Case:
    """An answer whose reply is changed: `made` is an expression in the honest message `m` and the function `raw`, which writes bytes."""
    attack = (
        f"import os, sys, time\n{REACH}channel, _ = inside('channel')\nsend = channel.Channel.send\n"
        f"PRIME = {PRIME}\n"
        "def raw(self, line):\n    self.write(line)\n"
        "def attack(n):\n"
        f"    channel.Channel.send = lambda self, m: (lambda x: x if x is None else send(self, x))({made})\n"
        "    return torch.ones(n, n, dtype=torch.bool)"
    )
    return beside_honest(attack, **{**EITHER, **more})


def loading(made: str, **more) -> Case:
    """A notebook whose reply to being loaded is `made`, an expression in the honest reply `m`."""
    attack = (
        f"{REACH}channel, _ = inside('channel')\nsend = channel.Channel.send\n"
        f"channel.Channel.send = lambda self, m: send(self, {made} if 're' in m else m)"
    )
    return beside_honest(attack, "def band(n, back, ahead):\n    channel, send\n    return 0", **{**EITHER, **more})


def giving(made: str, **more) -> Case:
    """An answer that gives back `made`, an expression in n."""
    return beside_honest(f"import numpy as np\ndef attack(n):\n    return {made}", **{**EITHER, **more})


ENVELOPES = {
    "both a result and an exception": saying("{**m, 'raised': {'name': 'E'}}"),
    "neither a result nor an exception": saying("{'re': m['re']}"),
    "a request and a reply at once": saying("{**m, 'do': 'call', 'of': 0, 'args': [], 'kwargs': {}, 'id': 'a'}"),
    "a reply with a word more": saying("{**m, 'points': 3, 'outcome': 'passed'}"),
    "a reply to a number": saying("{**m, 're': 7}"),
    "a reply to a list": saying("{**m, 're': [m['re']]}"),
    "an exception that is a list": saying("{'re': m['re'], 'raised': ['NotImplementedError']}"),
    "an exception in line infinity": saying("{'re': m['re'], 'raised': {'name': 'E', 'text': 'x', 'line': 1e300}}"),
    "an exception of many names": saying("{'re': m['re'], 'raised': {'name': ['E'] * 9999, 'text': 'x'}}"),
    "a tape that is a word": saying("{**m, 'tape': 'x'}"),
    "a tape of nobody": saying("{**m, 'tape': 1 << 40}"),
    "a call of half a function": saying("{'do': 'call', 'id': 'a', 'of': 0.5, 'args': [], 'kwargs': {}}"),
    "a call with arguments by number": saying("{'do': 'call', 'id': 'a', 'of': 0, 'args': {}, 'kwargs': []}"),
    "slopes that are a word": saying("{'do': 'back', 'id': 'a', 'tape': 0, 'slopes': 'x'}"),
    "not a number, bare": saying("raw(self, b'{\"re\": \"%s\", \"ok\": NaN}' % m['re'].encode())"),
    "half a pair of characters": saying(r"raw(self, b'{\"re\": \"%s\", \"ok\": \"\\ud800\"}' % m['re'].encode())"),
    "a number of 100,000 digits": saying("raw(self, b'{\"re\": \"%s\", \"ok\": %s}' % (m['re'].encode(), b'9' * 100000))"),
    "a number of a million places": saying("raw(self, b'{\"re\": \"%s\", \"ok\": 0.%s}' % (m['re'].encode(), b'9' * 10**6))"),
    "30 MB of quotes": saying("raw(self, b'\"' * (30 << 20))"),
    "30 MB of escaped quotes": saying("raw(self, b'\"' + b'\\\\\"' * (15 << 20))"),
    "30 MB of open brackets": saying("raw(self, b'[' * (30 << 20))"),
    "10 million empty lists": saying("raw(self, b'{\"re\": \"%s\", \"ok\": [%s[]]}' % (m['re'].encode(), b'[],' * 10**7))"),
    "a line of 40 MB": saying("raw(self, b' ' * (40 << 20))", status=("ok", "stopped")),
    "one byte a second": saying("[os.write(3, b' ') and time.sleep(1) for _ in range(99)] and None", says="longer than"),
}  # fmt: skip
VALUES = {
    "a set of numbers with one hash": saying("{**m, 'ok': {'$': 'set', 'v': [k * PRIME for k in range(50000)]}}"),
    "keys with one hash": saying("{**m, 'ok': {'$': 'dict', 'v': [[k * PRIME, 0] for k in range(50000)]}}"),
    "complex numbers with one hash": saying(
        "{**m, 'ok': {'$': 'set', 'v': [{'$': 'complex', 'v': [repr(-1000003.0 * k), repr(1.0 * k)]} for k in range(40000)]}}"
    ),
    "tuples with one hash": saying(
        "{**m, 'ok': {'$': 'set', 'v': [{'$': 'tuple', 'v': [k * PRIME]} for k in range(50000)]}}"
    ),
    "gradients with one hash": saying(
        "{**m, 'tape': 0, 'ok': [{'$': 'tensor', 'd': 'float32', 's': [0], 'b': '', 'g': k * PRIME} for k in range(50000)]}"
    ),
    "a gradient before the first": saying(
        "{**m, 'tape': 0, 'ok': {'$': 'tensor', 'd': 'float32', 's': [], 'b': 'AAAAAA==', 'g': -1}}"
    ),
    "a handle before the first": saying("{**m, 'ok': {'$': 'handle', 'i': -1, 'k': 'x'}}"),
    "a tensor with a word more": saying("{**m, 'ok': {**m['ok'], 'stride': [0, 0]}}"),
    "a tensor of a trillion empty rows": saying(
        "{**m, 'ok': {'$': 'tensor', 'd': 'float32', 's': [1 << 30, 1 << 30, 0], 'b': ''}}"
    ),
    "a number of no number": saying("{**m, 'ok': {'$': 'float', 'v': 'infinite'}}"),
    "a complex number of lists": saying("{**m, 'ok': {'$': 'complex', 'v': [[], []]}}"),
    "tuples in tuples": saying(
        "{**m, 'ok': __import__('functools').reduce(lambda a, _: {'$': 'tuple', 'v': [a, a]}, range(17), 0)}"
    ),
}
LOADS = {
    "a list": loading("{**m, 'ok': [1, 2]}"),
    "a word": loading("{**m, 'ok': 'callable'}"),
    "nothing": loading("{**m, 'ok': None}"),
    "a handle": loading("{**m, 'ok': {'$': 'handle', 'i': 0, 'k': 'dict'}}"),
    "no functions": loading("{**m, 'ok': {'$': 'dict', 'v': [['plain', {'$': 'dict', 'v': []}]]}}"),
    "functions that are a number": loading(
        "{**m, 'ok': {**m['ok'], 'v': [[k, 7 if k == 'callable' else v] for k, v in m['ok']['v']]}}"
    ),
    "functions that nobody asked for": loading(
        "{**m, 'ok': {**m['ok'], 'v': [[k, ['load', 'judge'] * 999 if k == 'callable' else v] for k, v in m['ok']['v']]}}"
    ),
    "values under numbers": loading(
        "{**m, 'ok': {**m['ok'], 'v': [[k, {'$': 'dict', 'v': [[1, 2]]} if k == 'plain' else v] for k, v in m['ok']['v']]}}"
    ),
    "a word more": loading("{**m, 'ok': {**m['ok'], 'v': [*m['ok']['v'], ['points', 3]]}}"),
    "lacking every answer, whenever it is asked": loading(
        "{**m, 'ok': {**m['ok'], 'v': [[k, ['masking.triangle', 'masking.band'] if k == 'lacks' else v] for k, v in m['ok']['v']]}}"
    ),
    "full of forbidden calls, whenever it is asked": loading(
        "{**m, 'ok': {**m['ok'], 'v': [[k, True if k == 'forbidden' else v] for k, v in m['ok']['v']]}}"
    ),
    "notes without end": loading(
        "{**m, 'ok': {**m['ok'], 'v': [[k, ['n' * 99] * 50000 if k == 'notes' else v] for k, v in m['ok']['v']]}}"
    ),
    "a function in place of each list": loading(
        "{**m, 'ok': {**m['ok'], 'v': [[k, {'$': 'handle', 'i': 0, 'k': 'f'}] for k, v in m['ok']['v']]}}"
    ),
}
SHAPES = {
    "two billion empty rows": giving("torch.empty(2**31 - 1, 0)"),
    "one number seen a trillion times": giving("torch.ones(1).expand(1 << 40)"),
    "one number of numpy's seen a trillion times": giving("np.broadcast_to(np.ones(1), (1 << 20, 1 << 20))"),
    "a quantised tensor": giving("torch.quantize_per_tensor(torch.ones(n, n), 0.1, 0, torch.quint8)"),
    "a sparse tensor of a trillion": giving(
        "torch.sparse_coo_tensor(torch.tensor([[0], [0]]), torch.ones(1), (1 << 20, 1 << 20))"
    ),
    "a nested tensor": giving("torch.nested.nested_tensor([torch.ones(1), torch.ones(2)])"),
    "a tensor of eight bits": giving("torch.ones(n, n).to(torch.float8_e4m3fn)"),
    "complex numbers in a view": giving("torch.ones(n, n, dtype=torch.complex64).conj()"),
    "a tensor on meta with a gradient": giving("torch.ones(n, n, device='meta', requires_grad=True)"),
    "keys that are not themselves": giving("{float('nan'): k for k in range(n)}"),
    "a number of 1,200 digits": giving("10**1200"),
    "a number of 5,000 digits": giving("10**5000"),
    "infinities": giving("[[float('inf'), -float('inf'), float('nan')]] * n"),
    "a complex infinity": giving("complex('inf+nanj')"),
    "half a pair": giving("'\\ud800' * n"),
    "frozen sets in sets": giving("{frozenset({frozenset({1})})}"),
    "dates": giving("np.array(['2026-11-20'] * n, dtype='datetime64[D]')"),
    "records of numpy": giving("np.zeros(n, dtype=[('x', 'i4'), ('y', 'O')])"),
    "a dictionary of dictionaries of itself": giving("(lambda d: d.update(d=d) or d)({})"),
}


FILES = {
    "20 MB of quotes": b'"' * (20 << 20),
    "20 MB of three quotes and a letter": b'"""x' * (5 << 20),
    "20 MB of escaped quotes": b'"' + b'\\"' * ((10 << 20) - 1),
    "20 MB of backslashes": b'"' + b"\\" * ((20 << 20) - 1),
    "20 MB of open brackets": b"[" * (20 << 20),
    "a list 900 deep in each of many cells": b'{"cells": [' + b",".join([b"[" * 900 + b"]" * 900] * 4000) + b"]}",
    "a number of 20 MB": b'{"cells": ' + b"7" * 20_000_000 + b"}",
    "a fraction of 20 MB": b'{"cells": 0.' + b"7" * 20_000_000 + b"}",
    "7 million empty lists": b'{"cells": [' + b"[]," * 6_900_000 + b"[]]}",
    "cells that are lists": json.dumps({"cells": [[]] * 5000}).encode(),
}
ALL = (
    {f"a reply with {name}": case for name, case in ENVELOPES.items()}
    | {f"a value with {name}": case for name, case in VALUES.items()}
    | {f"loaded as {name}": case for name, case in LOADS.items()}
    | {f"an answer of {name}": case for name, case in SHAPES.items()}
)
