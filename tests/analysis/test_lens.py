"""The logit lens: FIX-A's exact answers, Hugging Face's hidden states, and slow obvious versions of each number."""

import math

import pytest
import torch
from torch.testing import assert_close
from transformers import GPT2LMHeadModel

import fixture
from playground.analysis import kl_divergence, rank, stream
from playground.analysis import lens as module
from playground.analysis.lens import Lens, joined, logit_lens, next_tokens, place_lenses, place_logits, position_lens
from playground.gpt.ablation import NOTHING_OFF, Ablation
from playground.gpt.trace import Trace


@pytest.fixture(scope="module")
def trace(fix_a) -> Trace:
    return read(fix_a)


@pytest.fixture(scope="module")
def lens(fix_a, trace) -> Lens:
    return logit_lens(fix_a, fixture.PROMPT, NOTHING_OFF, trace)


def read(gpt, ablation=NOTHING_OFF):
    with torch.inference_mode():
        return gpt.trace(torch.tensor([fixture.PROMPT]), ablation).row(0)


def test_O_ACT_06_every_place_is_normalised_with_its_own_statistics(lens):
    rows = [lens.places.index(name) for name in ("embedding", *(f"feed_forward.{layer}" for layer in range(3)))]
    assert lens.top[rows, -1].tolist() == [12705, 39621, 11721, 17442]
    expected = [2.327e-4, 2.308e-4, 1.360e-4, 1.460e-4]
    assert lens.probability[rows, -1].tolist() == pytest.approx(expected, abs=5e-8)


def test_the_places_are_those_of_the_stream(lens, trace):
    assert list(lens.places) == [name for name, _ in stream(trace)]
    for numbers in (lens.top, lens.probability, lens.entropy, lens.kl, lens.rank):
        assert numbers.shape == (7, 4)


@pytest.mark.parametrize("ablation", fixture.ABLATIONS, ids=fixture.shown)
def test_the_last_place_is_the_models_logits_bit_for_bit(fix_a, ablation):
    trace = read(fix_a, ablation)
    with torch.inference_mode():
        last = place_logits(fix_a, trace.blocks[-1].after, ablation)
    assert torch.equal(last, trace.logits)
    lens = logit_lens(fix_a, fixture.PROMPT, ablation, trace)
    assert torch.equal(lens.top[-1], trace.logits.argmax(-1))
    assert lens.kl[-1].tolist() == [0.0] * 4


def test_between_the_blocks_it_is_hugging_faces_final_norm_and_head_on_its_hidden_states(fix_a, fix_a_folder, trace):
    theirs = GPT2LMHeadModel.from_pretrained(fix_a_folder).eval()
    with torch.inference_mode():
        hidden = theirs(torch.tensor([fixture.PROMPT]), output_hidden_states=True).hidden_states
        places = dict(stream(trace))
        for i, name in enumerate(("embedding", "feed_forward.0", "feed_forward.1")):
            expected = theirs.lm_head(theirs.transformer.ln_f(hidden[i]))[0]
            assert_close(place_logits(fix_a, places[name], NOTHING_OFF), expected, rtol=0, atol=1e-5)
        last = place_logits(fix_a, places["feed_forward.2"], NOTHING_OFF)
        assert_close(last, theirs.lm_head(hidden[3])[0], rtol=0, atol=1e-5)  # theirs is normalised already


def test_entropy_kl_rank_and_probability_are_what_they_say(fix_a, trace, lens):
    chosen = [*fixture.PROMPT[1:], 17442]
    assert lens.chosen.tolist() == chosen
    with torch.inference_mode():
        for row, (_, x) in enumerate(stream(trace)):
            logits = place_logits(fix_a, x, NOTHING_OFF)
            q = logits.double().softmax(-1)
            entropy = -(q * q.log()).sum(-1)
            assert_close(lens.entropy[row].double(), entropy, rtol=1e-5, atol=0)
            assert_close(lens.kl[row].double(), kl_divergence(trace.logits, logits), rtol=0, atol=1e-5)
            assert_close(lens.probability[row].double(), q.max(-1).values, rtol=1e-4, atol=0)
            assert lens.rank[row].tolist() == [rank(logits[t], chosen[t]) for t in range(4)]


