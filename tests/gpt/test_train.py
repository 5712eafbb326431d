"""Training learns, repeats exactly, and goes on exactly where it stopped."""

import math
from dataclasses import replace
from itertools import islice

import pytest
import torch
import torch.nn.functional as F

import fixture
from playground.gpt.config import GPTConfig
from playground.gpt.data import Rows
from playground.gpt.model import GPTModel
from playground.gpt.train import (
    Recipe,
    held_out_loss,
    initialise,
    learning_rate,
    optimizer_for,
    pick_rows,
    train,
)
from playground.gpt.training_state import load_state, read_notes, save_state

CONFIG = GPTConfig(vocab_size=30, context_length=12, emb_dim=16, n_heads=2, n_layers=2)
RECIPE = Recipe(steps=12, batch=4, learning_rate=3e-3, warmup=3, repeats=0.3, last_rows_from=0.5, seed=1)


def some_rows(seed: int) -> Rows:
    tokens = torch.randint(0, 30, (200,), generator=torch.Generator().manual_seed(seed), dtype=torch.int32)
    return Rows(tokens, torch.arange(0, 190, 12), 12)


def fresh(**drops: float) -> GPTModel:
    return initialise(GPTModel(replace(CONFIG, **drops)), seed=0)


def trained(model: GPTModel, recipe: Recipe = RECIPE) -> dict[str, torch.Tensor]:
    for _ in train(model, some_rows(0), recipe, optimizer_for(model, recipe), last_rows=some_rows(1)):
        pass
    return model.state_dict()


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def test_one_tiny_batch_is_learnt_by_heart():
    recipe = Recipe(steps=120, batch=4, learning_rate=1e-2, warmup=5, weight_decay=0.0)
    few = Rows(some_rows(0).tokens, torch.tensor([0, 40, 80, 120]), 12)
    model = fresh()
    losses = [float(step.loss) for step in train(model, few, recipe, optimizer_for(model, recipe))]
    assert losses[0] == pytest.approx(math.log(30), abs=0.1)
    assert losses[-1] < 0.05
    inputs, targets = few.batch(torch.tensor([0]))
    assert torch.equal(model.eval()(inputs).argmax(-1)[0, 1:], targets[0, 1:])


@pytest.mark.parametrize("cut", [1, 5, 7])
def test_stopped_and_resumed_is_the_same_as_never_stopped(tmp_path, cut):
    drops = {"emb_drop": 0.2, "attn_drop": 0.2, "resid_drop": 0.2}
    whole = trained(fresh(**drops))

    model = fresh(**drops)
    optimizer = optimizer_for(model, RECIPE)
    first = train(model, some_rows(0), RECIPE, optimizer, last_rows=some_rows(1))
    assert [step.step for step in islice(first, cut)] == list(range(1, cut + 1))
    save_state(tmp_path / "state", model, optimizer, {"step": cut})

    torch.manual_seed(99)  # the global seed must not matter
    again = initialise(GPTModel(model.config), seed=5)
    optimizer = optimizer_for(again, RECIPE)
    load_state(tmp_path / "state", again, optimizer)
    start = read_notes(tmp_path / "state")["step"]
    rest = train(again, some_rows(0), RECIPE, optimizer, start, last_rows=some_rows(1))
    assert [step.step for step in rest] == list(range(cut + 1, 13))
    assert equal(again.state_dict(), whole)


def test_the_seed_decides_everything_and_nothing_global_does():
    torch.manual_seed(1)
    one = trained(fresh(resid_drop=0.2))
    torch.manual_seed(2)
    model, state = fresh(resid_drop=0.2), torch.get_rng_state()
    assert equal(one, trained(model))
    assert torch.equal(state, torch.get_rng_state())
    assert not equal(one, trained(fresh(resid_drop=0.2), replace(RECIPE, seed=2)))


