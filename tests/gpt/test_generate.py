"""Writing on, token by token: the fast way says what the textbook's loop says."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import fixture
from playground.errors import ContextFull, OutOfRange, PromptEmpty
from playground.gpt.ablation import Ablation
from playground.gpt.cache import KVCache
from playground.gpt.generate import Step, generate, generate_textbook
from playground.gpt.model import GPTModel
from playground.gpt.sampling import Sampling
from playground.gpt.tokenizer import tokenizer

TWELVE = [17442, 23487, 33885, 34454, 25099, 25099, 25099, 35628, 35628, 35628, 25099, 25099]


def tokens(steps) -> list[int]:
    return [step.token for step in steps]


def test_O_GEN_01_twelve_greedy_steps(fix_a):
    steps = list(generate(fix_a, fixture.PROMPT, 12))
    assert tokens(steps) == TWELVE
    assert [step.stop for step in steps] == [None] * 11 + ["max_new_tokens"]
    margins = [float(best - second) for best, second in (step.staged.logits.topk(2).values for step in steps)]
    assert min(margins) == pytest.approx(0.0124, abs=1e-4)
    assert steps[0].probability == pytest.approx(1.459506e-4, abs=1e-8)


def test_O_GEN_02_twenty_steps_run_past_the_context(fix_a):
    steps = list(generate(fix_a, fixture.PROMPT, 20))
    assert tokens(steps) == [*TWELVE, *[25099] * 8]
    assert [step.unseen for step in steps] == [0] * 13 + [1, 2, 3, 4, 5, 6, 7]


def test_greedy_steps_are_the_textbook_loop_also_past_the_context(fix_a, small):
    assert [*fixture.PROMPT, *tokens(generate(fix_a, fixture.PROMPT, 30))] == generate_textbook(
        fix_a, fixture.PROMPT, 30
    )
    model = fixture.random_model(fixture.SMALL)
    for prompt in ([3], [1, 5, 2], list(range(11)) * 2):
        assert [*prompt, *tokens(generate(model, prompt, 25))] == generate_textbook(model, prompt, 25)


@pytest.mark.parametrize("ablation", fixture.ABLATIONS, ids=fixture.shown)
def test_every_step_chooses_from_a_fresh_reading_of_the_whole_text(ablation):
    model = fixture.random_model(fixture.SMALL)
    ids = [1, 5, 2]
    for step in generate(model, ids, 18, ablation=ablation):
        fresh = model(torch.tensor([ids[-16:]]), ablation)[0, -1]
        assert_close(step.staged.logits, fresh, rtol=0, atol=1e-4)
        ids = [*ids, step.token]
    assert len(ids) == 21


def test_writing_on_from_any_place_repeats_the_same_draws():
    model, sampling = fixture.random_model(fixture.SMALL), Sampling(temperature=1.3, top_k=8, top_p=0.95)
    ids = [1, 5, 2]
    whole = tokens(generate(model, ids, 12, sampling, seed=7))
    assert tokens(generate(model, ids, 12, sampling, seed=7)) == whole
    assert tokens(generate(model, ids + whole[:5], 7, sampling, seed=7)) == whole[5:]
    assert tokens(generate(model, ids, 12, sampling, seed=8)) != whole


class Scripted(GPTModel):
    """Prefers, as the k-th new token of a prompt of one, the k-th of `script`."""

    script = (11, 12, 50256, 13)

    def next_logits(self, ids: Tensor, ablation=None, cache=None) -> Tensor:
        logits = torch.zeros(1, self.config.vocab_size)
        logits[0, self.script[cache.length]] = 1
        cache.advance(ids.size(1))
        return logits


def test_O_GEN_08_end_of_text_ends_the_text(fix_a):
    steps: list[Step] = list(generate(Scripted(fix_a.config), [5], 10))
    assert tokens(steps) == [11, 12, 50256]
    assert [step.stop for step in steps] == [None, None, "end_of_text"]
    assert tokenizer("gpt2").label(50256) == "<|endoftext|>"


def test_nothing_is_computed_ahead(small):
    calls = []
    model = fixture.random_model(fixture.SMALL)
    model.final_norm.register_forward_hook(lambda *_: calls.append(1))
    steps = generate(model, [1, 2], 10)
    assert calls == []
    next(steps)
    next(steps)
    assert len(calls) == 2


def test_an_empty_prompt_is_refused_at_once(small):
    with pytest.raises(PromptEmpty):
        generate(small, [], 5)


@pytest.mark.parametrize("count", [0, -1])
def test_less_than_one_new_token_is_refused_at_once(small, count):
    with pytest.raises(OutOfRange) as refused:
        generate(small, [1], count)
    assert refused.value.values["value"] == count


def test_ablations_last_for_the_whole_text(fix_a):
    off = Ablation(attention=frozenset({0}))
    assert tokens(generate(fix_a, fixture.PROMPT, 3, ablation=off))[0] == 33554


def test_a_cache_takes_no_more_than_it_has_room_for(small):
    cache = KVCache(small.config, 3, dtype=torch.float64)
    small(torch.tensor([[1, 2]]), cache=cache)
    with pytest.raises(ContextFull) as refused:
        small(torch.tensor([[3, 4]]), cache=cache)
    assert refused.value.values == {"tokens": 4, "limit": 3}
