"""Five ways to know positions, trained short and read long."""

import pytest
import torch

from playground.errors import NotAChoice
from playground.gpt.ablation import Ablation
from playground.gpt.config import GPTConfig
from playground.gpt.model import GPTModel
from playground.gpt.train import initialise
from playground.lessons import date_forms
from playground.lessons.characters import VOCABULARY, losses_by_position, rows
from playground.lessons.extrapolation import (
    KINDS,
    LONGER,
    SHIPPED,
    PositionedGPT,
    Setting,
    by_multiple,
    experiment,
    shipped,
)

TINY = Setting(length=8, width=32, layers=1, steps=6, batch=4, evaluated=4)
IDS = torch.tensor([[5, 9, 9, 2, 7, 1]])


def model(kind: str) -> PositionedGPT:
    made = PositionedGPT(GPTConfig(11, 64, 32, 2, 2), kind)
    with torch.no_grad():  # far from where training begins, so that every part matters
        for weights in made.parameters():
            weights.add_(torch.randn(weights.shape, generator=torch.Generator().manual_seed(weights.numel())) * 0.2)
    return made.eval()


def test_without_positions_it_is_our_gpt_with_positions_off():
    config = GPTConfig(11, 64, 32, 2, 2)
    ours, positioned = initialise(GPTModel(config), 3).eval(), PositionedGPT(config, "none", seed=3).eval()
    torch.testing.assert_close(positioned(IDS), ours(IDS, Ablation(positions=True)))


def test_with_a_learned_table_it_is_our_gpt():
    config = GPTConfig(11, 64, 32, 2, 2)
    torch.testing.assert_close(
        PositionedGPT(config, "learned", 3).eval()(IDS), initialise(GPTModel(config), 3).eval()(IDS)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_looks_ahead(kind):
    changed = IDS.clone()
    changed[0, 4] = 3
    before, after = model(kind)(IDS), model(kind)(changed)
    torch.testing.assert_close(before[:, :4], after[:, :4], rtol=0, atol=0)
    assert not torch.equal(before[:, 4], after[:, 4])


@pytest.mark.parametrize("kind", KINDS)
def test_only_positions_in_the_stream_tell_equal_tokens_apart(kind):
    """The others mix values that carry no position, and a mix of equal values is that value."""
    out = model(kind)(torch.tensor([[9, 9, 9, 9]]))[0]
    alike = torch.allclose(out[1], out[3], atol=1e-5)
    assert alike == (kind in ("none", "rope", "alibi"))


@pytest.mark.parametrize("kind", ["rope", "alibi"])
def test_where_values_differ_distance_tells(kind):
    one, other = torch.tensor([[1, 2, 9]]), torch.tensor([[2, 1, 9]])
    assert not torch.allclose(model(kind)(one)[0, -1], model(kind)(other)[0, -1], atol=1e-4)
    single = GPTConfig(11, 64, 32, 2, 1)
    blind = PositionedGPT(single, "none").eval()
    torch.testing.assert_close(blind(one)[0, -1], blind(other)[0, -1])  # one layer without positions: a bag of tokens


def test_an_experiment_trains_every_kind_and_reads_four_times_the_length():
    text = rows(date_forms.lines(60, 0), TINY.length)
    unseen = rows(date_forms.lines(30, 0, held_out=True), LONGER * TINY.length)
    steps = list(experiment(TINY, text, unseen))
    assert [step.kind for step in steps] == [kind for kind in KINDS for _ in range(6)]
    ends = [step for step in steps if step.by_position is not None]
    assert [(end.kind, end.step) for end in ends] == [(kind, 6) for kind in KINDS]
    assert all(end.by_position.shape == (32,) for end in ends)
    again = list(experiment(TINY, text, unseen, ["rope"]))
    assert torch.equal(again[-1].by_position, ends[KINDS.index("rope")].by_position)  # same seed, same numbers


def test_an_unknown_kind_is_refused():
    with pytest.raises(NotAChoice):
        next(experiment(TINY, None, None, ["rotary"]))


def test_losses_by_position_are_those_of_each_position():
    text = rows("abcdefgh" * 40, 8)
    gpt = initialise(GPTModel(GPTConfig(VOCABULARY, 8, 16, 2, 1)), 0)
    inputs, targets = text.batch(torch.tensor([0]))
    by_hand = torch.nn.functional.cross_entropy(gpt(inputs)[0], targets[0], reduction="none")
    torch.testing.assert_close(losses_by_position(gpt, text, 4).float(), by_hand)  # all rows are alike


def test_parts_are_means():
    assert by_multiple([1.0, 3.0, 2.0, 2.0, 5.0, 7.0, 0.0, 1.0]) == [2.0, 2.0, 6.0, 0.5]


def test_the_lines_of_dates_are_of_the_side_asked_for_and_the_seed_decides():
    text = date_forms.lines(50, 7)
    assert text == date_forms.lines(50, 7) != date_forms.lines(50, 8)
    assert text.isascii()
    unseen = {day.isoformat() for day in date_forms.days(held_out=True)}
    assert all(line.split(" = ")[1] not in unseen for line in text.splitlines())
    assert all(line.split(" = ")[1] in unseen for line in date_forms.lines(50, 7, held_out=True).splitlines())


# What the shipped training showed.


def test_the_shipped_results_have_every_kind_at_every_position():
    results = shipped()
    assert list(results["losses"]) == list(KINDS)
    assert all(len(losses) == LONGER * results["setting"]["length"] for losses in results["losses"].values())
    assert results["setting"]["length"] == SHIPPED.length
    assert results["command"].startswith("python -m playground.lessons.run_extrapolation ")


def test_a_learned_table_breaks_beyond_the_length_trained_on_and_alibi_does_not():
    parts = {kind: by_multiple(losses) for kind, losses in shipped()["losses"].items()}
    assert parts["learned"][3] > parts["learned"][0] + 0.3
    assert parts["alibi"][3] < parts["alibi"][0]  # more to look at, and nothing unknown
    assert min(parts, key=lambda kind: parts[kind][3]) == "alibi"


def test_rope_is_best_within_the_length_and_worst_far_beyond_it():
    """As it stands; what is done about it in practice (interpolation, NTK-aware scaling) is not in this lesson."""
    parts = {kind: by_multiple(losses) for kind, losses in shipped()["losses"].items()}
    assert min(parts, key=lambda kind: parts[kind][0]) == "rope"
    assert max(parts, key=lambda kind: parts[kind][3]) == "rope"


def test_sines_break_too_though_they_are_defined_everywhere():
    first, *_, last = by_multiple(shipped()["losses"]["sinusoidal"])
    assert last > first + 0.1