def test_one_position_alone_is_its_column(fix_a, trace, lens):
    for position in range(4):
        alone = position_lens(fix_a, fixture.PROMPT, NOTHING_OFF, trace, position)
        assert (alone.places, alone.chosen.tolist()) == (lens.places, [int(lens.chosen[position])])
        assert torch.equal(alone.top[:, 0], lens.top[:, position])
        assert torch.equal(alone.rank[:, 0], lens.rank[:, position])
        for name in ("probability", "entropy", "kl"):
            assert_close(getattr(alone, name)[:, 0], getattr(lens, name)[:, position], rtol=1e-4, atol=1e-5)
        assert float(alone.kl[-1]) == float(lens.kl[-1, position]) == 0  # of the final answer to itself


@pytest.mark.parametrize(("together", "pieces"), [(4, [1, 1, 1, 1, 1, 1, 1]), (8, [1, 2, 2, 2]), (999, [1, 6])])
def test_places_are_measured_when_they_are_asked_for_the_coarse_picture_first(
    fix_a, trace, lens, monkeypatch, together, pieces
):
    read = []
    monkeypatch.setattr(module, "TOGETHER", together)
    monkeypatch.setattr(module, "place_logits", lambda *asked: read.append(len(asked[1])) or place_logits(*asked))
    growing = place_lenses(fix_a, fixture.PROMPT, NOTHING_OFF, trace)
    found = [next(growing)]
    assert (found[0].places, read) == (("feed_forward.2",), [])  # what the model answered
    found += growing
    assert [len(each.places) for each in found] == pieces
    assert read == [4 * count for count in pieces[1:]]
    order = [name for each in found for name in each.places]
    assert order[:4] == ["feed_forward.2", "embedding", "feed_forward.0", "feed_forward.1"]
    whole = joined(found, trace)
    assert whole.places == lens.places
    assert torch.equal(whole.top, lens.top)
    assert_close(whole.kl, lens.kl, rtol=0, atol=1e-5)
    rest = [*place_lenses(fix_a, fixture.PROMPT, NOTHING_OFF, trace, 3)]
    assert [name for each in rest for name in each.places] == order[3:]


def test_the_greedy_choice_has_rank_1_at_the_last_place_of_the_last_token(lens):
    assert int(lens.rank[-1, -1]) == 1


def test_with_every_sublayer_off_all_places_answer_alike(fix_a):
    """O-ABL-03: final LayerNorm of embedding + position, times the table."""
    off = Ablation.all_sublayers(3)
    lens = logit_lens(fix_a, fixture.PROMPT, off, read(fix_a, off))
    assert lens.top.tolist() == [[29407, 27212, 4183, 12705]] * 7
    assert float(lens.kl.abs().max()) < 1e-6  # products of several places at once round differently


def test_an_even_answer_has_the_entropy_of_the_vocabulary():
    off = Ablation.all_sublayers(3)
    ids = [1, 5, 2]
    with torch.inference_mode():
        flat = fixture.random_model(fixture.SMALL).double()
        flat.final_norm.scale.zero_()
        flat.final_norm.shift.zero_()
        trace = flat.trace(torch.tensor([ids]), off).row(0)
    lens = logit_lens(flat, ids, off, trace)
    assert_close(lens.entropy, torch.full((7, 3), math.log(11), dtype=torch.float64))
    assert lens.top.tolist() == [[0, 0, 0]] * 7  # ties go to the lowest id
    assert lens.rank.tolist() == [[6, 3, int(lens.chosen[-1]) + 1]] * 7


def test_many_positions_are_measured_in_pieces_without_a_seam(small):
    wide = fixture.random_model(
        fixture.SMALL.__class__(vocab_size=11, context_length=80, emb_dim=8, n_heads=2, n_layers=1)
    )
    ids = [i % 11 for i in range(70)]
    with torch.inference_mode():
        trace = wide.trace(torch.tensor([ids])).row(0)
    lens = logit_lens(wide, ids, NOTHING_OFF, trace)
    assert torch.equal(lens.top[-1], trace.logits.argmax(-1))
    for at in range(70):
        alone = position_lens(wide, ids, NOTHING_OFF, trace, at)
        for name in ("probability", "entropy", "kl"):
            assert_close(getattr(lens, name)[:, at], getattr(alone, name)[:, 0], rtol=1e-5, atol=1e-6)
        for name in ("top", "rank"):
            assert torch.equal(getattr(lens, name)[:, at], getattr(alone, name)[:, 0])


def test_what_comes_next_is_the_text_and_then_the_models_choice(trace):
    assert next_tokens(fixture.PROMPT, trace).tolist() == [*fixture.PROMPT[1:], 17442]
