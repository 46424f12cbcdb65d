"""Unseen answers to the exercises of chapter `layers`, written from the statements alone."""

RIGHT = {
    "layers.layer-norm": {
        "mean and var": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, keepdim=True, unbiased=False)
    return gain * (X - mean) / torch.sqrt(var + eps) + bias
""",
        "by sums": """
def layer_norm(X, gain, bias, eps):
    d = X.shape[-1]
    centred = X - X.sum(-1, keepdim=True) / d
    variance = (centred**2).sum(-1, keepdim=True) / d
    return centred * (variance + eps) ** -0.5 * gain + bias
""",
        "rsqrt and var_mean": """
def layer_norm(X, gain, bias, eps):
    var, mean = torch.var_mean(X, dim=-1, correction=0, keepdim=True)
    return torch.addcmul(bias, (X - mean) * torch.rsqrt(var + eps), gain)
""",
        "vector by vector": """
def layer_norm(X, gain, bias, eps):
    rows = []
    for x in X.reshape(-1, X.shape[-1]):
        c = x - x.mean()
        rows.append(c / (c.square().mean() + eps).sqrt() * gain + bias)
    return torch.stack(rows).reshape(X.shape)
""",
        "in double precision, then back": """
def layer_norm(X, gain, bias, eps):
    x = X.double()
    x = x - x.mean(-1, keepdim=True)
    x = x / ((x * x).mean(-1, keepdim=True) + eps).sqrt()
    return (x * gain + bias).to(X.dtype)
""",
        "helper with einsum": """
def layer_norm(X, gain, bias, eps):
    def mean(A):
        return A.mean(dim=-1, keepdim=True)

    c = X - mean(X)
    power = torch.einsum("...d,...d->...", c, c).unsqueeze(-1) / c.size(-1)
    return bias + gain * c / (power + eps).sqrt()
""",
        "recursion down to one vector": """
def layer_norm(X, gain, bias, eps):
    if X.dim() > 1:
        return torch.stack([layer_norm(x, gain, bias, eps) for x in X])
    c = X - X.mean()
    return gain * c / torch.sqrt(c.pow(2).mean() + eps) + bias
""",
    },
    "layers.two-places": {
        "one line": """
def two_places(X, sublayer, norm):
    return norm(X + sublayer(X)), X + sublayer(norm(X))
""",
        "step by step": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = norm(X + change)
    normed = norm(X)
    pre = X + sublayer(normed)
    return post, pre
""",
        "two helpers": """
def two_places(X, sublayer, norm):
    def residual(f):
        return lambda Z: Z + f(Z)

    post = norm(residual(sublayer)(X))
    pre = residual(lambda Z: sublayer(norm(Z)))(X)
    return (post, pre)
""",
        "torch.add": """
def two_places(X, sublayer, norm):
    summed = torch.add(X, sublayer(X))
    return norm(summed), torch.add(sublayer(norm(X)), X)
""",
        "loop over the kinds": """
def two_places(X, sublayer, norm):
    results = []
    for is_post in (True, False):
        inner = X if is_post else norm(X)
        out = X + sublayer(inner)
        results.append(norm(out) if is_post else out)
    return tuple(results)
""",
        "class": """
class Layer:
    def __init__(self, sublayer, norm):
        self.sublayer, self.norm = sublayer, norm

    def post(self, X):
        return self.norm(self.sublayer(X) + X)

    def pre(self, X):
        return self.sublayer(self.norm(X)) + X

def two_places(X, sublayer, norm):
    layer = Layer(sublayer, norm)
    return layer.post(X), layer.pre(X)
""",
    },
    "layers.larger": {
        "b plus what a is above it": """
def larger():
    W_1 = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 1.0, -1.0]])
    W_2 = torch.tensor([[1.0], [1.0], [-1.0]])
    return W_1, torch.zeros(3), W_2, torch.zeros(1)
""",
        "a plus what b is above it": """
def larger():
    W_1 = torch.tensor([[-1.0, 1.0, -1.0], [1.0, 0.0, 0.0]])
    W_2 = torch.tensor([1.0, 1.0, -1.0]).reshape(3, 1)
    b_1, b_2 = torch.zeros(3), torch.zeros(1)
    return W_1, b_1, W_2, b_2
""",
        "half the sum and half the distance": """
def larger():
    W_1 = torch.tensor([[1.0, -1.0, 1.0, -1.0], [1.0, -1.0, -1.0, 1.0]])
    W_2 = torch.tensor([[0.5], [-0.5], [0.5], [0.5]])
    return W_1, torch.zeros(4), W_2, torch.zeros(1)
""",
        "columns of units": """
def larger():
    units = [((1.0, 0.0), 1.0), ((-1.0, 0.0), -1.0), ((-1.0, 1.0), 1.0)]
    W_1 = torch.tensor([u for u, _ in units]).T
    W_2 = torch.tensor([[w] for _, w in units])
    return W_1, torch.zeros(len(units)), W_2, torch.zeros(1)
""",
        "filled entry by entry": """
def larger():
    W_1 = torch.zeros(2, 3)
    W_1[0, 0], W_1[1, 0] = 1, -1
    W_1[1, 1] = 1
    W_1[1, 2] = -1
    W_2 = torch.ones(3, 1)
    W_2[2] = -1
    return W_1, torch.zeros(3), W_2, torch.zeros(1)
""",
        "scaled units, one idle": """
def larger():
    W_1 = torch.tensor([[2.0, 0.0, 0.0, 0.0], [-2.0, 4.0, -4.0, 0.0]])
    W_2 = torch.tensor([[0.5], [0.25], [-0.25], [0.0]])
    return W_1, torch.zeros(4), W_2, torch.zeros(1)
""",
        "both ways round, then the mean": """
def larger():
    W_1 = torch.tensor([[1.0, 0, 0, -1, 1, -1], [-1.0, 1, -1, 1, 0, 0]])
    W_2 = torch.tensor([[1.0], [1], [-1], [1], [1], [-1]]) / 2
    return W_1, torch.zeros(6), W_2, torch.zeros(1)
""",
    },
    "layers.stack-slope": {
        "from the bottom up": """
def stack_slope(jacobians):
    eye = torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype)
    total = eye
    for J in jacobians:
        total = (eye + J) @ total
    return total
""",
        "reduce": """
def stack_slope(jacobians):
    from functools import reduce
    steps = [J + torch.eye(J.shape[0], dtype=J.dtype) for J in jacobians]
    return reduce(lambda below, above: above @ below, steps)
""",
        "recursion from the top": """
def stack_slope(jacobians):
    *below, top = jacobians
    step = top + torch.eye(top.shape[0]).to(top)
    return step @ stack_slope(below) if below else step
""",
        "reversed, multiplied from the right": """
def stack_slope(jacobians):
    d = jacobians[0].shape[-1]
    one = torch.eye(d, dtype=jacobians[0].dtype)
    out = one.clone()
    for J in reversed(jacobians):
        out = out @ (one + J)
    return out
""",
        "residual form": """
def stack_slope(jacobians):
    S = torch.eye(jacobians[0].size(0), dtype=jacobians[0].dtype)
    for J in jacobians:
        S = S + J @ S
    return S
""",
        "column by column": """
def stack_slope(jacobians):
    d = jacobians[0].shape[0]
    columns = []
    for j in range(d):
        v = torch.zeros(d, dtype=jacobians[0].dtype)
        v[j] = 1
        for J in jacobians:
            v = v + J @ v
        columns.append(v)
    return torch.stack(columns, dim=1)
""",
        "einsum": """
def stack_slope(jacobians):
    eye = torch.eye(jacobians[0].shape[0], dtype=jacobians[0].dtype)
    out = eye + jacobians[0]
    for J in jacobians[1:]:
        out = torch.einsum("ik,kj->ij", eye + J, out)
    return out
""",
    },
    "layers.decoder-layer": {
        "three sums": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    Y = Y + self_attend(Z, Z, Z)
    Z = norms[1](Y)
    Y = Y + cross_attend(Z, memory, memory)
    return Y + feed_forward(norms[2](Y))
""",
        "unpacked norms, new names": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, inner, inner)
    B = A + cross_attend(norm_cross(A), memory, memory)
    C = B + feed_forward(norm_ff(B))
    return C
""",
        "loop over sub-layers": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    sublayers = [
        lambda X: self_attend(X, X, X),
        lambda X: cross_attend(X, memory, memory),
        feed_forward,
    ]
    for sublayer, norm in zip(sublayers, norms):
        Y = Y + sublayer(norm(Y))
    return Y
""",
        "residual helper": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    def around(X, norm, f):
        return X + f(norm(X))

    Y = around(Y, norms[0], lambda Z: self_attend(Z, Z, Z))
    Y = around(Y, norms[1], lambda Z: cross_attend(Z, memory, memory))
    return around(Y, norms[2], feed_forward)
""",
        "reduce": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    from functools import reduce
    parts = (lambda z: self_attend(z, z, z), lambda z: cross_attend(z, memory, memory), feed_forward)
    return reduce(lambda y, p: y + p[1](p[0](y)), zip(norms, parts), Y)
""",
        "changes summed at the end": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    q = norms[0](Y)
    first = self_attend(q, q, q)
    second = cross_attend(norms[1](Y + first), memory, memory)
    third = feed_forward(norms[2](Y + first + second))
    return Y + first + second + third
""",
        "on a clone": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    out = Y.clone()
    z = norms[0](out)
    out = out + self_attend(z, z, z)
    out = out + cross_attend(norms[1](out), memory, memory)
    out = out + feed_forward(norms[2](out))
    return out
""",
    },
    "layers.norm-backward": {
        "formula": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    Z = centred / s
    return (G - G.mean(-1, keepdim=True) - Z * (G * Z).mean(-1, keepdim=True)) / s
""",
        "through variance and mean, step by step": """
def norm_backward(X, G, eps):
    d = X.shape[-1]
    mu = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, unbiased=False, keepdim=True)
    inv = (var + eps) ** -0.5
    d_var = (G * (X - mu)).sum(-1, keepdim=True) * -0.5 * inv**3
    d_mu = -(G * inv).sum(-1, keepdim=True)
    return G * inv + d_var * 2 * (X - mu) / d + d_mu / d
""",
        "Jacobian of each vector": """
def norm_backward(X, G, eps):
    d = X.shape[-1]
    rows = []
    for x, g in zip(X.reshape(-1, d), G.reshape(-1, d)):
        c = x - x.mean()
        s = torch.sqrt((c * c).mean() + eps)
        J = (torch.eye(d, dtype=X.dtype) - 1 / d - torch.outer(c, c) / (d * s * s)) / s
        rows.append(J @ g)
    return torch.stack(rows).reshape(X.shape)
""",
        "helper that centres": """
def norm_backward(X, G, eps):
    def centre(A):
        return A - A.mean(dim=-1, keepdim=True)

    Z = centre(X)
    var = Z.pow(2).mean(dim=-1, keepdim=True) + eps
    along = (G * Z).mean(dim=-1, keepdim=True) / var
    return centre(G - along * Z) * var.rsqrt()
""",
        "einsum": """
def norm_backward(X, G, eps):
    d = X.size(-1)
    c = X - X.mean(-1, keepdim=True)
    v = torch.einsum("...i,...i->...", c, c).unsqueeze(-1) / d + eps
    dot = torch.einsum("...i,...i->...", G, c).unsqueeze(-1) / d
    return (G - G.mean(-1, keepdim=True)) / v.sqrt() - c * dot / v**1.5
""",
        "in double precision": """
def norm_backward(X, G, eps):
    x, g = X.double(), G.double()
    x = x - x.mean(-1, keepdim=True)
    s = torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    z = x / s
    n = x.shape[-1]
    out = (n * g - g.sum(-1, keepdim=True) - z * (g * z).sum(-1, keepdim=True)) / (n * s)
    return out.to(X.dtype)
""",
        "recursion down to one vector": """
def norm_backward(X, G, eps):
    if X.dim() > 1:
        return torch.stack([norm_backward(x, g, eps) for x, g in zip(X, G)])
    c = X - X.mean()
    s = (c.dot(c) / len(c) + eps).sqrt()
    return (G - G.mean() - c * c.dot(G) / (len(c) * s**2)) / s
""",
    },
}

