"""Sines, RoPE and ALiBi: what their papers say of them holds."""

import math

import pytest
import torch

from playground.lessons.position_encodings import DOUBLE, alibi, rope, sinusoidal, slopes


def test_the_first_rows_are_the_papers():
    table = sinusoidal(torch.arange(2), 4)
    expected = [[0, 1, 0, 1], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]]
    torch.testing.assert_close(table, torch.tensor(expected, dtype=DOUBLE))


def test_turning_keeps_lengths_and_leaves_position_0_as_it_is():
    x = torch.randn(5, 8, generator=torch.Generator().manual_seed(0), dtype=DOUBLE)
    torch.testing.assert_close(rope(x, torch.arange(5)).norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(rope(x, torch.zeros(5)), x)


def test_one_pair_turns_by_its_position():
    one = torch.tensor([[1.0, 0.0]], dtype=DOUBLE)
    expected = torch.tensor([[math.cos(3), math.sin(3)]], dtype=DOUBLE)
    torch.testing.assert_close(rope(one, torch.tensor([3])), expected)


def test_under_rope_the_product_of_a_query_and_a_key_knows_their_distance_alone():
    q, k = torch.randn(2, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    turned_q, turned_k = (rope(each.repeat(10, 1), torch.arange(10)) for each in (q, k))  # the same at every position
    products = turned_q @ turned_k.T  # (10, 10)
    for distance in range(10):
        diagonal = products.diagonal(-distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), rtol=1e-5, atol=1e-5)
    assert abs(float(products[5, 5] - products[5, 2])) > 0.01


def test_the_slopes_of_eight_heads_are_the_papers():
    assert slopes(8).tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    assert slopes(16)[0] == pytest.approx(2**-0.5)


def test_every_step_back_costs_one_slope_and_the_future_everything():
    bias = alibi(8, 4)[0]
    assert bias.tolist() == [
        [0, -math.inf, -math.inf, -math.inf],
        [-0.5, 0, -math.inf, -math.inf],
        [-1, -0.5, 0, -math.inf],
        [-1.5, -1, -0.5, 0],
    ]
