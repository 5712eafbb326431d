"""From gibberish to words: what is known of a text beforehand, what is held out, and that words come of it."""

import math
import random
import re

import pytest
import torch

from playground.errors import TextTooShort
from playground.lessons import gibberish
from playground.lessons.story_forms import BEGINNINGS, ENDINGS, MIDDLES, WORDS, stories, story


def grow(**values):
    return list(gibberish.grow(**{"text": "en", "mine": "", "size": "small", "steps": 20, "seed": 0, **values}))


def test_the_entropies_of_a_text_one_can_work_out_by_hand():
    """ABAB...: two letters equally often, each known from the one before. AABB...: a pair decides half."""
    alternating, pairs = torch.tensor([0, 1] * 500), torch.tensor([0, 0, 1, 1] * 250)
    assert gibberish.levels(alternating).letters == pytest.approx(math.log(2))
    assert gibberish.levels(alternating).pairs == pytest.approx(0, abs=2e-3)
    assert gibberish.levels(pairs).pairs == pytest.approx(math.log(2), abs=2e-3)
    assert gibberish.levels(pairs).nothing == math.log(256)


def test_english_letters_cost_what_shannon_measured():
    """Stories in 26 letters and the blank: Shannon 1951 found F_1 = 4.03 and F_2 = 3.32 bits for English at large."""
    text = re.sub("[^a-z]+", " ", stories("en", 200_000, 0).lower())
    found = gibberish.levels(torch.tensor(list(text.encode())))
    assert found.letters / math.log(2) == pytest.approx(4.03, abs=0.15)
    assert found.pairs / math.log(2) < 3.32  # few words, often repeated


def test_the_end_of_a_text_is_never_trained_on():
    text = "".join(map(chr, range(65, 91))) * 100
    trained_on, held_out = gibberish.parts(text)
    assert trained_on.numel() + held_out.numel() == 2600
    assert held_out.numel() == 260
    assert gibberish.rows(trained_on, gibberish.STRIDE).tokens.numel() == 2340


@pytest.mark.parametrize(("text", "bytes_"), [("x" * 599, 599), ("好" * 199, 597), ("🦊" * 149, 596)])
def test_too_short_a_text_is_refused_in_bytes(text, bytes_):
    with pytest.raises(TextTooShort) as refused:
        grow(text="mine", mine=text)
    assert refused.value.values == {"found": bytes_, "least": 600}


@pytest.mark.parametrize("text", ["好" * 200, "a\0\ud800<b>" * 120, "🦊 " * 130])
def test_any_other_text_can_be_trained_on(text):
    last = grow(text="mine", mine=text, steps=20)[-1]
    assert last.done == 20
    assert all(map(math.isfinite, last.found.losses))


def test_checkpoints_come_first_and_last_and_their_models_stand_still():
    made = grow()
    models = {each.done: each.model for each in made if each.model is not None}
    assert list(models) == [stage.step for stage in made[-1].found.stages] == [0, 1, 2, 4, 7, 10, 15, 20]
    written = gibberish.write(models[7], gibberish.OPENINGS["en"], seed=0)
    assert written == next(stage.written for stage in made[-1].found.stages if stage.step == 7)
    assert not any(weights.requires_grad for weights in models[7].parameters())


def test_untrained_it_knows_nothing():
    first = next(gibberish.grow("en", "", "medium", 20, 0)).found
    assert first.stages[0].held_out == pytest.approx(first.levels.nothing, abs=0.05)


def test_the_same_seed_gives_the_same_training():
    one, two, other = grow()[-1].found, grow()[-1].found, grow(seed=1)[-1].found
    assert one == two
    assert one.losses != other.losses


def characters_of_stories():
    told = [
        *BEGINNINGS["zh"],
        *MIDDLES["zh"],
        *ENDINGS["zh"],
        *(each for words in WORDS["zh"].values() for each in words),
    ]
    return set("".join(told)) | {"\n"}


def test_within_seconds_it_writes_whole_characters_of_three_bytes_each():
    """The claim of the lesson, at a fifth of its usual steps."""
    made = gibberish.grow("zh", "", "medium", 60, 0)
    first, *_, last = [each.found for each in made if each.model is not None]
    known = characters_of_stories()
    shares = [
        sum(character in known for character in written) / len(written)
        for written in (found.stages[-1].written.removeprefix("从前") for found in (first, last))
    ]
    assert shares[0] < 0.1
    assert shares[1] > 0.3
    assert last.stages[-1].held_out < last.levels.pairs


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_stories_use_their_words_only_and_each_draw_differs(lang):
    rng = random.Random(0)
    told = [story(rng, lang) for _ in range(50)]
    assert len(set(told)) == 50
    assert "{" not in "".join(told)
    assert stories(lang, 500, 3) == stories(lang, 500, 3) != stories(lang, 500, 4)
    assert len(stories(lang, 500, 3)) >= 500
