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
    "layers.feed-forward": {
        "functions of torch": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    return F.linear(F.relu(F.linear(X, W_1.T, b_1)), W_2.T, b_2)
""",
        "loops": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    rows = []
    for x in X.tolist():
        hidden = [max(0.0, sum(c * w for c, w in zip(x, W)) + b) for W, b in zip(W_1.T.tolist(), b_1.tolist())]
        rows.append([sum(h * w for h, w in zip(hidden, W)) + b for W, b in zip(W_2.T.tolist(), b_2.tolist())])
    return torch.tensor(rows)
""",
        "einsum and a mask": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    hidden = torch.einsum("nd,df->nf", X, W_1) + b_1
    hidden[hidden < 0] = 0
    return torch.einsum("nf,fd->nd", hidden, W_2) + b_2
""",
        "numpy": """
import numpy as np

def feed_forward(X, W_1, b_1, W_2, b_2):
    X, W_1, b_1, W_2, b_2 = (part.detach().numpy() for part in (X, W_1, b_1, W_2, b_2))
    return torch.from_numpy(np.maximum(0, X @ W_1 + b_1) @ W_2 + b_2)
""",
    },
    "layers.encoder-layer": {
        "two layers": """
def encoder_layer(X, self_attend, feed_forward, norms, order):
    if order == "post":
        Y = norms[0](X + self_attend(X, X, X))
        return norms[1](Y + feed_forward(Y))
    Z = norms[0](X)
    Y = X + self_attend(Z, Z, Z)
    return Y + feed_forward(norms[1](Y))
""",
        "enter and leave": """
def encoder_layer(X, self_attend, feed_forward, norms, order):
    same = lambda X: X
    enter, leave = ([same] * 2, norms) if order == "post" else (norms, [same] * 2)
    Z = enter[0](X)
    X = leave[0](X + self_attend(Q=Z, K=Z, V=Z))
    return leave[1](X + feed_forward(enter[1](X)))
""",
        "a loop": """
def encoder_layer(X, self_attend, feed_forward, norms, order):
    for norm, sub in zip(norms, (lambda Z: self_attend(Z, Z, Z), feed_forward), strict=True):
        X = {"post": lambda: norm(X + sub(X)), "pre": lambda: X + sub(norm(X))}[order]()
    return X
""",
        "in place on a copy": """
def encoder_layer(X, self_attend, feed_forward, norms, order):
    stream, pre = X.clone(), order == "pre"
    heard = norms[0](stream) if pre else stream
    stream += self_attend(heard, heard, heard)
    stream = stream if pre else norms[0](stream)
    stream = stream + feed_forward(norms[1](stream) if pre else stream)
    return stream if pre else norms[1](stream)
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
        "changes its input": """
def layer_norm(X, gain, bias, eps):
    X -= X.mean(dim=-1, keepdim=True)
    return gain * X / torch.sqrt((X**2).mean(dim=-1, keepdim=True) + eps) + bias
""",
        "forbidden": """
def layer_norm(X, gain, bias, eps):
    return F.layer_norm(X, X.shape[-1:], gain, bias, eps)
""",
        "variance unbiased": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, keepdim=True)
    return (X - mean) / torch.sqrt(var + eps) * gain + bias
""",
        "over everything": """
def layer_norm(X, gain, bias, eps):
    mean = X.mean()
    var = ((X - mean) ** 2).mean()
    return (X - mean) / torch.sqrt(var + eps) * gain + bias
""",
    },
    "layers.feed-forward": {
        "forbidden": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    first, second = torch.nn.Linear(*W_1.shape), torch.nn.Linear(*W_2.shape)
    first.load_state_dict({"weight": W_1.T, "bias": b_1})
    second.load_state_dict({"weight": W_2.T, "bias": b_2})
    return second(first(X).relu()).detach()
""",
        "no tensor": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    return ((X @ W_1 + b_1).relu() @ W_2 + b_2).tolist()