WRONG = {
    "layers.layer-norm": {
        "unbiased variance": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, keepdim=True, unbiased=True)
    return gain * (X - mean) / torch.sqrt(var + eps) + bias
""",
        "ignores eps": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, keepdim=True, unbiased=False)
    return gain * (X - mean) / torch.sqrt(var) + bias
""",
        "eps outside the root": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, keepdim=True, unbiased=False)
    return gain * (X - mean) / (torch.sqrt(var) + eps) + bias
""",
        "eps hard-coded": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, keepdim=True, unbiased=False)
    return gain * (X - mean) / torch.sqrt(var + 1e-5) + bias
""",
        "ignores the gain": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, keepdim=True, unbiased=False)
    return (X - mean) / torch.sqrt(var + eps) + bias
""",
        "ignores the bias": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, keepdim=True, unbiased=False)
    return gain * (X - mean) / torch.sqrt(var + eps)
""",
        "over the words, not the vector": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=0, keepdim=True)
    var = X.var(dim=0, keepdim=True, unbiased=False)
    return gain * (X - mean) / torch.sqrt(var + eps) + bias
""",
        "over the axis before the last": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-2, keepdim=True)
    var = X.var(dim=-2, keepdim=True, unbiased=False)
    return gain * (X - mean) / torch.sqrt(var + eps) + bias
""",
        "over the whole tensor": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean()
    var = X.var(unbiased=False)
    return gain * (X - mean) / torch.sqrt(var + eps) + bias
