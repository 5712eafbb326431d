"""Documents in, rows out; what is held out is never trained on."""

import lzma

import pytest
import torch

from playground.gpt.data import documents, for_training, held_out, read_texts, rows, with_repeats
from playground.gpt.tokenizer import tokenizer

WORDS = tokenizer("storyteller")
STORIES = [f"Story number {i} is about a cat and {i * 7} dogs." for i in range(120)]


@pytest.mark.parametrize("packed", [False, True])
def test_documents_end_at_the_marker(tmp_path, packed):
    text = "One.\nTwo lines.\n<|endoftext|>\nSecond é.\n<|endoftext|>\n\n<|endoftext|>\nNo marker at the end\n"
    file = tmp_path / ("texts.txt.xz" if packed else "texts.txt")
    file.write_bytes(lzma.compress(text.encode()) if packed else text.encode())
    assert documents(file) == ["One.\nTwo lines.", "Second é.", "No marker at the end"]


def test_every_fiftieth_document_is_held_out_the_first_included():
    assert held_out(STORIES) == [STORIES[0], STORIES[50], STORIES[100]]
    assert sorted(for_training(STORIES) + held_out(STORIES)) == sorted(STORIES)


def test_held_out_documents_never_enter_a_training_row(tmp_path):
    (tmp_path / "stories.txt").write_text("<|endoftext|>".join(STORIES), "utf-8")
    texts, apart = read_texts(tmp_path / "stories.txt")
    assert len(apart) == 3
    inputs, targets = all_rows(rows(texts, WORDS, 16))
    read = "\n".join(WORDS.decode(row) for row in torch.cat([inputs, targets]).tolist())
    assert all(f"number {i} is" in read for i in (1, 49, 51, 119))
    assert not any(f"number {i} is" in read for i in (0, 50, 100))


def all_rows(made) -> tuple[torch.Tensor, torch.Tensor]:
    return made.batch(torch.arange(made.starts.numel()))


def test_rows_start_with_documents_and_cover_every_token():
    made = rows(STORIES[:5], WORDS, 8)
    inputs, targets = all_rows(made)
    assert inputs.shape == targets.shape == (made.starts.numel(), 8)
    assert torch.equal(inputs[:, 1:], targets[:, :-1])
    starts = {int(row[0]) for row in inputs}
    assert {WORDS.encode(story)[0] for story in STORIES[:5]} <= starts
    covered = torch.zeros(made.tokens.numel(), dtype=torch.bool)
    for start in made.starts.tolist():
        covered[start : start + 9] = True
    assert covered.all()
    assert made.tokens.tolist().count(WORDS.end_of_text) == 5


def test_repeating_rows_can_be_known_only_by_looking_back():
    inputs = torch.arange(4 * 32).view(4, 32)
    changed, targets = with_repeats(inputs.clone(), inputs + 1, 0.5, torch.Generator().manual_seed(0))
    assert torch.equal(changed[:2], inputs[:2])
    assert torch.equal(targets[:2], inputs[:2] + 1)
    for row in (2, 3):
        assert torch.equal(changed[row, 1:], targets[row, :-1])
        period = changed[row].tolist().index(int(changed[row, 0]), 1)
        assert 4 <= period <= 16
        assert torch.equal(changed[row, period:], changed[row, :-period])
        assert set(changed[row].tolist()) == set(inputs[row, :period].tolist())
        assert changed[row, :period].tolist() != inputs[row, :period].tolist()


@pytest.mark.parametrize("length", [1, 2, 3])
def test_repeating_rows_may_be_short(length):
    inputs = torch.arange(2 * length).view(2, length)
    changed, _ = with_repeats(inputs.clone(), inputs + 1, 1.0, torch.Generator().manual_seed(0))
    assert changed.shape == inputs.shape
