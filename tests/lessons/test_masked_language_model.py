"""GPT and BERT: two masks, two losses, one network."""

from pathlib import Path

import pytest
import torch

from playground.errors import NothingToFill, OutOfRange, PromptEmpty, TextTooLong
from playground.gpt.checkpoints import load
from playground.lessons.masked_language_model import (
    BOTH_SIDES,
    CONFIG,
    FOLDER,
    LONGEST,
    MASK,
    START,
    bundled,
    causal_mask,
    fill,
    label,
    masked_losses,
    moved_by,
    next_token_losses,
    with_blanks,
    words,
)

WORDS = words()
STORY = WORDS.encode("Once upon a time, there was a little girl named Lily. She loved to play in the park.")


@pytest.fixture(scope="module")
def gpt():
    return load(Path(__file__).parents[2] / "assets" / "models" / "storyteller")


def test_the_boolean_mask_lets_every_token_see_itself_and_what_came_before():
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_under_the_causal_mask_a_later_change_moves_no_earlier_output_by_a_single_bit(gpt):
    moved = moved_by(gpt, STORY, 9, WORDS.encode(" dog")[0])
    assert moved[:9].tolist() == [0] * 9
    assert (moved[9:] > 0).all()


def test_without_the_mask_every_output_moves(gpt):
    assert (moved_by(gpt, STORY, 9, WORDS.encode(" dog")[0], causal=False) > 0).all()


def test_softmax_over_a_row_masked_with_minus_infinity_is_softmax_over_what_is_left():
    scores = torch.tensor([[1.0, 9.0, 9.0], [1.0, 2.0, 9.0], [1.0, 2.0, 3.0]])
    weights = scores.masked_fill(~causal_mask(3), -torch.inf).softmax(-1)
    assert weights[0].tolist() == [1, 0, 0]
    torch.testing.assert_close(weights[1, :2], torch.tensor([1.0, 2.0]).softmax(-1))
    assert weights[1, 2] == 0


def test_gpts_losses_add_up_to_the_probability_of_the_whole_text(gpt):
    """-log P(a b c) = -log P(a) - log P(b | a) - log P(c | a b)."""
    losses, total = next_token_losses(gpt, STORY[:4]), 0.0
    for t in range(4):
        probabilities = gpt(torch.tensor([[START, *STORY[:t]]]))[0, -1].softmax(-1)
        total -= float(probabilities[STORY[t]].log())
    assert float(losses.sum()) == pytest.approx(total, rel=1e-5)


def test_berts_loss_is_taken_where_tokens_were_hidden_and_nowhere_else():
    losses = masked_losses(bundled(), STORY, [2, 5])
    assert losses.isfinite().nonzero().flatten().tolist() == [2, 5]
    shown = [START, *STORY]
    shown[3] = shown[6] = MASK
    probabilities = bundled()(torch.tensor([shown]), BOTH_SIDES)[0, :, :MASK].softmax(-1)
    assert float(losses[2]) == pytest.approx(-float(probabilities[2, STORY[2]].log()), rel=1e-5)


def test_hiding_each_token_alone_is_hiding_one_after_the_other():
    each = masked_losses(bundled(), STORY)
    for t in (0, 7, len(STORY) - 1):
        assert float(each[t]) == pytest.approx(float(masked_losses(bundled(), STORY, [t])[t]), rel=1e-4)


def test_what_stands_after_a_blank_changes_only_the_answer_of_the_model_that_sees_it(gpt):
    barked, flew = (with_blanks(f"The ___ {verb} away.", WORDS) for verb in ("swam", "flew"))
    one, other = fill(bundled(), gpt, barked)[0], fill(bundled(), gpt, flew)[0]
    assert one.left_only == other.left_only
    assert one.both_sides != other.both_sides


def test_with_both_sides_in_view_the_hidden_token_is_better_known(gpt):
    """Mean loss of a story's tokens: the masked model is smaller than storyteller and still surer."""
    assert float(masked_losses(bundled(), STORY).mean()) < float(next_token_losses(gpt, STORY).mean())


def test_a_blank_is_one_token_and_takes_the_space_before_it():
    ids = with_blanks("The ___ saw a [MASK].", WORDS)
    assert [label(token) for token in ids] == ["The", "[MASK]", "·saw", "·a", "[MASK]", "."]
    assert with_blanks("___ saw", WORDS)[0] == MASK


@pytest.mark.parametrize(
    ("text", "error"),
    [("", PromptEmpty), ("The cat. " * 60 + "___", TextTooLong)],
    ids=["empty", "too long"],
)
def test_texts_that_cannot_be_read_are_refused(text, error):
    with pytest.raises(error):
        with_blanks(text, WORDS)


def test_the_longest_text_is_read_and_one_token_more_is_not():
    assert len(with_blanks(" the" * LONGEST, WORDS)) == LONGEST == 127
    with pytest.raises(TextTooLong) as refused:
        with_blanks(" the" * 128, WORDS)
    assert refused.value.values == {"tokens": 128, "limit": 127}


def test_without_a_blank_there_is_nothing_to_fill(gpt):
    with pytest.raises(NothingToFill):
        fill(bundled(), gpt, STORY)


def test_only_tokens_of_the_text_can_be_hidden():
    with pytest.raises(OutOfRange):
        masked_losses(bundled(), STORY, [len(STORY)])


def test_the_file_is_small_and_its_card_says_what_made_it():
    assert sum(weights.numel() for weights in bundled().parameters()) == CONFIG.n_parameters == 2_591_424
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= 3_000_000
    assert "python -m playground.lessons.train_masked" in (FOLDER / "README.md").read_text("utf-8")
