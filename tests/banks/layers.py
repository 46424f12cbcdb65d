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
        "addcmul of standard scores": """
def layer_norm(X, gain, bias, eps):
    var, mean = torch.var_mean(X, dim=-1, unbiased=False, keepdim=True)
    return torch.addcmul(bias, gain, (X - mean) / (var + eps).sqrt())
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
        "torch.add": """
def two_places(X, sublayer, norm):
    said = sublayer(X)
    heard = norm(X)
    return norm(torch.add(X, said)), torch.add(X, sublayer(heard))
""",
        "two functions inside": """
def two_places(X, sublayer, norm):
    def post(Y):
        Y = Y + sublayer(Y)
        return norm(Y)
    def pre(Y):
        residual = Y
        Y = norm(Y)
        return sublayer(Y) + residual
    return post(X), pre(X)
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
        "with units to spare": """
def larger():
    W_1 = torch.zeros(2, 8)
    W_1[0, :3] = torch.tensor([1.0, 0, 0])
    W_1[1, :3] = torch.tensor([-1.0, 1, -1])
    W_2 = torch.zeros(8, 1)
    W_2[:3, 0] = torch.tensor([1.0, 1, -1])
    return W_1, torch.zeros(8), W_2, torch.zeros(1)
""",
        "parameters of a module": """
def larger():
    first, second = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
    with torch.no_grad():
        first.weight[:] = torch.tensor([[1.0, -1.0], [0.0, 2.0], [0.0, -2.0]])
        first.bias.zero_()
        second.weight[:] = torch.tensor([[1.0, 0.5, -0.5]])
        second.bias.zero_()
    return first.weight.T, first.bias, second.weight.T, second.bias
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
        "multi_dot": """
def stack_slope(jacobians):
    identity = torch.eye(jacobians[0].shape[0])
    layers = [identity + J for J in jacobians][::-1]
    return layers[0] if len(layers) == 1 else torch.linalg.multi_dot(layers)
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
        "residuals by name": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    residual = Y
    X = norms[0](residual)
    residual = residual + self_attend(X, X, X)
    X = norms[1](residual)
    residual = residual + cross_attend(X, memory, memory)
    X = norms[2](residual)
    return residual + feed_forward(X)
""",
        "in place on a copy": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    X = Y.clone()
    heard = norms[0](X)
    X += self_attend(heard, heard, heard)
    X += cross_attend(norms[1](X), memory, memory)
    X += feed_forward(norms[2](X))
    return X
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
        "a projection": """
def norm_backward(X, G, eps):
    d = X.shape[-1]
    C = X - X.mean(-1, keepdim=True)
    s2 = (C * C).sum(-1, keepdim=True) / d + eps
    P = G - G.mean(-1, keepdim=True)
    return (P - C * (P * C).sum(-1, keepdim=True) / (d * s2)) / s2**0.5
""",
        "word by word": """
def norm_backward(X, G, eps):
    d, rows = X.shape[-1], []
    for x, g in zip(X.reshape(-1, d), G.reshape(-1, d)):
        s = ((x - x.mean()).pow(2).mean() + eps).sqrt()
        z = (x - x.mean()) / s
        rows.append((g - g.sum() / d - z * torch.dot(g, z) / d) / s)
    return torch.stack(rows).view(X.shape)
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
        "torch's std, and ε outside": """
def layer_norm(X, gain, bias, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    return gain * centred / (X.std(dim=-1, keepdim=True) + eps) + bias
""",
        "no ε": """
def layer_norm(X, gain, bias, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    variance = (centred**2).mean(dim=-1, keepdim=True)
    return gain * centred / variance.sqrt() + bias
""",
        "γ and β forgotten": """
def layer_norm(X, gain, bias, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    variance = (centred**2).mean(dim=-1, keepdim=True)
    return centred / torch.sqrt(variance + eps)
""",
        "γ forgotten": """
def layer_norm(X, gain, bias, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    variance = (centred**2).mean(dim=-1, keepdim=True)
    return centred / torch.sqrt(variance + eps) + bias
""",
        "β forgotten": """
def layer_norm(X, gain, bias, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    variance = (centred**2).mean(dim=-1, keepdim=True)
    return gain * centred / torch.sqrt(variance + eps)
""",
        "β before γ": """
def layer_norm(X, gain, bias, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    variance = (centred**2).mean(dim=-1, keepdim=True)
    return gain * (centred / torch.sqrt(variance + eps) + bias)
""",
        "γ and β exchanged": """
def layer_norm(X, gain, bias, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    variance = (centred**2).mean(dim=-1, keepdim=True)
    return bias * centred / torch.sqrt(variance + eps) + gain
""",
        "mean not subtracted": """
def layer_norm(X, gain, bias, eps):
    return gain * X / torch.sqrt((X**2).mean(dim=-1, keepdim=True) + eps) + bias
""",
        "only centred": """
def layer_norm(X, gain, bias, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    return gain * centred + bias
""",
        "divided by the length": """
def layer_norm(X, gain, bias, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    return gain * centred / torch.sqrt((centred**2).sum(dim=-1, keepdim=True) + eps) + bias
""",
        "changes its input": """
def layer_norm(X, gain, bias, eps):
    X -= X.mean(dim=-1, keepdim=True)
    return gain * X / torch.sqrt((X**2).mean(dim=-1, keepdim=True) + eps) + bias
""",
        "forbidden": """
def layer_norm(X, gain, bias, eps):
    return F.layer_norm(X, X.shape[-1:], gain, bias, eps)
""",
        "ε squared": """
def layer_norm(X, gain, bias, eps):
    mean, variance = X.mean(dim=-1, keepdim=True), X.var(dim=-1, keepdim=True, correction=0)
    return gain * (X - mean) / torch.sqrt(variance + eps**2) + bias
""",
        "keepdim forgotten": """
def layer_norm(X, gain, bias, eps):
    mean, variance = X.mean(dim=-1), X.var(dim=-1, correction=0)
    return gain * (X - mean) / torch.sqrt(variance + eps) + bias
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
        "X and the change normed apart": """