""",
        "divides by the variance": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, keepdim=True, unbiased=False)
    return gain * (X - mean) / (var + eps) + bias
""",
        "mean not taken off": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, keepdim=True, unbiased=False)
    return gain * X / torch.sqrt(var + eps) + bias
""",
        "keepdim forgotten": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1)
    var = X.var(dim=-1, unbiased=False)
    return gain * (X - mean) / torch.sqrt(var + eps) + bias
""",
        "axis 1 instead of the last": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=1, keepdim=True)
    var = X.var(dim=1, keepdim=True, unbiased=False)
    return gain * (X - mean) / torch.sqrt(var + eps) + bias
""",
        "gain after the bias": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, keepdim=True, unbiased=False)
    return gain * ((X - mean) / torch.sqrt(var + eps) + bias)
""",
        "gain and bias swapped": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, keepdim=True, unbiased=False)
    return bias * (X - mean) / torch.sqrt(var + eps) + gain
""",
        "bias taken off": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, keepdim=True, unbiased=False)
    return gain * (X - mean) / torch.sqrt(var + eps) - bias
""",
        "sums of squares, not their mean": """
def layer_norm(X, gain, bias, eps):
    d = X.shape[-1]
    centred = X - X.sum(-1, keepdim=True) / d
    variance = (centred**2).sum(-1, keepdim=True)
    return centred * (variance + eps) ** -0.5 * gain + bias
""",
        "changes X in place": """
def layer_norm(X, gain, bias, eps):
    d = X.shape[-1]
    X -= X.sum(-1, keepdim=True) / d
    centred = X
    variance = (centred**2).sum(-1, keepdim=True) / d
    return centred * (variance + eps) ** -0.5 * gain + bias
""",
        "divides by the largest size": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, keepdim=True, unbiased=False)
    return gain * (X - mean) / (X - mean).abs().amax(-1, keepdim=True) + bias
""",
        "one plus gain": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, keepdim=True, unbiased=False)
    return (1 + gain) * (X - mean) / torch.sqrt(var + eps) + bias
""",
        "eps squared": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, keepdim=True, unbiased=False)
    return gain * (X - mean) / torch.sqrt(var + eps**2) + bias
""",
        "calls F.layer_norm": """
def layer_norm(X, gain, bias, eps):
    return F.layer_norm(X, X.shape[-1:], gain, bias, eps)
""",
        "calls F.layer_norm without gain and bias, adds them itself": """
def layer_norm(X, gain, bias, eps):
    return gain * F.layer_norm(X, (X.size(-1),), eps=eps) + bias
""",
        "calls layer_norm through nn.functional": """
def layer_norm(X, gain, bias, eps):
    return nn.functional.layer_norm(X, gain.shape, gain, bias, eps)
""",
        "root mean square only, RMSNorm": """
def layer_norm(X, gain, bias, eps):
    rms = (X.square().mean(-1, keepdim=True) + eps).sqrt()
    return gain * X / rms + bias
""",
        "standard deviation of PyTorch plus eps": """
def layer_norm(X, gain, bias, eps):
    return gain * (X - X.mean(-1, keepdim=True)) / (X.std(-1, keepdim=True) + eps) + bias
""",
        "unit length, not unit variance": """
def layer_norm(X, gain, bias, eps):
    c = X - X.mean(-1, keepdim=True)
    return gain * F.normalize(c, dim=-1, eps=eps) + bias
""",
        "two axes only": """
def layer_norm(X, gain, bias, eps):
    n, d = X.shape
    c = X - X.mean(1).view(n, 1)
    return gain * c / (c.pow(2).mean(1).view(n, 1) + eps).sqrt() + bias
""",
        "mean absolute distance for the spread": """
def layer_norm(X, gain, bias, eps):
    c = X - X.mean(-1, keepdim=True)
    return gain * c / (c.abs().mean(-1, keepdim=True) + eps) + bias
""",
    },
    "layers.two-places": {
        "pair swapped": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = norm(X + change)
    normed = norm(X)
    pre = X + sublayer(normed)
    return pre, post
""",
        "post without the residual": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = norm(change)
    normed = norm(X)
    pre = X + sublayer(normed)
    return post, pre
""",
        "pre without the residual": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = norm(X + change)
    normed = norm(X)
    pre = sublayer(normed)
    return post, pre
""",
        "pre adds the normed X": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = norm(X + change)
    normed = norm(X)
    pre = normed + sublayer(normed)
    return post, pre
""",
        "pre norms the sub-layer's output": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = norm(X + change)
    normed = norm(X)
    pre = X + norm(sublayer(X))
    return post, pre
""",
        "post norms the change only": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = X + norm(change)
    normed = norm(X)
    pre = X + sublayer(normed)
    return post, pre
""",
        "post without a norm": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = X + change
    normed = norm(X)
    pre = X + sublayer(normed)
    return post, pre
""",
        "pre without a norm": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = norm(X + change)
    normed = X
    pre = X + sublayer(normed)
    return post, pre
