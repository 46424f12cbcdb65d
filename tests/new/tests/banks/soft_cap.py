"""Right and wrong answers to the exercises of chapter `soft_cap`."""

RIGHT, WRONG = {}, {}

RIGHT["soft_cap.soft-cap"] = {
    "a method": """
def soft_cap(X, cap):
    return (X / cap).tanh() * cap
""",
    "by exponentials": """
def soft_cap(X, cap):
    e = (2 * X / cap).exp()
    return cap * (e - 1) / (e + 1)
""",
    "on top of the sigmoid": """
def soft_cap(X, cap):
    return cap * (2 * (2 * X / cap).sigmoid() - 1)
""",
    "number by number": """
def soft_cap(X, cap):
    bent = [cap * math.tanh(x / cap) for x in X.flatten().tolist()]
    return torch.tensor(bent).view(X.shape)
""",
}
WRONG["soft_cap.soft-cap"] = {
    "no cap in front": """
def soft_cap(X, cap):
    return torch.tanh(X / cap)
""",
    "not divided": """
def soft_cap(X, cap):
    return cap * torch.tanh(X)
""",
    "cut off": """
def soft_cap(X, cap):
    return X.clamp(-cap, cap)
""",
    "neither": """
def soft_cap(X, cap):
    return torch.tanh(X)
""",
    "divided twice": """
def soft_cap(X, cap):
    return torch.tanh(X / cap) / cap
""",
    "multiplied inside": """
def soft_cap(X, cap):
    return cap * torch.tanh(X * cap)
""",
    "the sigmoid": """
def soft_cap(X, cap):
    return cap * torch.sigmoid(X / cap)
""",
    "unchanged": """
def soft_cap(X, cap):
    return X * 1
""",
    "from above only": """
def soft_cap(X, cap):
    return torch.minimum(X, torch.full_like(X, cap))
""",
}
RIGHT["soft_cap.hard-cap"] = {
    "where": """
def hard_cap(X, cap):
    return torch.where(X > cap, cap, torch.where(X < -cap, -cap, X))
""",
    "clip": """
def hard_cap(X, cap):
    return torch.clip(X, min=-cap, max=cap)
""",
    "hardtanh": """
def hard_cap(X, cap):
    return F.hardtanh(X, -cap, cap)
""",
    "sign and size": """
def hard_cap(X, cap):
    return X.sign() * X.abs().clamp(max=cap)
""",
}
WRONG["soft_cap.hard-cap"] = {
    "from above only": """
def hard_cap(X, cap):
    return X.clamp(max=cap)
""",
    "from below only": """
def hard_cap(X, cap):
    return X.clamp(min=-cap)
""",
    "nothing below zero": """
def hard_cap(X, cap):
    return X.clamp(0, cap)
""",
    "a cap of 1": """
def hard_cap(X, cap):
    return X.clamp(-1, 1)
""",
    "the soft one": """
def hard_cap(X, cap):
    return cap * torch.tanh(X / cap)
""",
    "unchanged": """
def hard_cap(X, cap):
    return X * 1
""",
    "without signs": """
def hard_cap(X, cap):
    return X.abs().clamp(max=cap)
""",
    "large ones to zero": """
def hard_cap(X, cap):
    return torch.where(X.abs() <= cap, X, 0.0)
""",
    "made smaller": """
def hard_cap(X, cap):
    return cap * X / X.abs().amax()
""",
}
RIGHT["soft_cap.cap-slope"] = {
    "by cosh": """
def cap_slope(X, cap):
    return torch.cosh(X / cap).pow(-2)
""",
    "by the sigmoid": """
def cap_slope(X, cap):
    s = torch.sigmoid(2 * X / cap)
    return 4 * s * (1 - s)
""",
    "two factors": """
def cap_slope(X, cap):
    t = (X / cap).tanh()
    return (1 - t) * (1 + t)
""",
    "by exponentials": """
def cap_slope(X, cap):
    e = (-2 * X.abs() / cap).exp()
    return 4 * e / (1 + e).square()
""",
}
WRONG["soft_cap.cap-slope"] = {
    "not squared": """
def cap_slope(X, cap):
    return 1 - torch.tanh(X / cap)
""",
    "not the slope": """
def cap_slope(X, cap):
    return cap * torch.tanh(X / cap)
""",
    "no chain rule": """
def cap_slope(X, cap):
    return cap * (1 - torch.tanh(X / cap) ** 2)
""",
    "divided": """
def cap_slope(X, cap):
    return (1 - torch.tanh(X / cap) ** 2) / cap
""",
    "no cap inside": """
def cap_slope(X, cap):
    return 1 - torch.tanh(X) ** 2
""",
    "the hard one": """
def cap_slope(X, cap):
    return (X.abs() < cap).float()
""",
    "the other part": """
def cap_slope(X, cap):
    return torch.tanh(X / cap) ** 2
""",
    "the sigmoid": """
def cap_slope(X, cap):
    return torch.sigmoid(X / cap) * (1 - torch.sigmoid(X / cap))
""",
    "added": """
def cap_slope(X, cap):
    return 1 + torch.tanh(X / cap) ** 2
""",
}
RIGHT["soft_cap.capped-weights"] = {
    "F": """
def capped_weights(S, cap):
    return F.softmax(cap * (S / cap).tanh(), dim=-1)
""",
    "by hand": """
def capped_weights(S, cap):
    e = (cap * (S / cap).tanh()).exp()
    return e / e.sum(dim=-1, keepdim=True)
""",
    "by the logarithm": """
def capped_weights(S, cap):
    S = cap * torch.tanh(S / cap)
    return (S - S.logsumexp(-1, keepdim=True)).exp()
""",
    "row by row": """
def capped_weights(S, cap):
    rows = [(cap * torch.tanh(row / cap)).softmax(0) for row in S.reshape(-1, S.shape[-1])]
    return torch.stack(rows).reshape(S.shape)
""",
}
WRONG["soft_cap.capped-weights"] = {
    "no cap": """
def capped_weights(S, cap):
    return S.softmax(-1)
""",
    "capped too late": """
def capped_weights(S, cap):
    return cap * torch.tanh(S.softmax(-1) / cap)
""",
    "over the queries": """
def capped_weights(S, cap):
    return (cap * torch.tanh(S / cap)).softmax(-2)
""",
    "cut off": """
def capped_weights(S, cap):
    return S.clamp(-cap, cap).softmax(-1)
""",
    "a temperature": """
def capped_weights(S, cap):
    return (S / cap).softmax(-1)
""",
    "not divided": """
def capped_weights(S, cap):
    return (cap * torch.tanh(S)).softmax(-1)
""",
    "no cap in front": """
def capped_weights(S, cap):
    return torch.tanh(S / cap).softmax(-1)
""",
    "scores, not weights": """
def capped_weights(S, cap):
    return cap * torch.tanh(S / cap)
""",
    "logarithms": """
def capped_weights(S, cap):
    return (cap * torch.tanh(S / cap)).log_softmax(-1)
""",
}