def two_places(X, sublayer, norm):
    return norm(X) + norm(sublayer(X)), X + sublayer(norm(X))
""",
        "norm is ignored": """
def two_places(X, sublayer, norm):
    return X + sublayer(X), X + sublayer(norm(X))
""",
        "normed X in post-norm": """
def two_places(X, sublayer, norm):
    return norm(X + sublayer(norm(X))), X + sublayer(norm(X))
""",
        "sub-layer is ignored": """
def two_places(X, sublayer, norm):
    return norm(X + X), X + sublayer(norm(X))
""",
        "sub-layer of the norm": """
def two_places(X, sublayer, norm):
    return sublayer(norm(X)), norm(X + sublayer(X))
""",
        "no residual in pre-norm": """
def two_places(X, sublayer, norm):
    return norm(X + sublayer(X)), sublayer(norm(X))
""",
        "norm after the sub-layer": """
def two_places(X, sublayer, norm):
    return norm(X + sublayer(X)), X + norm(sublayer(X))
""",
        "post-norm twice": """
def two_places(X, sublayer, norm):
    return norm(X + sublayer(X)), norm(sublayer(X) + X)
""",
        "no norm in pre-norm": """
def two_places(X, sublayer, norm):
    return norm(X + sublayer(X)), X + sublayer(X)
""",
        "pre-norm of the post-norm layer": """
def two_places(X, sublayer, norm):
    X = norm(X + sublayer(X))
    post = X
    return post, X + sublayer(norm(X))
""",
        "no pair": """
def two_places(X, sublayer, norm):
    return norm(X + sublayer(X))
""",
        "changes its input": """
def two_places(X, sublayer, norm):
    pre = X + sublayer(norm(X))
    X += sublayer(X)
    return norm(X), pre
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
        "the distance": """
def larger():
    W_1 = torch.tensor([[1.0, -1], [-1, 1]])
    W_2 = torch.tensor([[1.0], [1]])
    return W_1, torch.zeros(W_1.shape[1]), W_2, torch.zeros(1)
""",
        "the sum of both": """
def larger():
    W_1 = torch.tensor([[1.0, -1], [1, -1]])
    W_2 = torch.tensor([[1.0], [-1]])
    return W_1, torch.zeros(W_1.shape[1]), W_2, torch.zeros(1)
""",
        "the mean of both": """
def larger():
    W_1 = torch.tensor([[1.0, -1], [1, -1]])
    W_2 = torch.tensor([[0.5], [-0.5]])
    return W_1, torch.zeros(W_1.shape[1]), W_2, torch.zeros(1)
""",
        "not halved": """
def larger():
    W_1 = torch.tensor([[1.0, -1, 1, -1], [1, -1, -1, 1]])
    W_2 = torch.tensor([[1.0], [-1], [1], [1]])
    return W_1, torch.zeros(W_1.shape[1]), W_2, torch.zeros(1)
""",
        "only one of the two": """
def larger():
    W_1 = torch.tensor([[0.0, 0], [1, -1]])
    W_2 = torch.tensor([[1.0], [-1]])
    return W_1, torch.zeros(W_1.shape[1]), W_2, torch.zeros(1)
""",
        "lifted above 0": """
def larger():
    W_1 = torch.tensor([[1.0, 0], [-1, 1]])
    W_2 = torch.tensor([[1.0], [1]])
    return W_1, torch.tensor([0.0, 100.0]), W_2, torch.tensor([-100.0])
""",
        "no four parameters": """
def larger():
    return torch.tensor([[1.0, 0, 0], [-1, 1, -1]]), torch.tensor([[1.0], [1], [-1]])
""",
        "shapes that do not fit": """
def larger():
    W_1 = torch.tensor([[1.0, 0, 0], [-1, 1, -1]])
    return W_1, torch.zeros(3), torch.tensor([1.0, 1, -1]), torch.zeros(1)
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
        "transposed": """