""",
        "pre normed once more at the end": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = norm(X + change)
    normed = norm(X)
    pre = norm(X + sublayer(normed))
    return post, pre
""",
        "post norms before and after": """
def two_places(X, sublayer, norm):
    change = sublayer(norm(X))
    post = norm(X + change)
    normed = norm(X)
    pre = X + sublayer(normed)
    return post, pre
""",
        "post adds X after the norm as well": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = X + norm(X + change)
    normed = norm(X)
    pre = X + sublayer(normed)
    return post, pre
""",
        "changes X in place in post": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = norm(X.add_(change))
    normed = norm(X)
    pre = X + sublayer(normed)
    return post, pre
""",
        "pre takes the change of post": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = norm(X + change)
    normed = norm(X)
    pre = norm(X) + change
    return post, pre
""",
        "pre takes post for its input": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = norm(X + change)
    normed = norm(post)
    pre = X + sublayer(normed)
    return post, pre
""",
        "pre adds to post": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = norm(X + change)
    normed = norm(X)
    pre = post + sublayer(normed)
    return post, pre
""",
        "minus": """
def two_places(X, sublayer, norm):
    return norm(X - sublayer(X)), X - sublayer(norm(X))
""",
        "post only": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = norm(X + change)
    normed = norm(X)
    pre = X + sublayer(normed)
    return post
""",
        "pre twice": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = norm(X + change)
    normed = norm(X)
    pre = X + sublayer(normed)
    return pre, pre