""",
        "random": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    return F.dropout((X @ W_1 + b_1).relu(), 0.1) @ W_2 + b_2
""",
        "the hidden layer": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    return (X @ W_1 + b_1).relu()
""",
        "the axes exchanged": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    return torch.einsum("nf,fd->dn", (X @ W_1 + b_1).relu(), W_2) + b_2[:, None]
""",
        "one word": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    for x in X:
        return (x @ W_1 + b_1).relu() @ W_2 + b_2
""",
        "a batch": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    return ((X[None] @ W_1 + b_1).relu() @ W_2) + b_2
""",
        "a matrix lies on its side": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    return (X @ W_1.T + b_1).relu() @ W_2.T + b_2
""",
        "a bias of another width": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    return (X @ W_1 + b_2).relu() @ W_2 + b_1
""",
        "both biases forgotten": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    return torch.stack([torch.relu(x @ W_1) @ W_2 for x in X])
""",
        "b_2 twice": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    return torch.addmm(b_2, torch.addmm(b_1, X, W_1).relu(), W_2) + b_2
""",
        "a softmax": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    powers = torch.exp(X @ W_1 + b_1)
    return powers / powers.sum(dim=1, keepdim=True) @ W_2 + b_2
""",
        "no ReLU": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    hidden = torch.addmm(b_1, X, W_1)
    torch.relu(hidden)
    return torch.addmm(b_2, hidden, W_2)
""",
        "changes its input": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    X[:] = (X @ W_1 + b_1).relu() @ W_2 + b_2
    return X
""",
        "ReLU at the end only": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    nn = torch.nn
    network = nn.Sequential(nn.Linear(*W_1.shape), nn.Linear(*W_2.shape), nn.ReLU())
    with torch.no_grad():
        for linear, W, b in ((network[0], W_1, b_1), (network[1], W_2, b_2)):
            linear.weight.copy_(W.T)
            linear.bias.copy_(b)
        return network(X)
""",
        "ReLU twice": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    for W, b in ((W_1, b_1), (W_2, b_2)):
        X = F.relu(X @ W + b)
    return X
""",
        "b_1 after the ReLU": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    return torch.einsum("nf,fd->nd", torch.einsum("nd,df->nf", X, W_1).relu() + b_1, W_2) + b_2
""",
        "b_1 forgotten": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    rows = []
    for x in X:
        hidden = [max(0.0, float(x @ column)) for column in W_1.T]
        rows.append(torch.tensor(hidden) @ W_2 + b_2)
    return torch.stack(rows)
""",
        "another function": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    return F.linear(F.gelu(F.linear(X, W_1.T, b_1)), W_2.T, b_2)
""",
        "the smaller of the two": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    hidden = X @ W_1 + b_1
    return torch.minimum(hidden, torch.zeros_like(hidden)) @ W_2 + b_2
