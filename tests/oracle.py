"""GPT-2 again, in NumPy, one text, no classes, no options: the answer that our network must agree with."""

import numpy as np


def gpt(ids, weights, n_layers, n_heads):  # (T,) -> (T, V)
    w = {name: np.asarray(value, np.float64) for name, value in weights.items()}
    table = w["token_embedding.weight"]
    x = table[ids] + w["position_embedding.weight"][: len(ids)]  # (T, C)
    for layer in range(n_layers):
        at = f"blocks.{layer}"
        x = x + attention(norm(x, w, f"{at}.norm_1"), w, f"{at}.attention", n_heads)
        x = x + feed_forward(norm(x, w, f"{at}.norm_2"), w, f"{at}.feed_forward")
    return norm(x, w, "final_norm") @ table.T


def attention(x, w, at, n_heads):  # (T, C) -> (T, C)
    queries, keys, values = np.split(linear(x, w, f"{at}.qkv"), 3, axis=1)
    D = x.shape[1] // n_heads
    mixed = np.empty_like(x)
    for columns in (slice(head * D, (head + 1) * D) for head in range(n_heads)):
        for t in range(len(x)):  # token t looks at tokens 0 to t
            scores = keys[: t + 1, columns] @ queries[t, columns] / np.sqrt(D)
            mixed[t, columns] = softmax(scores) @ values[: t + 1, columns]
    return linear(mixed, w, f"{at}.out")


def feed_forward(x, w, at):
    h = linear(x, w, f"{at}.widen")
    return linear(0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3))), w, f"{at}.narrow")


def norm(x, w, at):
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * w[f"{at}.scale"] + w[
        f"{at}.shift"
    ]


def linear(x, w, at):
    return x @ w[f"{at}.weight"].T + w[f"{at}.bias"]


def softmax(scores):
    e = np.exp(scores - scores.max())
    return e / e.sum()