""",
        "norms X and the change each by itself": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = norm(X) + norm(change)
    normed = norm(X)
    pre = X + sublayer(normed)
    return post, pre
""",
        "both in one tensor": """
def two_places(X, sublayer, norm):
    change = sublayer(X)
    post = norm(X + change)
    normed = norm(X)
    pre = X + sublayer(normed)
    return torch.cat([post, pre])
""",
        "changes X in place by +=": """
def two_places(X, sublayer, norm):
    pre = X + sublayer(norm(X))
    X += sublayer(X)
    return norm(X), pre
""",
        "sub-layer around the sum": """
def two_places(X, sublayer, norm):
    return norm(sublayer(X + X)), sublayer(norm(X)) + norm(X)
""",
        "ignores the norm given, takes PyTorch's": """
def two_places(X, sublayer, norm):
    def own(Z):
        return F.layer_norm(Z, Z.shape[-1:])

    return own(X + sublayer(X)), X + sublayer(own(X))
""",
        "ignores the sub-layer": """
def two_places(X, sublayer, norm):
    return norm(X + X), X + norm(X)
""",
    },
    "layers.larger": {
        "the smaller of two": """
def larger():
    W_1 = torch.tensor([[-1.0, 0.0, 0.0], [1.0, 1.0, -1.0]])
    W_2 = torch.tensor([[-1.0], [1.0], [-1.0]])
    return W_1, torch.zeros(3), W_2, torch.zeros(1)
""",
        "size of b, not b": """
def larger():
    W_1 = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 1.0, -1.0]])
    W_2 = torch.tensor([[1.0], [1.0], [1.0]])
    return W_1, torch.zeros(3), W_2, torch.zeros(1)
""",
        "wrong sign of the difference": """
def larger():
    W_1 = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 1.0, -1.0]])
    W_2 = torch.tensor([[-1.0], [1.0], [-1.0]])
    return W_1, torch.zeros(3), W_2, torch.zeros(1)
""",
        "b minus a, added to b": """
def larger():
    W_1 = torch.tensor([[-1.0, 0.0, 0.0], [1.0, 1.0, -1.0]])
    W_2 = torch.tensor([[1.0], [1.0], [-1.0]])
    return W_1, torch.zeros(3), W_2, torch.zeros(1)
""",
        "a sum instead of a difference": """
def larger():
    W_1 = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, -1.0]])
    W_2 = torch.tensor([[1.0], [1.0], [-1.0]])
    return W_1, torch.zeros(3), W_2, torch.zeros(1)
""",
        "sum and distance not halved": """
def larger():
    W_1 = torch.tensor([[1.0, -1.0, 1.0, -1.0], [1.0, -1.0, -1.0, 1.0]])
    W_2 = torch.tensor([[1.0], [-1.0], [1.0], [1.0]])
    return W_1, torch.zeros(4), W_2, torch.zeros(1)
""",
        "sum of the halves, negative sums lost": """
def larger():
    W_1 = torch.tensor([[1.0, -1.0, 1.0, -1.0], [1.0, -1.0, -1.0, 1.0]])
    W_2 = torch.tensor([[0.5], [0.0], [0.5], [0.5]])
    return W_1, torch.zeros(4), W_2, torch.zeros(1)
""",
        "difference one way only": """
def larger():
    W_1 = torch.tensor([[1.0, -1.0, 1.0, -1.0], [1.0, -1.0, -1.0, 1.0]])
    W_2 = torch.tensor([[0.5], [-0.5], [0.5], [0.0]])
    return W_1, torch.zeros(4), W_2, torch.zeros(1)
""",
        "W_1 transposed": """
def larger():
    W_1 = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 1.0, -1.0]])
    W_2 = torch.tensor([[1.0], [1.0], [-1.0]])
    return W_1.T, torch.zeros(3), W_2, torch.zeros(1)
""",
        "W_2 transposed": """
def larger():
    W_1 = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 1.0, -1.0]])
    W_2 = torch.tensor([[1.0], [1.0], [-1.0]])
    return W_1, torch.zeros(3), W_2.T, torch.zeros(1)
""",
        "W_2 without its second axis": """
def larger():
    W_1 = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 1.0, -1.0]])
    W_2 = torch.tensor([[1.0], [1.0], [-1.0]])
    return W_1, torch.zeros(3), W_2.squeeze(1), torch.zeros(1)
""",
        "biases as single numbers": """
def larger():
    W_1 = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 1.0, -1.0]])
    W_2 = torch.tensor([[1.0], [1.0], [-1.0]])
    return W_1, torch.tensor(0.0), W_2, torch.tensor(0.0)
""",
        "bias of one left over": """
def larger():
    W_1 = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 1.0, -1.0]])
    W_2 = torch.tensor([[1.0], [1.0], [-1.0]])
    return W_1, torch.zeros(3), W_2, torch.ones(1)
""",
        "biases of one in the units": """
def larger():
    W_1 = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 1.0, -1.0]])
    W_2 = torch.tensor([[1.0], [1.0], [-1.0]])
    return W_1, torch.ones(3), W_2, torch.zeros(1)
""",
        "order of the parameters wrong": """
def larger():
    W_1 = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 1.0, -1.0]])
    W_2 = torch.tensor([[1.0], [1.0], [-1.0]])
    return W_1, W_2, torch.zeros(3), torch.zeros(1)
""",
        "lists instead of tensors": """
def larger():
    W_1 = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 1.0, -1.0]])
    W_2 = torch.tensor([[1.0], [1.0], [-1.0]])
    return W_1.tolist(), [0.0] * 3, W_2.tolist(), [0.0]
""",
        "positive numbers only, the larger one through the difference": """
def larger():
    W_1 = torch.tensor([[1.0, 0.0], [-1.0, 1.0]])
    return W_1, torch.zeros(2), torch.ones(2, 1), torch.zeros(1)
""",
        "sum of both positive parts": """
def larger():
    return torch.eye(2), torch.zeros(2), torch.ones(2, 1), torch.zeros(1)
""",
        "a large bias keeps b positive, down to −100 only": """
def larger():
    W_1 = torch.tensor([[1.0, 0.0], [-1.0, 1.0]])
    return W_1, torch.tensor([0.0, 100.0]), torch.ones(2, 1), torch.tensor([-100.0])
""",
        "distance of the two": """
def larger():
    W_1 = torch.tensor([[1.0, -1.0], [-1.0, 1.0]])
    return W_1, torch.zeros(2), torch.ones(2, 1), torch.zeros(1)
""",
        "mean of the two": """
def larger():
    W_1 = torch.tensor([[1.0, -1.0], [1.0, -1.0]])
    return W_1, torch.zeros(2), torch.tensor([[0.5], [-0.5]]), torch.zeros(1)
""",
        "a alone": """
def larger():
    W_1 = torch.tensor([[1.0, -1.0], [0.0, 0.0]])
    return W_1, torch.zeros(2), torch.tensor([[1.0], [-1.0]]), torch.zeros(1)
""",
        "a large bias of 10000, which rounds small numbers away": """
def larger():
    W_1 = torch.tensor([[1.0, 0.0], [-1.0, 1.0]])
    return W_1, torch.tensor([0.0, 1e4]), torch.ones(2, 1), torch.tensor([-1e4])
""",
    },
    "layers.stack-slope": {
        "multiplied in the wrong order": """
def stack_slope(jacobians):
    eye = torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype)
    total = eye
    for J in jacobians:
        total = total @ (eye + J)
    return total
""",
        "residual forgotten": """
def stack_slope(jacobians):
    eye = torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype)
    total = eye
    for J in jacobians:
        total = J @ total
    return total
""",
        "transposed": """
def stack_slope(jacobians):
    eye = torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype)
    total = eye
    for J in jacobians:
        total = (eye + J) @ total
    return total.T
""",
        "entry by entry, not a matrix product": """
def stack_slope(jacobians):
    from functools import reduce
    steps = [J + torch.eye(J.shape[0], dtype=J.dtype) for J in jacobians]
    return reduce(lambda below, above: above * below, steps)
""",
        "residual around the whole stack only": """
def stack_slope(jacobians):
    from functools import reduce
    steps = [J for J in jacobians]
    return reduce(lambda below, above: above @ below, steps) + torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype)
""",
        "bottom layer forgotten": """
def stack_slope(jacobians):
    eye = torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype)
    total = eye
    for J in jacobians[1:]:
        total = (eye + J) @ total
    return total
""",
        "top layer forgotten": """
def stack_slope(jacobians):
    eye = torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype)
    total = eye
    for J in jacobians[:-1]:
        total = (eye + J) @ total
    return total
""",
        "ones instead of the identity": """
def stack_slope(jacobians):
    from functools import reduce
    steps = [J + 1 for J in jacobians]
    return reduce(lambda below, above: above @ below, steps)
""",
        "minus": """
def stack_slope(jacobians):
    eye = torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype)
    total = eye
    for J in jacobians:
        total = (eye - J) @ total
    return total
""",
        "adds the identity in place": """
def stack_slope(jacobians):
    from functools import reduce
    steps = [J.add_(torch.eye(J.shape[0], dtype=J.dtype)) for J in jacobians]
    return reduce(lambda below, above: above @ below, steps)
""",
        "inverse": """
def stack_slope(jacobians):
    eye = torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype)
    total = eye
    for J in jacobians:
        total = (eye + J) @ total
    return torch.linalg.inv(total)
""",
        "first Jacobian counted twice": """
def stack_slope(jacobians):
    eye = torch.eye(jacobians[0].shape[0], dtype=jacobians[0].dtype)
    out = eye + jacobians[0]
    for J in jacobians:
        out = torch.einsum("ik,kj->ij", eye + J, out)
    return out
""",
        "first one without the residual": """
def stack_slope(jacobians):
    eye = torch.eye(jacobians[0].shape[0], dtype=jacobians[0].dtype)
    out = jacobians[0]
    for J in jacobians[1:]:
        out = torch.einsum("ik,kj->ij", eye + J, out)
    return out
""",
        "rows instead of columns": """
def stack_slope(jacobians):
    d = jacobians[0].shape[0]
    columns = []
    for j in range(d):
        v = torch.zeros(d, dtype=jacobians[0].dtype)
        v[j] = 1
        for J in jacobians:
            v = v + J @ v
        columns.append(v)
    return torch.stack(columns, dim=0)
""",
        "list turned round in the iteration": """
def stack_slope(jacobians):
    d = jacobians[0].shape[0]
    columns = []
    for j in range(d):
        v = torch.zeros(d, dtype=jacobians[0].dtype)
        v[j] = 1
        for J in reversed(jacobians):
            v = v + J @ v
        columns.append(v)
    return torch.stack(columns, dim=1)
""",
        "Jacobians transposed": """
def stack_slope(jacobians):
    S = torch.eye(jacobians[0].size(0), dtype=jacobians[0].dtype)
    for J in jacobians:
        S = S + J.T @ S
    return S
""",
        "without the identity path": """
def stack_slope(jacobians):
    eye = torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype)
    total = eye
    for J in jacobians:
        total = (eye + J) @ total
    return total - eye
""",
        "determinant, one number": """
def stack_slope(jacobians):
    eye = torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype)
    total = eye
    for J in jacobians:
        total = (eye + J) @ total
    return torch.linalg.det(total)
""",
        "mean slope, one number": """
def stack_slope(jacobians):
    eye = torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype)
    total = eye
    for J in jacobians:
        total = (eye + J) @ total
    return total.mean()
""",
        "one step too many": """
def stack_slope(jacobians):
    eye = torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype)
    total = eye
    for J in jacobians:
        total = (eye + J) @ total
    return (eye + jacobians[-1]) @ total
""",
        "starts from zero, so it stays zero": """
def stack_slope(jacobians):
    S = torch.zeros_like(jacobians[0])
    for J in jacobians:
        S = S + J @ S
    return S
""",
        "identity plus the sum": """
def stack_slope(jacobians):
    return torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype) + sum(jacobians)
""",
        "sum of the single slopes": """
def stack_slope(jacobians):
    eye = torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype)
    return sum(J + eye for J in jacobians)
""",
        "power of the mean Jacobian": """
def stack_slope(jacobians):
    J = torch.stack(jacobians).mean(0)
    return torch.linalg.matrix_power(J + torch.eye(len(J), dtype=J.dtype), len(jacobians))
""",
        "exponential of the sum": """
def stack_slope(jacobians):
    return torch.matrix_exp(sum(jacobians))
""",
        "one layer repeated": """
def stack_slope(jacobians):
    J = jacobians[0]
    return torch.linalg.matrix_power(J + torch.eye(len(J), dtype=J.dtype), len(jacobians))
""",
        "turns the list round in place": """
def stack_slope(jacobians):
    eye = torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype)
    jacobians.reverse()
    out = eye
    for J in jacobians:
        out = out @ (J + eye)
    return out
""",
        "empties the list with pop": """
def stack_slope(jacobians):
    eye = torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype)
    out = eye
    while jacobians:
        out = out @ (eye + jacobians.pop())
    return out
""",
        "diagonals only": """
def stack_slope(jacobians):
    out = torch.ones(len(jacobians[0]), dtype=jacobians[0].dtype)
    for J in jacobians:
        out = out * (1 + J.diagonal())
    return torch.diag(out)
""",
        "pairs of layers up to second order": """
def stack_slope(jacobians):
    out = torch.eye(len(jacobians[0]), dtype=jacobians[0].dtype) + sum(jacobians)
    for b in range(len(jacobians)):
        for a in range(b):
            out = out + jacobians[b] @ jacobians[a]
    return out
""",
    },
    "layers.decoder-layer": {
        "memory normed once more": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, inner, inner)
    B = A + cross_attend(norm_cross(A), norm_cross(memory), norm_cross(memory))
    C = B + feed_forward(norm_ff(B))
    return C
