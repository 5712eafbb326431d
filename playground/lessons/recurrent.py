"""What came before the Transformer: networks that read one token after the other and carry a state along."""

from abc import abstractmethod

import torch
from torch import Tensor, nn

State = tuple[Tensor, ...]  # (B, C) each; the first is what a token hands on


class Recurrent(nn.Module):
    """One layer; `read` sees the token, `recall` the state, and `gates` vectors of width C come out of both."""

    gates: int
    n_states: int

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.read = nn.Linear(width, self.gates * width)  # W_x and b
        self.recall = nn.Linear(width, self.gates * width, bias=False)  # W_h

    @abstractmethod
    def step(self, x: Tensor, state: State) -> State:
        """The state after one more token. Shapes: x (B, C)"""

    def start(self, x: Tensor) -> State:
        """Nothing read yet: zeros. Shapes: x (B, T, C)"""
        return (x.new_zeros(x.size(0), self.width),) * self.n_states

    def forward(self, x: Tensor) -> Tensor:
        """Token after token: no step can begin before the one before it has ended.

        Shapes: x (B, T, C) -> (B, T, C)
        """
        state, out = self.start(x), []
        for token in x.unbind(1):
            state = self.step(token, state)
            out.append(state[0])
        return torch.stack(out, 1)


class RNN(Recurrent):
    """h_t = tanh(W_x x_t + W_h h_(t-1) + b). Source: Elman 1990"""

    gates, n_states = 1, 1

    def step(self, x: Tensor, state: State) -> State:
        (h,) = state
        h = torch.tanh(self.read(x) + self.recall(h))
        return (h,)


class LSTM(Recurrent):
    """A second state, the cell c, that is kept by a forget gate and added to, in place of being rewritten.

    Source: Hochreiter & Schmidhuber 1997; the forget gate: Gers et al. 2000
    """

    gates, n_states = 4, 2

    def step(self, x: Tensor, state: State) -> State:
        h, c = state
        i, f, g, o = (self.read(x) + self.recall(h)).chunk(4, -1)  # (B, C) each
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        return h, c
