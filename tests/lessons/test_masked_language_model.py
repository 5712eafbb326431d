"""GPT and BERT: two masks, two losses, one network."""

import pytest
import torch

from playground.errors import NothingToFill, OutOfRange, TextEmpty, TextTooLong
from playground.lessons.bundled import storyteller, words
from playground.lessons.masked_language_model import (
    BOTH_SIDES,
    CONFIG,
    FOLDER,
    LONGEST,
    MASK,
    START,
    blanks,
    causal_mask,
    fill,
    label,
    masked_losses,
    masked_model,
    moved_by,
    next_token_losses,
    same,
    with_blanks,
    without_blanks,
)

WORDS = words()
STORY = WORDS.encode("Once upon a time, there was a little girl named Lily. She loved to play in the park.")


@pytest.fixture(scope="module")
def gpt():
    return storyteller()


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
    losses = masked_losses(masked_model(), STORY, [2, 5])
    assert losses.isfinite().nonzero().flatten().tolist() == [2, 5]
    shown = [START, *STORY]
    shown[3] = shown[6] = MASK
    probabilities = masked_model()(torch.tensor([shown]), BOTH_SIDES)[0, :, :MASK].softmax(-1)
    assert float(losses[2]) == pytest.approx(-float(probabilities[2, STORY[2]].log()), abs=1e-6)


def test_hiding_each_token_alone_is_hiding_one_after_the_other():
    each = masked_losses(masked_model(), STORY)
    for t in (0, 7, len(STORY) - 1):
        assert float(each[t]) == pytest.approx(float(masked_losses(masked_model(), STORY, [t])[t]), abs=1e-5)


def test_what_stands_after_a_blank_changes_only_the_answer_of_the_model_that_sees_it(gpt):
    swam, flew = (with_blanks(f"The ___ {verb} away.") for verb in ("swam", "flew"))
    one, other = fill(masked_model(), gpt, swam)[0], fill(masked_model(), gpt, flew)[0]
    assert torch.equal(one.left_only, other.left_only)
    assert not same(one.both_sides, other.both_sides)


def test_gpt_reads_an_earlier_blank_as_the_masked_model_filled_it_and_says_so(gpt):
    first, second = fill(masked_model(), gpt, with_blanks("The ___ saw a ___ in the park."))
    filled = int(first.both_sides.argmax())
    assert [label(token) for token in second.left] == ["The", label(filled), "·saw", "·a"]
    assert torch.equal(second.left_only, gpt(torch.tensor([[START, *second.left]]))[0, -1].softmax(-1))


def test_with_both_sides_in_view_hidden_tokens_are_better_known_though_the_model_is_smaller(gpt):
    """Sentences that we wrote. GPT loses 1.8 nats a token, the masked model 1.3."""
    sentences = (
        "Tom had a red ball. He liked to kick it in the garden. One day the ball went over the fence.",
        "The cat was hungry. She looked for a fish, but there was no fish in the house.",
        'Mom said, "Come here, Tim. Look at the big dog!" Tim ran to his mom and smiled.',
    )
    texts = [without_blanks(sentence) for sentence in sentences]
    left_only = torch.cat([next_token_losses(gpt, ids) for ids in texts]).mean()
    both_sides = torch.cat([masked_losses(masked_model(), ids) for ids in texts]).mean()
    assert sum(w.numel() for w in masked_model().parameters()) < sum(w.numel() for w in gpt.parameters())
    assert float(both_sides) < float(left_only) - 0.3


def test_words_to_the_right_are_used():
    """Why she was sad stands after the blank: GPT, a third larger, cannot know it."""
    found = blanks("Lily was very ___ because she lost her doll.")
    sad = without_blanks(" sad")[0]
    first = found.filled[0]
    assert int(first.both_sides.argmax()) == sad
    assert float(first.both_sides[sad]) > 3 * float(first.left_only[sad])
    assert torch.equal(first.left_only, found.cut.left_only)


def test_a_blank_is_one_token_and_takes_the_space_before_it():
    ids = with_blanks("The ___ saw a [MASK].")
    assert [label(token) for token in ids] == ["The", "[MASK]", "·saw", "·a", "[MASK]", "."]
    assert with_blanks("___ saw")[0] == MASK


@pytest.mark.parametrize(
    ("text", "error"),
    [("", TextEmpty), ("The cat. " * 60 + "___", TextTooLong)],
    ids=["empty", "too long"],
)
def test_texts_that_cannot_be_read_are_refused(text, error):
    with pytest.raises(error):
        with_blanks(text)


def test_the_longest_text_is_read_and_one_token_more_is_not():
    assert len(with_blanks(" the" * LONGEST)) == LONGEST == 127
    with pytest.raises(TextTooLong) as refused:
        with_blanks(" the" * 128)
    assert refused.value.values == {"tokens": 128, "limit": 127}


def test_without_a_blank_there_is_nothing_to_fill(gpt):
    with pytest.raises(NothingToFill):
        fill(masked_model(), gpt, STORY)


def test_only_tokens_of_the_text_can_be_hidden():
    with pytest.raises(OutOfRange):
        masked_losses(masked_model(), STORY, [len(STORY)])


def test_the_file_is_small_and_its_card_says_what_made_it():
    assert sum(weights.numel() for weights in masked_model().parameters()) == CONFIG.n_parameters == 2_591_040
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= 3_000_000
    assert "python -m playground.lessons.train_masked" in (FOLDER / "README.md").read_text("utf-8")