""",
        "norms in the wrong order": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_ff, norm_cross, norm_self = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, inner, inner)
    B = A + cross_attend(norm_cross(A), memory, memory)
    C = B + feed_forward(norm_ff(B))
    return C
""",
        "first norm everywhere": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    Y = Y + self_attend(Z, Z, Z)
    Z = norms[0](Y)
    Y = Y + cross_attend(Z, memory, memory)
    return Y + feed_forward(norms[0](Y))
""",
        "keys and values of self-attention not normed": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, Y, Y)
    B = A + cross_attend(norm_cross(A), memory, memory)
    C = B + feed_forward(norm_ff(B))
    return C
""",
        "self-attention without a norm": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = Y
    A = Y + self_attend(inner, inner, inner)
    B = A + cross_attend(norm_cross(A), memory, memory)
    C = B + feed_forward(norm_ff(B))
    return C
""",
        "cross-attention without a norm": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, inner, inner)
    B = A + cross_attend(A, memory, memory)
    C = B + feed_forward(norm_ff(B))
    return C
""",
        "feed-forward without a norm": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, inner, inner)
    B = A + cross_attend(norm_cross(A), memory, memory)
    C = B + feed_forward(B)
    return C
""",
        "queries and memory swapped": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, inner, inner)
    B = A + cross_attend(memory, norm_cross(A), norm_cross(A))
    C = B + feed_forward(norm_ff(B))
    return C
""",
        "values from the decoder": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, inner, inner)
    B = A + cross_attend(norm_cross(A), memory, norm_cross(A))
    C = B + feed_forward(norm_ff(B))
    return C
""",
        "ignores the memory": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, inner, inner)
    B = A + cross_attend(norm_cross(A), norm_cross(A), norm_cross(A))
    C = B + feed_forward(norm_ff(B))
    return C
""",
        "residual of self-attention missing": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = self_attend(inner, inner, inner)
    B = A + cross_attend(norm_cross(A), memory, memory)
    C = B + feed_forward(norm_ff(B))
    return C
""",
        "residual of cross-attention missing": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, inner, inner)
    B = cross_attend(norm_cross(A), memory, memory)
    C = B + feed_forward(norm_ff(B))
    return C
""",
        "residual of the feed-forward network missing": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, inner, inner)
    B = A + cross_attend(norm_cross(A), memory, memory)
    C = feed_forward(norm_ff(B))
    return C
""",
        "residual starts from the normed vectors": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = inner + self_attend(inner, inner, inner)
    B = A + cross_attend(norm_cross(A), memory, memory)
    C = B + feed_forward(norm_ff(B))
    return C
""",
        "all residuals from the first Y": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, inner, inner)
    B = Y + cross_attend(norm_cross(A), memory, memory)
    C = Y + feed_forward(norm_ff(B))
    return C
""",
        "cross-attention asks with the old Y": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, inner, inner)
    B = A + cross_attend(norm_cross(Y), memory, memory)
    C = B + feed_forward(norm_ff(B))
    return C
""",
        "feed-forward reads before cross-attention": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, inner, inner)
    B = A + cross_attend(norm_cross(A), memory, memory)
    C = B + feed_forward(norm_ff(A))
    return C
