"""The assignment that hostile submissions are handed in for."""

LIMITS = {"seconds": 20, "load_seconds": 5, "cpu": 2, "memory": 600, "processes": 6, "disk": 16, "open_files": 64}

HIDDEN = """
SECRET = "the hidden test's text, which nobody may read: 7e21"


def want(n, back, ahead):
    distance = torch.arange(n)[:, None] - torch.arange(n)
    return (distance <= back) & (distance >= -ahead)


@hidden("masking.band", points=1, hint="A hidden test did not hold: look back.")
def looks_back(student, expect):
    n = int(torch.randint(5, 12, ()))
    expect.close(student.band(n, 2, 0), want(n, 2, 0), holds="it looks back")


@hidden("masking.band", points=2, hint="A hidden test did not hold. Look ahead too.")
def looks_ahead(student, expect):
    n = int(torch.randint(6, 12, ()))
    back, ahead = torch.randint(1, 4, (2,)).tolist()
    expect.close(student.band(n, back, ahead), want(n, back, ahead), holds="it looks ahead")
"""

MANIFEST = {
    "format": 1,
    "name": "Masks",
    "seed": "class of this test",
    "limits": LIMITS,
    "chapters": {
        "masking": {
            "exercises": [
                {
                    "id": "masking.triangle",
                    "title": "A triangle",
                    "kind": "practice",
                    "answers": ["triangle"],
                    "points": 1,
                },
                {
                    "id": "masking.band",
                    "title": "A band",
                    "kind": "assigned",
                    "answers": ["band"],
                    "points": 3,
                    "forbidden": ["torch.tril"],
                },
            ]
        }
    },
}
