"""Order, sines, rotations, RoPE and ALiBi: what the textbook says of them holds."""

import pytest
import torch

from playground.lessons.positions import (
    biased,
    learned,
    order,
    read,
    rotated,
    rotation,
    sines,
    turned,
)
from playground.lessons.positions import words as tokens

IDS = torch.tensor(tokens().encode("I love you and the little fox"))
DOUBLE = torch.float64


def test_without_positions_a_permutation_permutes_the_output():
    shuffle = torch.randperm(len(IDS), generator=torch.Generator().manual_seed(0))
    weights, out = read(IDS, torch.arange(len(IDS)), positions=False, mask=False)
    other_weights, other = read(IDS, shuffle, positions=False, mask=False)
    torch.testing.assert_close(other_weights, weights, atol=1e-5, rtol=0)
    torch.testing.assert_close(other, out, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize(("positions", "mask"), [(True, False), (False, True), (True, True)])
def test_positions_or_a_mask_make_the_order_matter(positions, mask):
    assert order("I love you", "backwards", positions, mask).moved.max() > 0.1


def test_the_two_orders_are_shown_token_beside_token():
    found = order("I love you", "backwards", True, True)
    assert found.labels == ("I", "·love", "·you")
    assert found.other == ("·you", "·love", "I")
    assert found.blind_moved < 1e-3 < found.masked_moved


# Sines.


def test_the_last_pair_turns_ten_thousand_times_slower_but_for_one_step():
    assert sines(64, 128, 0).turns[0] / sines(64, 128, 0).turns[1] == pytest.approx(10_000 ** (62 / 64))


def test_no_two_positions_share_a_code():
    for width in (4, 32, 64):
        assert sines(width, 128, 0).nearest > 1e-3


def test_the_product_tells_how_far_and_not_which_way():
    assert sines(32, 64, 30).symmetric < 1e-12


@pytest.mark.parametrize("shift", [-20, -1, 0, 1, 17, 500])
def test_a_shift_is_one_rotation_for_every_position(shift):
    found = rotated(5, shift, 16)
    assert found.error < 1e-6
    assert found.everywhere < 1e-6
    assert found.returned < 1e-6
    assert found.lengths == pytest.approx((8**0.5, 8**0.5))


def test_the_matrix_is_a_rotation_and_shifts_add_up():
    two, three, five = (rotation(shift, 8) for shift in (2, 3, 5))
    torch.testing.assert_close(two @ three, five)
    torch.testing.assert_close(two @ two.T, torch.eye(8, dtype=DOUBLE))
    torch.testing.assert_close(rotation(-2, 8), two.T)
    assert torch.linalg.det(five) == pytest.approx(1)


# The learned table.


def test_the_learned_table_ends_and_is_that_of_the_model():
    found = learned(60)
    assert found.rows == 256
    assert not found.beyond
    assert found.similar[60] == pytest.approx(1)
    assert found.every.shape == (64, 64)


def test_neighbours_in_the_learned_table_are_more_alike_than_strangers():
    near = [learned(at).similar[at + 1] for at in range(20, 250, 40)]
    far = [learned(at).similar[(at + 128) % 256] for at in range(20, 250, 40)]
    assert min(near) > max(far)


def test_the_likeness_reaches_less_far_at_the_beginning():
    assert learned(4).similar[16] < learned(40).similar[52] < learned(120).similar[132]


# RoPE.


def test_scores_depend_on_the_distance_alone():
    found = turned(777, 0)
    assert found.moved < 1e-9 < found.one_sided
    for diagonal in range(-10, 11):
        line = found.scores.diagonal(diagonal)
        torch.testing.assert_close(line, line[:1].expand_as(line))


# ALiBi.


def test_each_head_looks_further_back_than_the_one_before():
    found = biased("8", 3)
    assert found.reach.tolist() == sorted(found.reach.tolist())
    torch.testing.assert_close(found.last.sum(-1), torch.ones(8, dtype=DOUBLE))
    assert found.head == 2
    assert biased("4", 16).head == 3