""",
        "a last norm on the output": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, inner, inner)
    B = A + cross_attend(norm_cross(A), memory, memory)
    C = B + feed_forward(norm_ff(B))
    return norm_ff(C)
""",
        "feed-forward left out": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, inner, inner)
    B = A + cross_attend(norm_cross(A), memory, memory)
    C = B + feed_forward(norm_ff(B))
    return B
""",
        "cross-attention left out": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, inner, inner)
    B = A
    C = B + feed_forward(norm_ff(B))
    return C
""",
        "self-attention left out": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y
    B = A + cross_attend(norm_cross(A), memory, memory)
    C = B + feed_forward(norm_ff(B))
    return C
""",
        "cross-attention before self-attention": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    sublayers = [
        lambda X: cross_attend(X, memory, memory),
        lambda X: self_attend(X, X, X),
        feed_forward,
    ]
    for sublayer, norm in zip(sublayers, norms):
        Y = Y + sublayer(norm(Y))
    return Y
""",
        "feed-forward between the attentions": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    sublayers = [
        lambda X: self_attend(X, X, X),
        feed_forward,
        lambda X: cross_attend(X, memory, memory),
    ]
    for sublayer, norm in zip(sublayers, norms):
        Y = Y + sublayer(norm(Y))
    return Y
""",
        "changes Y in place": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    out = Y
    z = norms[0](out)
    out += self_attend(z, z, z)
    out += cross_attend(norms[1](out), memory, memory)
    out += feed_forward(norms[2](out))
    return out
""",
        "norm after the sum, post-norm": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    def around(X, norm, f):
        return norm(X + f(X))

    Y = around(Y, norms[0], lambda Z: self_attend(Z, Z, Z))
    Y = around(Y, norms[1], lambda Z: cross_attend(Z, memory, memory))
    return around(Y, norms[2], feed_forward)
""",
        "norm on the change": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    def around(X, norm, f):
        return X + norm(f(X))

    Y = around(Y, norms[0], lambda Z: self_attend(Z, Z, Z))
    Y = around(Y, norms[1], lambda Z: cross_attend(Z, memory, memory))
    return around(Y, norms[2], feed_forward)
""",
        "returns the memory too": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    norm_self, norm_cross, norm_ff = norms
    inner = norm_self(Y)
    A = Y + self_attend(inner, inner, inner)
    B = A + cross_attend(norm_cross(A), memory, memory)
    C = B + feed_forward(norm_ff(B))
    return C, memory
""",
        "two sub-layers only": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    sublayers = [
        lambda X: self_attend(X, X, X),
        lambda X: cross_attend(X, memory, memory),
        feed_forward,
    ]
    for sublayer, norm in zip(sublayers, norms[:2]):
        Y = Y + sublayer(norm(Y))
    return Y
""",
        "all three side by side": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    a = norms[0](Y)
    return Y + self_attend(a, a, a) + cross_attend(norms[1](Y), memory, memory) + feed_forward(norms[2](Y))
""",
        "only the first sum changes Y in place": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    z = norms[0](Y)
    Y += self_attend(z, z, z)
    Y = Y + cross_attend(norms[1](Y), memory, memory)
    return Y + feed_forward(norms[2](Y))
""",
        "memory set before the words in self-attention": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    z = norms[0](Y)
    both = torch.cat([memory, z], dim=-2)
    Y = Y + self_attend(z, both, both)
    Y = Y + cross_attend(norms[1](Y), memory, memory)
    return Y + feed_forward(norms[2](Y))
""",
    },
    "layers.norm-backward": {
        "mean and variance taken for constants": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    Z = centred / s
    return G / s
""",
        "variance taken for a constant": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    Z = centred / s
    return (G - G.mean(-1, keepdim=True)) / s
""",
        "mean taken for a constant": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    Z = centred / s
    return (G - Z * (G * Z).mean(-1, keepdim=True)) / s
""",
        "not divided by the spread": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    Z = centred / s
    return (G - G.mean(-1, keepdim=True) - Z * (G * Z).mean(-1, keepdim=True))
""",
        "multiplied by the spread": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    Z = centred / s
    return (G - G.mean(-1, keepdim=True) - Z * (G * Z).mean(-1, keepdim=True)) * s
""",
        "divided by the variance": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    Z = centred / s
    return (G - G.mean(-1, keepdim=True) - Z * (G * Z).mean(-1, keepdim=True)) / s**2
""",
        "plus instead of minus before Z": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    Z = centred / s
    return (G - G.mean(-1, keepdim=True) + Z * (G * Z).mean(-1, keepdim=True)) / s
""",
        "plus instead of minus before the mean": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    Z = centred / s
    return (G + G.mean(-1, keepdim=True) - Z * (G * Z).mean(-1, keepdim=True)) / s
""",
        "sum instead of mean for Z": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    Z = centred / s
    return (G - G.mean(-1, keepdim=True) - Z * (G * Z).sum(-1, keepdim=True)) / s
""",
        "sum instead of mean for G": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    Z = centred / s
    return (G - G.sum(-1, keepdim=True) - Z * (G * Z).mean(-1, keepdim=True)) / s
""",
        "ignores eps": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True)).sqrt()
    Z = centred / s
    return (G - G.mean(-1, keepdim=True) - Z * (G * Z).mean(-1, keepdim=True)) / s
""",
        "eps outside the root": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = centred.square().mean(-1, keepdim=True).sqrt() + eps
    Z = centred / s
    return (G - G.mean(-1, keepdim=True) - Z * (G * Z).mean(-1, keepdim=True)) / s
""",
        "eps hard-coded": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    Z = centred / s
    return (G - G.mean(-1, keepdim=True) - Z * (G * Z).mean(-1, keepdim=True)) / s
""",
        "centred X in place of Z": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    Z = centred
    return (G - G.mean(-1, keepdim=True) - Z * (G * Z).mean(-1, keepdim=True)) / s
""",
        "X in place of Z": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    Z = X
    return (G - G.mean(-1, keepdim=True) - Z * (G * Z).mean(-1, keepdim=True)) / s
""",
        "over the words, not the vector": """
def norm_backward(X, G, eps):
    centred = X - X.mean(0, keepdim=True)
    s = (centred.square().mean(0, keepdim=True) + eps).sqrt()
    Z = centred / s
    return (G - G.mean(0, keepdim=True) - Z * (G * Z).mean(0, keepdim=True)) / s
""",
        "over the axis before the last": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-2, keepdim=True)
    s = (centred.square().mean(-2, keepdim=True) + eps).sqrt()
    Z = centred / s
    return (G - G.mean(-2, keepdim=True) - Z * (G * Z).mean(-2, keepdim=True)) / s