def test_bfloat16_is_close_and_not_the_same():
    model, rough = fresh(), fresh()
    exact_step = next(train(model, some_rows(0), RECIPE, optimizer_for(model, RECIPE)))
    rough_step = next(train(rough, some_rows(0), RECIPE, optimizer_for(rough, RECIPE), bfloat16=True))
    assert float(rough_step.loss) == pytest.approx(float(exact_step.loss), abs=0.02)
    assert float(rough_step.loss) != float(exact_step.loss)
    assert {weights.dtype for weights in rough.parameters()} == {torch.float32}


def test_every_pass_reads_every_row_once_in_a_new_order():
    rows, recipe = some_rows(0), replace(RECIPE, batch=5)
    R = rows.starts.numel()
    picked = torch.cat([pick_rows(rows, recipe, step) for step in range(2 * R)])[: 2 * R]
    first, second = picked[:R].tolist(), picked[R:].tolist()
    assert sorted(first) == sorted(second) == list(range(R))
    assert first != second


@pytest.mark.parametrize("batch", [1, 16, 40])
def test_a_batch_may_be_larger_than_all_rows(batch):
    assert pick_rows(some_rows(0), replace(RECIPE, batch=batch), 3).shape == (batch,)


def test_the_last_rows_are_read_alone():
    model, other = fresh(), fresh()
    recipe = replace(RECIPE, repeats=0.0, last_rows_from=0.0)
    alone = train(model, some_rows(0), recipe, optimizer_for(model, recipe), last_rows=some_rows(1))
    usual = train(other, some_rows(1), recipe, optimizer_for(other, recipe))
    assert [float(a.loss) for a in alone] == [float(b.loss) for b in usual]


def test_the_learning_rate_rises_and_falls():
    recipe = Recipe(steps=100, learning_rate=1.0, warmup=10)
    rates = [learning_rate(recipe, step) for step in range(101)]
    assert rates[:10] == pytest.approx([0.1 * (step + 1) for step in range(10)])
    assert rates[10] == pytest.approx(1)
    assert rates[55] == pytest.approx(0.505)
    assert rates[100] == pytest.approx(0.01)
    assert rates[10:] == sorted(rates[10:], reverse=True)


def test_only_matrices_decay():
    model = fresh()
    decaying, others = optimizer_for(model, RECIPE).param_groups
    assert {weights.ndim for weights in decaying["params"]} == {2}
    assert {weights.ndim for weights in others["params"]} == {1}
    assert (decaying["weight_decay"], others["weight_decay"]) == (0.1, 0.0)
    assert len(decaying["params"]) + len(others["params"]) == len(list(model.parameters()))


def test_initial_weights_are_gpt2s():
    config = GPTConfig(vocab_size=500, context_length=50, emb_dim=64, n_heads=2, n_layers=8)
    model = initialise(GPTModel(config), 0).requires_grad_(False)
    assert float(model.token_embedding.weight.std()) == pytest.approx(0.02, rel=0.05)
    assert float(model.blocks[0].attention.out.weight.std()) == pytest.approx(0.02 / 4, rel=0.05)
    assert float(model.blocks[0].feed_forward.narrow.weight.std()) == pytest.approx(0.02 / 4, rel=0.05)
    assert not model.blocks[0].attention.qkv.bias.any()
    assert torch.equal(model.final_norm.scale, torch.ones(64))


def test_held_out_loss_is_the_mean_over_every_predicted_token():
    model = fixture.random_model(fixture.SMALL).train()
    texts = [[1, 5, 2], [3], list(range(11)) * 2, [7, 7], [], [4, 4, 8, 10, 3, 6, 1]] * 20
    losses = []
    for ids in texts:
        for place in range(1, min(len(ids), 16)):
            logits = model(torch.tensor([ids[:place]]))[0, -1]
            losses.append(float(F.cross_entropy(logits, torch.tensor(ids[place]))))
    assert held_out_loss(model, texts) == pytest.approx(sum(losses) / len(losses), abs=1e-5)
    assert model.training
