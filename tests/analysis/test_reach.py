"""Outside its reach a switch changes nothing, not one bit; within, a forbidden look changes everything it may."""

import random
from dataclasses import replace

import pytest
import torch
from torch import Tensor

import fixture
from playground.analysis import stream
from playground.analysis.reach import reach, relative_changes
from playground.errors import NothingToSee
from playground.gpt.ablation import NOTHING_OFF, WHAT_IFS, Ablation
from playground.gpt.config import GPTConfig
from playground.gpt.model import GPTModel

SIZES = [
    fixture.SMALL,
    GPTConfig(vocab_size=13, context_length=16, emb_dim=12, n_heads=3, n_layers=2),
    GPTConfig(vocab_size=7, context_length=16, emb_dim=4, n_heads=1, n_layers=4),
]
TOKENS = 7


def some(rng: random.Random, things: list, share: float) -> frozenset:
    return frozenset(thing for thing in things if rng.random() < share)


def random_ablation(rng: random.Random, config: GPTConfig, tokens: int) -> Ablation:
    """Few switches, so that their reach is seldom everything; edges also of tokens that are not there."""
    layers = list(range(config.n_layers))
    places = range(tokens + 2)
    heads = [(layer, head) for layer in layers for head in range(config.n_heads)]
    edges = [(*rng.choice(heads), rng.choice(places), rng.choice(places)) for _ in range(rng.choice([0, 1, 1, 2, 6]))]
    return Ablation(
        attention=some(rng, layers, 0.1),
        feed_forward=some(rng, layers, 0.1),
        heads=some(rng, heads, 0.05),
        edges=frozenset(edge for edge in edges if edge[2] > 0),
        mean=rng.random() < 0.5,
        **{name: rng.random() < 0.06 for name in WHAT_IFS},
    )


def read(model: GPTModel, ablation: Ablation, tokens: int = TOKENS):
    ids = torch.randint(0, model.config.vocab_size, (1, tokens), generator=torch.Generator().manual_seed(3))
    return model.trace(ids, ablation).row(0)


def differs(model: GPTModel, ablation: Ablation, tokens: int = TOKENS) -> Tensor:
    """Where any bit of the stream is another than with nothing off. Shapes: (2L + 1, T)"""
    pairs = zip(stream(read(model, ablation, tokens)), stream(read(model, NOTHING_OFF, tokens)), strict=True)
    return torch.stack([(x != usual).any(-1) for (_, x), (_, usual) in pairs])


@pytest.mark.parametrize("double", [False, True], ids=["float32", "float64"])
@pytest.mark.parametrize("config", SIZES, ids=lambda config: f"{config.n_layers} layers")
def test_outside_the_reach_of_any_ablation_every_bit_is_as_it_was(config, double):
    rng, model = random.Random(config.n_layers), fixture.random_model(config)
    model = model.double() if double else model
    partly = 0
    for _ in range(60):
        tokens = rng.randint(1, 9)
        ablation = random_ablation(rng, config, tokens)
        try:
            changed = differs(model, ablation, tokens)
        except NothingToSee:
            continue
        within = reach(ablation, config, tokens)
        assert within.shape == changed.shape
        assert not (changed & ~within).any(), fixture.shown(ablation)
        partly += bool(within.any() and not within.all())
    assert partly > 20  # or nothing was put to the test


@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize("head", [0, 1])
def test_a_forbidden_look_changes_everything_in_its_reach(small, layer, head):
    for query in range(1, TOKENS):
        for key in {0, query - 1, query}:
            edge = Ablation(edges=frozenset({(layer, head, query, key)}))
            assert torch.equal(differs(small, edge), reach(edge, fixture.SMALL, TOKENS)), edge.words()


@pytest.mark.parametrize("mean", [False, True], ids=["zero", "mean"])
@pytest.mark.parametrize(
    "ablation",
    [
        *(Ablation(attention=frozenset({layer})) for layer in range(3)),
        *(Ablation(feed_forward=frozenset({layer})) for layer in range(3)),
        *(Ablation(heads=frozenset({(layer, 1)})) for layer in range(3)),
        *(Ablation(**{name: True}) for name in WHAT_IFS),
    ],
    ids=fixture.shown,
)
def test_a_single_switch_changes_everything_in_its_reach(small, ablation, mean):
    ablation = replace(ablation, mean=mean)
    assert torch.equal(differs(small, ablation), reach(ablation, fixture.SMALL, TOKENS))


def test_a_forbidden_look_reaches_its_query_and_from_the_next_attention_on_the_tokens_after_it():
    found = reach(Ablation(edges=frozenset({(1, 0, 4, 2)})), fixture.SMALL, 7)
    none, query, cone = [False] * 7, [i == 4 for i in range(7)], [i >= 4 for i in range(7)]
    assert found.tolist() == [none, none, none, query, query, cone, cone]


def test_a_part_that_is_off_reaches_every_position_from_its_sublayer_on():
    for mean in (False, True):
        for sublayer, off in enumerate([Ablation(frozenset({1}), mean=mean), Ablation(heads=frozenset({(1, 0)})),
                                        Ablation(feed_forward=frozenset({1}), mean=mean)]):  # fmt: skip
            first = 4 if sublayer == 2 else 3
            assert reach(off, fixture.SMALL, 5).tolist() == [[place >= first] * 5 for place in range(7)]


def test_what_is_no_look_reaches_nothing():
    for edge in [(0, 0, 2, 4), (0, 1, 9, 1), (1, 0, 7, 7)]:
        assert not reach(Ablation(edges=frozenset({edge}), mean=True), fixture.SMALL, 7).any()
    assert reach(Ablation(edges=frozenset({(0, 0, 2, 4)}), causal_mask=True), fixture.SMALL, 7).any()


def test_the_measured_change_is_relative_to_the_stream_with_nothing_off(small):
    run, base = read(small, Ablation(residuals=True)), read(small, NOTHING_OFF)
    found = relative_changes(run, base)
    assert not found[0].any()
    by_hand = (run.blocks[1].middle[4] - base.blocks[1].middle[4]).norm() / base.blocks[1].middle[4].norm()
    torch.testing.assert_close(found[3, 4], by_hand)
    assert found.shape == (7, TOKENS)