""",
        "over the whole tensor": """
def norm_backward(X, G, eps):
    centred = X - X.mean()
    s = (centred.square().mean() + eps).sqrt()
    Z = centred / s
    return (G - G.mean() - Z * (G * Z).mean()) / s
""",
        "unbiased variance": """
def norm_backward(X, G, eps):
    d = X.shape[-1]
    mu = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, unbiased=True, keepdim=True)
    inv = (var + eps) ** -0.5
    d_var = (G * (X - mu)).sum(-1, keepdim=True) * -0.5 * inv**3
    d_mu = -(G * inv).sum(-1, keepdim=True)
    return G * inv + d_var * 2 * (X - mu) / d + d_mu / d
""",
        "changes G in place": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    Z = centred / s
    along = Z * (G * Z).mean(-1, keepdim=True)
    G -= G.mean(-1, keepdim=True)
    return (G - along) / s
""",
        "changes X in place": """
def norm_backward(X, G, eps):
    X -= X.mean(-1, keepdim=True)
    centred = X
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    Z = centred / s
    return (G - G.mean(-1, keepdim=True) - Z * (G * Z).mean(-1, keepdim=True)) / s
""",
        "factor 2 of the square forgotten": """
def norm_backward(X, G, eps):
    d = X.shape[-1]
    mu = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, unbiased=False, keepdim=True)
    inv = (var + eps) ** -0.5
    d_var = (G * (X - mu)).sum(-1, keepdim=True) * -0.5 * inv**3
    d_mu = -(G * inv).sum(-1, keepdim=True)
    return G * inv + d_var * (X - mu) / d + d_mu / d
""",
        "factor 1/2 of the root forgotten": """
def norm_backward(X, G, eps):
    d = X.shape[-1]
    mu = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, unbiased=False, keepdim=True)
    inv = (var + eps) ** -0.5
    d_var = (G * (X - mu)).sum(-1, keepdim=True) * -1 * inv**3
    d_mu = -(G * inv).sum(-1, keepdim=True)
    return G * inv + d_var * 2 * (X - mu) / d + d_mu / d
""",
        "sign of the root's slope": """
def norm_backward(X, G, eps):
    d = X.shape[-1]
    mu = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, unbiased=False, keepdim=True)
    inv = (var + eps) ** -0.5
    d_var = (G * (X - mu)).sum(-1, keepdim=True) * 0.5 * inv**3
    d_mu = -(G * inv).sum(-1, keepdim=True)
    return G * inv + d_var * 2 * (X - mu) / d + d_mu / d
""",
        "power of the root wrong": """
def norm_backward(X, G, eps):
    d = X.shape[-1]
    mu = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, unbiased=False, keepdim=True)
    inv = (var + eps) ** -0.5
    d_var = (G * (X - mu)).sum(-1, keepdim=True) * -0.5 * inv**2
    d_mu = -(G * inv).sum(-1, keepdim=True)
    return G * inv + d_var * 2 * (X - mu) / d + d_mu / d
""",
        "share 1/d of the mean forgotten": """
def norm_backward(X, G, eps):
    d = X.shape[-1]
    mu = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, unbiased=False, keepdim=True)
    inv = (var + eps) ** -0.5
    d_var = (G * (X - mu)).sum(-1, keepdim=True) * -0.5 * inv**3
    d_mu = -(G * inv).sum(-1, keepdim=True)
    return G * inv + d_var * 2 * (X - mu) / d + d_mu
""",
        "G times Z, not their mean": """
def norm_backward(X, G, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    Z = centred / s
    return (G - G.mean(-1, keepdim=True) - Z * (G * Z)) / s
""",
        "batch of vectors only, no more axes": """
def norm_backward(X, G, eps):
    n, d = X.shape
    mu = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, unbiased=False, keepdim=True)
    inv = (var + eps) ** -0.5
    d_var = (G * (X - mu)).sum(-1, keepdim=True) * -0.5 * inv**3
    d_mu = -(G * inv).sum(-1, keepdim=True)
    return G * inv + d_var * 2 * (X - mu) / d + d_mu / d
""",
        "length of the batch for d": """
def norm_backward(X, G, eps):
    d = X.shape[0]
    mu = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, unbiased=False, keepdim=True)
    inv = (var + eps) ** -0.5
    d_var = (G * (X - mu)).sum(-1, keepdim=True) * -0.5 * inv**3
    d_mu = -(G * inv).sum(-1, keepdim=True)
    return G * inv + d_var * 2 * (X - mu) / d + d_mu / d
""",
        "gradient of G, not of X, swapped arguments": """
def norm_backward(G, X, eps):
    centred = X - X.mean(-1, keepdim=True)
    s = (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    Z = centred / s
    return (G - G.mean(-1, keepdim=True) - Z * (G * Z).mean(-1, keepdim=True)) / s
""",
        "gives the standardised G": """
def norm_backward(X, G, eps):
    c = G - G.mean(-1, keepdim=True)
    return c / (c.square().mean(-1, keepdim=True) + eps).sqrt()
""",
        "the Jacobian's diagonal only": """
def norm_backward(X, G, eps):
    d = X.shape[-1]
    c = X - X.mean(-1, keepdim=True)
    s = (c.square().mean(-1, keepdim=True) + eps).sqrt()
    return G * (1 - 1 / d - (c / s) ** 2 / d) / s
""",
        "autograd with the mean and variance detached": """
def norm_backward(X, G, eps):
    x = X.detach().clone().requires_grad_()
    mu, var = x.mean(-1, keepdim=True).detach(), x.var(-1, unbiased=False, keepdim=True).detach()
    ((x - mu) / (var + eps).sqrt()).backward(G)
    return x.grad
""",
        "standardises X as well, the forward step times G": """
def norm_backward(X, G, eps):
    c = X - X.mean(-1, keepdim=True)
    return G * c / (c.square().mean(-1, keepdim=True) + eps).sqrt()
""",
    },
}
