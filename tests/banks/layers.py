"""Right and wrong answers to the exercises of chapter `layers`."""

RIGHT = {
    "layers.layer-norm": {
        "var and rsqrt": """
def layer_norm(X, gain, bias, eps):
    return (X - X.mean(-1, keepdim=True)) * torch.rsqrt(X.var(-1, keepdim=True, correction=0) + eps) * gain + bias
""",
        "loops": """
def layer_norm(X, gain, bias, eps):
    rows = []
    for x in X.reshape(-1, X.shape[-1]):
        d = len(x)
        mean = sum(x) / d
        variance = sum((c - mean) ** 2 for c in x) / d
        rows.append(torch.stack([g * (c - mean) / math.sqrt(variance + eps) + b for c, g, b in zip(x, gain, bias)]))
    return torch.stack(rows).reshape(X.shape)
""",
        "mean of the squares less the square of the mean": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    variance = (X * X).mean(dim=-1, keepdim=True) - mean**2
    return gain * (X - mean) / (variance + eps) ** 0.5 + bias
""",
    },
    "layers.two-places": {
        "step by step": """
def two_places(X, sublayer, norm):
    post = X.clone()
    post += sublayer(X)
    pre = sublayer(norm(X))
    pre = pre + X
    return norm(post), pre
""",
        "one helper": """
def two_places(X, sublayer, norm):
    def around(f):
        return X + f(X)
    return [norm(around(sublayer)), around(lambda Z: sublayer(norm(Z)))]
""",
    },
    "layers.larger": {
        "half the sum and half the distance": """
def larger():
    W_1 = torch.tensor([[1.0, -1, 1, -1], [1, -1, -1, 1]])  # a + b, −a − b, a − b, b − a
    W_2 = torch.tensor([[0.5], [-0.5], [0.5], [0.5]])
    return W_1, torch.zeros(4), W_2, torch.zeros(1)
""",
        "from the side of a, as lists": """
def larger():
    return [[-1.0, 1.0, -1.0], [1.0, 0.0, 0.0]], [0.0, 0.0, 0.0], [[1.0], [1.0], [-1.0]], [0.0]
""",
    },
    "layers.stack-slope": {
        "product from the top": """
def stack_slope(jacobians):
    slope = torch.eye(jacobians[0].shape[-1])
    for J in reversed(jacobians):
        slope = slope @ (torch.eye(len(J)) + J)
    return slope
""",
        "reduce": """
def stack_slope(jacobians):
    from functools import reduce
    steps = [torch.eye(len(J)) + J for J in jacobians]
    return reduce(lambda below, step: step @ below, steps)
""",
        "a sum over paths": """
def stack_slope(jacobians):
    from itertools import product
    total = torch.zeros_like(jacobians[0])
    for path in product([False, True], repeat=len(jacobians)):
        slope = torch.eye(len(total))
        for J, through in zip(jacobians, path):
            slope = J @ slope if through else slope
        total = total + slope
    return total
""",
    },
    "layers.decoder-layer": {
        "one helper": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    parts = [lambda Z: self_attend(Z, Z, Z), lambda Z: cross_attend(Z, memory, memory), feed_forward]
    for part, norm in zip(parts, norms):
        Y = Y + part(norm(Y))
    return Y
""",
        "names for everything": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_1, norm_2, norm_3 = norms
    normed = norm_1(Y)
    heard = Y + self_attend(Q=normed, K=normed, V=normed)
    told = heard + cross_attend(norm_2(heard), memory, memory)
    return told + feed_forward(norm_3(told))
""",
    },
    "layers.norm-backward": {
        "the whole Jacobian": """
def norm_backward(X, G, eps):
    d = X.shape[-1]
    centred = X - X.mean(dim=-1, keepdim=True)
    s = (centred.pow(2).mean(dim=-1, keepdim=True) + eps).sqrt()
    Z = centred / s
    J = (torch.eye(d) - 1 / d - Z.unsqueeze(-1) * Z.unsqueeze(-2) / d) / s.unsqueeze(-1)
    return torch.einsum("...i,...ij->...j", G, J)
""",
        "step by step": """
def norm_backward(X, G, eps):
    d = X.shape[-1]
    mu = X.mean(-1, keepdim=True)
    variance = ((X - mu) ** 2).mean(-1, keepdim=True)
    s = torch.sqrt(variance + eps)
    d_s = -(G * (X - mu)).sum(-1, keepdim=True) / s**2
    d_variance = d_s / (2 * s)
    d_centred = G / s + d_variance * 2 * (X - mu) / d
    return d_centred - d_centred.mean(-1, keepdim=True)
""",
    },
}

WRONG = {
    "layers.layer-norm": {
        "ε outside the root": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    std = X.std(dim=-1, keepdim=True, correction=0)
    return gain * (X - mean) / (std + eps) + bias
""",
        "variance unbiased": """
def layer_norm(X, gain, bias, eps):
    mean, variance = X.mean(dim=-1, keepdim=True), X.var(dim=-1, keepdim=True)
    return gain * (X - mean) / torch.sqrt(variance + eps) + bias
""",
        "over the words": """
def layer_norm(X, gain, bias, eps):
    centred = X - X.mean(dim=0, keepdim=True)
    return gain * centred / torch.sqrt((centred**2).mean(dim=0, keepdim=True) + eps) + bias
""",
        "over everything": """
def layer_norm(X, gain, bias, eps):
    return gain * (X - X.mean()) / torch.sqrt(X.var(correction=0) + eps) + bias
""",
        "divided by the variance": """
def layer_norm(X, gain, bias, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    return gain * centred / ((centred**2).mean(dim=-1, keepdim=True) + eps) + bias
""",
    },
    "layers.two-places": {
        "the two swapped": """
def two_places(X, sublayer, norm):
    return X + sublayer(norm(X)), norm(X + sublayer(X))
""",
        "norm of the change only": """
def two_places(X, sublayer, norm):
    return X + norm(sublayer(X)), X + sublayer(norm(X))
""",
        "no residual": """
def two_places(X, sublayer, norm):
    return norm(sublayer(X)), sublayer(norm(X))
""",
        "the normed X goes round": """
def two_places(X, sublayer, norm):
    normed = norm(X)
    return norm(X + sublayer(X)), normed + sublayer(normed)
""",
        "norm twice": """
def two_places(X, sublayer, norm):
    return norm(X + sublayer(X)), norm(X + sublayer(norm(X)))
""",
    },
    "layers.larger": {
        "negative numbers cut off": """
def larger():
    return torch.tensor([[1.0, 0], [-1, 1]]), torch.zeros(2), torch.ones(2, 1), torch.zeros(1)
""",
        "each by itself": """
def larger():
    return torch.eye(2), torch.zeros(2), torch.ones(2, 1), torch.zeros(1)
""",
        "the smaller": """
def larger():
    W_1 = torch.tensor([[-1.0, 0, 0], [1, 1, -1]])
    return W_1, torch.zeros(3), torch.tensor([[-1.0], [1], [-1]]), torch.zeros(1)
""",
        "only the difference": """
def larger():
    return torch.tensor([[1.0], [-1.0]]), torch.zeros(1), torch.ones(1, 1), torch.zeros(1)
""",
        "matrices transposed": """
def larger():
    W_1 = torch.tensor([[1.0, -1], [0, 1], [0, -1]])
    return W_1, torch.zeros(3), torch.tensor([[1.0, 1, -1]]), torch.zeros(1)
""",
    },
    "layers.stack-slope": {
        "no residual": """
def stack_slope(jacobians):
    slope = torch.eye(len(jacobians[0]))
    for J in jacobians:
        slope = J @ slope
    return slope
""",
        "the wrong order": """
def stack_slope(jacobians):
    slope = torch.eye(len(jacobians[0]))
    for J in jacobians:
        slope = slope @ (torch.eye(len(J)) + J)
    return slope
""",
        "1 in every entry": """
def stack_slope(jacobians):
    slope = torch.eye(len(jacobians[0]))
    for J in jacobians:
        slope = (1 + J) @ slope
    return slope
""",
        "a sum in place of a product": """
def stack_slope(jacobians):
    return torch.eye(len(jacobians[0])) + torch.stack(list(jacobians)).sum(0)
""",
        "the residual once only": """
def stack_slope(jacobians):
    slope = torch.eye(len(jacobians[0]))
    for J in jacobians:
        slope = J @ slope
    return torch.eye(len(slope)) + slope
""",
    },
    "layers.decoder-layer": {
        "post-norm": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Y = norms[0](Y + self_attend(Y, Y, Y))
    Y = norms[1](Y + cross_attend(Y, memory, memory))
    return norms[2](Y + feed_forward(Y))
""",
        "the memory normed": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    Y = Y + self_attend(Z, Z, Z)
    source = norms[1](memory)
    Y = Y + cross_attend(norms[1](Y), source, source)
    return Y + feed_forward(norms[2](Y))
""",
        "cross-attention to itself": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    for attend, norm in ((self_attend, norms[0]), (cross_attend, norms[1])):
        Z = norm(Y)
        Y = Y + attend(Z, Z, Z)
    return Y + feed_forward(norms[2](Y))
""",
        "cross-attention reads the bare sum": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    Y = Y + self_attend(Z, Z, Z)
    Y = Y + cross_attend(Y, memory, memory)
    return Y + feed_forward(norms[2](Y))
""",
        "a residual left out": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    Y = Y + self_attend(Z, Z, Z)
    Y = cross_attend(norms[1](Y), memory, memory)
    return Y + feed_forward(norms[2](Y))
""",
    },
    "layers.norm-backward": {
        "μ and σ held fixed": """
def norm_backward(X, G, eps):
    variance = X.var(dim=-1, keepdim=True, correction=0)
    return G / torch.sqrt(variance + eps)
""",
        "σ held fixed": """
def norm_backward(X, G, eps):
    variance = X.var(dim=-1, keepdim=True, correction=0)
    return (G - G.mean(dim=-1, keepdim=True)) / torch.sqrt(variance + eps)
""",
        "not divided by σ": """
def norm_backward(X, G, eps):
    Z = (X - X.mean(-1, keepdim=True)) / torch.sqrt(X.var(-1, keepdim=True, correction=0) + eps)
    return G - G.mean(-1, keepdim=True) - Z * (G * Z).mean(-1, keepdim=True)
""",
        "sums in place of means": """
def norm_backward(X, G, eps):
    s = torch.sqrt(X.var(-1, keepdim=True, correction=0) + eps)
    Z = (X - X.mean(-1, keepdim=True)) / s
    return (G - G.sum(-1, keepdim=True) - Z * (G * Z).sum(-1, keepdim=True)) / s
""",
    },
}