def stack_slope(jacobians):
    slope = torch.eye(len(jacobians[0]))
    for J in jacobians:
        slope = (torch.eye(len(J)) + J) @ slope
    return slope.T
""",
        "the top layer left out": """
def stack_slope(jacobians):
    slope = torch.eye(len(jacobians[0]))
    for J in jacobians[:-1]:
        slope = (torch.eye(len(J)) + J) @ slope
    return slope
""",
        "the bottom layer left out": """
def stack_slope(jacobians):
    slope = torch.eye(len(jacobians[0]))
    for J in jacobians[1:]:
        slope = (torch.eye(len(J)) + J) @ slope
    return slope
""",
        "entry by entry": """
def stack_slope(jacobians):
    slope = 1
    for J in jacobians:
        slope = slope * (torch.eye(len(J)) + J)
    return slope
""",
        "a sum of the layers' slopes": """
def stack_slope(jacobians):
    return sum(torch.eye(len(J)) + J for J in jacobians)
""",
        "the residual subtracted": """
def stack_slope(jacobians):
    slope = torch.eye(len(jacobians[0]))
    for J in jacobians:
        slope = (J - torch.eye(len(J))) @ slope
    return slope
""",
        "changes its input": """
def stack_slope(jacobians):
    jacobians.reverse()
    slope = torch.eye(len(jacobians[0]))
    for J in jacobians:
        slope = slope @ (torch.eye(len(J)) + J)
    return slope
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
        "the memory asks": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    Y = Y + self_attend(Z, Z, Z)
    Z = norms[1](Y)
    Y = Y + cross_attend(memory, Z, Z)
    return Y + feed_forward(norms[2](Y))
""",
        "self-attention reads the bare sum": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Y = Y + self_attend(Y, Y, Y)
    Y = Y + cross_attend(norms[1](Y), memory, memory)
    return Y + feed_forward(norms[2](Y))
""",
        "only the queries normed": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Y = Y + self_attend(norms[0](Y), Y, Y)
    Y = Y + cross_attend(norms[1](Y), memory, memory)
    return Y + feed_forward(norms[2](Y))
""",
        "the feed-forward network reads the bare sum": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    Y = Y + self_attend(Z, Z, Z)
    Y = Y + cross_attend(norms[1](Y), memory, memory)
    return Y + feed_forward(Y)
""",
        "one norm for all": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    Y = Y + self_attend(Z, Z, Z)
    Y = Y + cross_attend(norms[0](Y), memory, memory)
    return Y + feed_forward(norms[0](Y))
""",
        "norms in another order": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    Y = Y + self_attend(Z, Z, Z)
    Y = Y + cross_attend(norms[2](Y), memory, memory)
    return Y + feed_forward(norms[1](Y))
""",
        "no residual at all": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    Y = self_attend(Z, Z, Z)
    Y = cross_attend(norms[1](Y), memory, memory)
    return feed_forward(norms[2](Y))
""",
        "the normed sum goes round": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Y = norms[0](Y)
    Y = Y + self_attend(Y, Y, Y)
    Y = norms[1](Y)
    Y = Y + cross_attend(Y, memory, memory)
    Y = norms[2](Y)
    return Y + feed_forward(Y)
""",
        "cross-attention first": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Y = Y + cross_attend(norms[0](Y), memory, memory)
    Z = norms[1](Y)
    Y = Y + self_attend(Z, Z, Z)
    return Y + feed_forward(norms[2](Y))
""",
        "sub-layers side by side": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    first = self_attend(Z, Z, Z)
    second = cross_attend(norms[1](Y), memory, memory)
    return Y + first + second + feed_forward(norms[2](Y))
""",
        "cross-attention forgotten": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    Y = Y + self_attend(Z, Z, Z)
    Y = Y
    return Y + feed_forward(norms[2](Y))