""",
        "a residual connection": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    output = X.clone()
    output += (X @ W_1 + b_1).clamp(0) @ W_2 + b_2
    return output
""",
        "mixes the words": """
def feed_forward(X, W_1, b_1, W_2, b_2):
    words = ((X @ W_1 + b_1).relu() @ W_2 + b_2).split(1)
    return torch.cat([sum(words) / len(words)] * len(words))
""",
    },
    "layers.encoder-layer": {
        "random": """
def encoder_layer(X, self_attend, feed_forward, norms, order):
    for sub, norm in ((lambda Z: self_attend(Z, Z, Z), norms[0]), (feed_forward, norms[1])):
        X = norm(X + F.dropout(sub(X), 0.1)) if order == "post" else X + F.dropout(sub(norm(X)), 0.1)
    return X
""",
        "self_attend with too few arguments": """
def encoder_layer(X, self_attend, feed_forward, norms, order):
    for sub, norm in zip((self_attend, feed_forward), norms):
        X = norm(X + sub(X)) if order == "post" else X + sub(norm(X))
    return X
""",
        "no residual around self-attention": """
def encoder_layer(X, self_attend, feed_forward, norms, order):
    Z = X if order == "post" else norms[0](X)
    X = self_attend(Z, Z, Z)
    if order == "post":
        X = norms[0](X)
        return norms[1](X + feed_forward(X))
    return X + feed_forward(norms[1](X))
""",
        "the feed-forward network reads the old norm": """
def encoder_layer(X, self_attend, feed_forward, norms, order):
    if order == "post":
        for sub, norm in ((lambda Z: self_attend(Z, Z, Z), norms[0]), (feed_forward, norms[1])):
            X = norm(X + sub(X))
        return X
    Z = norms[0](X)
    return X + self_attend(Z, Z, Z) + feed_forward(Z)
""",
        "post runs on into pre": """
def encoder_layer(X, self_attend, feed_forward, norms, order):
    if order == "post":
        X = norms[0](X + self_attend(X, X, X))
        X = norms[1](X + feed_forward(X))
    Z = norms[0](X)
    X = X + self_attend(Z, Z, Z)
    return X + feed_forward(norms[1](X))
""",
        "the two orders swapped": """
def encoder_layer(X, self_attend, feed_forward, norms, order):
    for sub, norm in ((lambda Z: self_attend(Z, Z, Z), norms[0]), (feed_forward, norms[1])):
        X = X + sub(norm(X)) if order == "post" else norm(X + sub(X))
    return X
""",
        "changes its input": """
def encoder_layer(X, self_attend, feed_forward, norms, order):
    if order == "post":
        X += self_attend(X, X, X)
        X = norms[0](X)
        return norms[1](X + feed_forward(X))
    Z = norms[0](X)
    X = X + self_attend(Z, Z, Z)
    return X + feed_forward(norms[1](X))
""",
        "post-norm for both orders": """
from functools import reduce

def encoder_layer(X, self_attend, feed_forward, norms, order):
    steps = zip(norms, [lambda Z: self_attend(Q=Z, K=Z, V=Z), feed_forward])
    return reduce(lambda X, step: step[0](X + step[1](X)), steps, X)
""",
        "the normed X goes round": """
def encoder_layer(X, self_attend, feed_forward, norms, order):
    first, second = norms
    if order == "pre":
        X = first(X)
    X = X + self_attend(X, X, X)
    if order == "post":
        X = first(X)
    else:
        X = second(X)
    X = X + feed_forward(X)
    return second(X) if order == "post" else X
""",
        "only the queries normed": """
class Layer:
    def __init__(self, norms, order):
        self.norms, self.post = norms, order == "post"

    def __call__(self, X, attend, think):
        Z = X if self.post else self.norms[0](X)
        X = X + attend(Z, X, X)
        X = self.norms[0](X) if self.post else X
        Z = X if self.post else self.norms[1](X)
        X = X + think(Z)
        return self.norms[1](X) if self.post else X

def encoder_layer(X, self_attend, feed_forward, norms, order):
    return Layer(norms, order)(X, self_attend, feed_forward)
""",
        "the second sum starts from X": """
def encoder_layer(X, self_attend, feed_forward, norms, order):
    if order == "post":
        Y = norms[0](X + self_attend(X, X, X))
        return norms[1](X + feed_forward(Y))
    Z = norms[0](X)
    Y = X + self_attend(Z, Z, Z)
    return X + feed_forward(norms[1](Y))
""",
        "one norm for both": """
def encoder_layer(X, self_attend, feed_forward, norms, order):
    parts = [lambda Z: self_attend(Z, Z, Z), feed_forward]
    while parts:
        sub, norm = parts.pop(0), norms[0]
        X = norm(X + sub(X)) if order == "post" else X + sub(norm(X))
    return X
""",
        "the norms swapped": """
def encoder_layer(X, self_attend, feed_forward, norms, order):
    stack = list(norms)
    def around(X, sub):
        norm = stack.pop()
        return norm(torch.add(X, sub(X))) if order == "post" else torch.add(X, sub(norm(X)))
    return around(around(X, lambda Z: self_attend(Z, Z, Z)), feed_forward)
""",
        "the feed-forward network forgotten": """
def encoder_layer(X, self_attend, feed_forward, norms, order):
    for sub, norm in zip([lambda Z: self_attend(Z, Z, Z), feed_forward], norms):
        X = norm(X + sub(X)) if order == "post" else X + sub(norm(X))
        return X
""",
        "a norm at the end": """
def encoder_layer(X, self_attend, feed_forward, norms, order):
    post = order == "post"
    Z = X if post else norms[0](X)
    X = X + self_attend(Z, Z, Z)
    X = norms[0](X) if post else X
    Z = X if post else norms[1](X)
    return norms[1](X + feed_forward(Z))
""",
    },
    "layers.larger": {
        "matrices transposed": """
def larger():
    W_1 = torch.tensor([[1.0, -1], [0, 1], [0, -1]])
    return W_1, torch.zeros(3), torch.tensor([[1.0, 1, -1]]), torch.zeros(1)
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
        "negative numbers cut off": """
def larger():
    # max(a, b) = max(0, a - b) + b
    W_1 = torch.tensor([[1.0, 0.0], [-1.0, 1.0]])
    W_2 = torch.tensor([[1.0], [1.0]])
    return W_1, torch.zeros(2), W_2, torch.zeros(1)
""",
        "lifted above 0": """
def larger():
    W_1 = torch.tensor([[1.0, 0.0], [-1.0, 1.0]])
    b_1 = torch.tensor([0.0, 100.0])
    W_2 = torch.tensor([[1.0], [1.0]])
    b_2 = torch.tensor([-100.0])
    return W_1, b_1, W_2, b_2
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
        "changes its input": """
def stack_slope(jacobians):
    jacobians.reverse()
    slope = torch.eye(len(jacobians[0]))
    for J in jacobians:
        slope = slope @ (torch.eye(len(J)) + J)
    return slope
""",
        "the wrong order": """
def stack_slope(jacobians):
    d = jacobians[0].shape[0]
    I = torch.eye(d, dtype=jacobians[0].dtype)
    total = I
    for J in jacobians:
        total = total @ (I + J)
    return total
""",
        "a sum in place of a product": """
def stack_slope(jacobians):
    d = jacobians[0].shape[0]
    return torch.eye(d, dtype=jacobians[0].dtype) + sum(jacobians)
""",
    },
    "layers.decoder-layer": {
        "cross-attention to itself": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    for attend, norm in ((self_attend, norms[0]), (cross_attend, norms[1])):
        Z = norm(Y)
        Y = Y + attend(Z, Z, Z)
    return Y + feed_forward(norms[2](Y))
""",
        "changes its input": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    Y += self_attend(Z, Z, Z)
    Y = Y + cross_attend(norms[1](Y), memory, memory)
    return Y + feed_forward(norms[2](Y))
""",
        "the memory normed": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    N = norms[0](Y)
    Y = Y + self_attend(N, N, N)
    M = norms[1](memory)
    Y = Y + cross_attend(norms[1](Y), M, M)
    return Y + feed_forward(norms[2](Y))
""",
        "only the queries normed": """
def decoder_layer(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Y = Y + self_attend(norms[0](Y), Y, Y)
    Y = Y + cross_attend(norms[1](Y), memory, memory)
    Y = Y + feed_forward(norms[2](Y))
    return Y
""",
    },
    "layers.norm-backward": {
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
        "σ held fixed": """
def norm_backward(X, G, eps):
    var = X.var(dim=-1, correction=0, keepdim=True)
    return (G - G.mean(dim=-1, keepdim=True)) / torch.sqrt(var + eps)
""",
        "no ε": """
def norm_backward(X, G, eps):
    mu = X.mean(dim=-1, keepdim=True)
    sigma = X.std(dim=-1, correction=0, keepdim=True)
    Z = (X - mu) / sigma
    return (G - G.mean(-1, keepdim=True) - Z * (G * Z).mean(-1, keepdim=True)) / sigma
""",
    },
}