""",
        "self-attention forgotten": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Y = Y
    Y = Y + cross_attend(norms[1](Y), memory, memory)
    return Y + feed_forward(norms[2](Y))
""",
        "the feed-forward network forgotten": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    Y = Y + self_attend(Z, Z, Z)
    Y = Y + cross_attend(norms[1](Y), memory, memory)
    return Y
""",
        "changes its input": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    Y += self_attend(Z, Z, Z)
    Y = Y + cross_attend(norms[1](Y), memory, memory)
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
        "μ held fixed": """
def norm_backward(X, G, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    s = torch.sqrt((centred**2).mean(dim=-1, keepdim=True) + eps)
    Z = centred / s
    return (G - Z * (G * Z).mean(dim=-1, keepdim=True)) / s
""",
        "divided by the variance": """
def norm_backward(X, G, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    s = torch.sqrt((centred**2).mean(dim=-1, keepdim=True) + eps)
    Z = centred / s
    return (G - G.mean(dim=-1, keepdim=True) - Z * (G * Z).mean(dim=-1, keepdim=True)) / s**2
""",
        "only G divided by σ": """
def norm_backward(X, G, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    s = torch.sqrt((centred**2).mean(dim=-1, keepdim=True) + eps)
    Z = centred / s
    return G / s - G.mean(dim=-1, keepdim=True) - Z * (G * Z).mean(dim=-1, keepdim=True)
""",
        "no ε": """
def norm_backward(X, G, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    s = torch.sqrt((centred**2).mean(dim=-1, keepdim=True))
    Z = centred / s
    return (G - G.mean(dim=-1, keepdim=True) - Z * (G * Z).mean(dim=-1, keepdim=True)) / s
""",
        "a sign turned": """
def norm_backward(X, G, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    s = torch.sqrt((centred**2).mean(dim=-1, keepdim=True) + eps)
    Z = centred / s
    return (G - G.mean(dim=-1, keepdim=True) + Z * (G * Z).mean(dim=-1, keepdim=True)) / s
""",
        "z without its partner": """
def norm_backward(X, G, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    s = torch.sqrt((centred**2).mean(dim=-1, keepdim=True) + eps)
    Z = centred / s
    return (G - G.mean(dim=-1, keepdim=True) - (G * Z).mean(dim=-1, keepdim=True)) / s
""",
        "X in place of Z": """
def norm_backward(X, G, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    s = torch.sqrt((centred**2).mean(dim=-1, keepdim=True) + eps)
    Z = centred / s
    return (G - G.mean(dim=-1, keepdim=True) - X * (G * X).mean(dim=-1, keepdim=True)) / s
""",
        "variance unbiased": """
def norm_backward(X, G, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    s = torch.sqrt(X.var(dim=-1, keepdim=True) + eps)
    Z = centred / s
    return (G - G.mean(dim=-1, keepdim=True) - Z * (G * Z).mean(dim=-1, keepdim=True)) / s
""",
        "over the words": """
def norm_backward(X, G, eps):
    centred = X - X.mean(dim=-2, keepdim=True)
    s = torch.sqrt((centred**2).mean(dim=-2, keepdim=True) + eps)
    Z = centred / s
    return (G - G.mean(dim=-2, keepdim=True) - Z * (G * Z).mean(dim=-2, keepdim=True)) / s
""",
        "the forward pass": """
def norm_backward(X, G, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    s = torch.sqrt((centred**2).mean(dim=-1, keepdim=True) + eps)
    Z = centred / s
    return Z
""",
        "G is ignored": """
def norm_backward(X, G, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    s = torch.sqrt((centred**2).mean(dim=-1, keepdim=True) + eps)
    Z = centred / s
    return G * Z
""",
        "changes its input": """
def norm_backward(X, G, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    s = torch.sqrt((centred**2).mean(dim=-1, keepdim=True) + eps)
    Z = centred / s
    G /= s
    return G - G.mean(dim=-1, keepdim=True) - Z * (G * Z).mean(dim=-1, keepdim=True)
""",
        "forbidden": """
def norm_backward(X, G, eps):
    X = X.clone().requires_grad_()
    centred = X - X.mean(dim=-1, keepdim=True)
    Z = centred / torch.sqrt((centred**2).mean(dim=-1, keepdim=True) + eps)
    return torch.autograd.grad(Z, X, G)[0]
""",
    },
}
