"""The lessons with models of their own: answers follow the experiment, numbers are written as in papers."""

import pytest

from playground.errors import CharacterUnknown, NothingToFill
from playground.lessons import encoder_decoder, fine_tuning, masked_language_model, policy, reward_model, scaling_grid
from playground.ui.lessons import assistant, masks, scaling, tab
from playground.ui.lessons import encoder_decoder as dates


def right(shown, name):
    return next(question.right for question in shown.questions if question.name == name)


def test_with_nothing_after_the_blank_nobodys_answer_changes():
    shown = masks.draw_blanks(masked_language_model.blanks("Tom opened the ___"), "en")
    assert right(shown, "q_listens") == "neither"
    full = masks.draw_blanks(masked_language_model.blanks("Lily was very ___ because she lost her doll."), "en")
    assert right(full, "q_listens") == "bert"


def test_every_blank_has_its_picture_up_to_three():
    shown = masks.draw_blanks(masked_language_model.blanks("___ saw ___ and ___ saw ___"), "zh")
    assert list(shown.pictures) == ["blank_1", "blank_2", "blank_3"]


def test_the_first_token_changed_leaves_nothing_before_it():
    shown = masks.draw_change(masked_language_model.change("The cat sat.", " dog", 0), "en")
    assert right(shown, "q_before") == "nothing"
    assert right(shown, "q_without") == "all"


def test_the_year_is_looked_for_where_it_stands():
    for text, part in (("3rd of May 2021", "end"), ("2021/12/25", "beginning")):
        shown = dates.draw_decode(encoder_decoder.decode(text, 10, "1", "all"), "en")
        assert right(shown, "q_where") == part
        assert right(shown, "q_ahead") == "encoder"


def test_rows_not_written_yet_are_gaps():
    found = encoder_decoder.decode("3 May 2021", 4, "0", "2")
    assert found.cross[:4].isfinite().all()
    assert found.cross[4:].isnan().all()
    assert found.written == "2021-05-03"


def test_gpt_3_read_too_little():
    shown = scaling.draw_calculator(scaling_grid.calculate(11.243, 11.477, "a100", 40), "en")
    assert right(shown, "q_hungry") == "more"
    assert "3.15 × 10²³" in shown.pictures["calculator_curve"].notes[0]
    chinchilla = scaling.draw_calculator(scaling_grid.calculate(10.845, 12.146, "h100", 40), "en")
    assert right(chinchilla, "q_hungry") == "about"


def test_sizes_are_written_as_in_papers():
    assert [scaling.short(n) for n in (872, 39_440, 175e9, 1.4e12)] == ["872", "39.4k", "175B", "1.4T"]
    assert [scaling.size_of(n) for n in (2e3, 350e9, 2.8e12)] == ["2 kB", "350 GB", "2.8 TB"]
    assert scaling.powers(3.15e23) == "3.15 × 10²³"


@pytest.mark.parametrize(
    ("part", "text", "refused"),
    [("decode", "3 mai 2021 à", CharacterUnknown), ("blank", "no blank here", NothingToFill)],
)
def test_what_a_model_cannot_read_is_refused(part, text, refused):
    with pytest.raises(refused):
        tab.look(1, part, {"text": text}, True, "en")


def test_answers_are_shown_as_they_were_written():
    hostile = fine_tuning.Answered(
        fine_tuning.pairs(fine_tuning.facts(1, 0))[0], " <img src=x onerror=alert(1)>", "{braces} <b>"
    )
    (table,) = assistant.draw_sft(fine_tuning.Tuned(2, 8, (1.0,), answered=(hostile,)), "en").samples
    assert table.rows == [(hostile.pair.prompt, "<img src=x onerror=alert(1)>", "{braces} <b>")]


def test_questions_come_when_a_training_has_ended():
    begun = fine_tuning.Tuned(2, 8, (3.0,), (1,), (0.0,), (0.0,), 200)
    ended = fine_tuning.Tuned(2, 8, (3.0, 1.0), (1, 2), (0.0, 1.0), (0.0, 0.1), 400)
    assert not assistant.draw_sft(begun, "en").questions
    shown = assistant.draw_sft(ended, "en")
    assert right(shown, "q_words") == "few"
    assert right(shown, "q_harder") == "words"
    assert right(shown, "q_tokens") == "millions"
    waiting = assistant.draw_policy(policy.Improved(3, "model", 0.0), "zh")
    assert not waiting.questions
    assert not waiting.samples


def test_what_the_labeller_likes_stands_at_the_top():
    endings = tuple(reward_model.Ending(f"{i}", i < 2, -i if i % 2 else i) for i in range(4))
    shown = assistant.draw_reward(reward_model.Trained(1, "sad", (0.6931,), (1,), (0.5,), endings), "en")
    assert [row[0] for row in shown.samples[0].rows] == ["+2.00", "+0.00", "-1.00", "-3.00"]
    assert right(shown, "q_first") == "log2"
    assert right(shown, "q_top") == "mixed"


def test_the_leashs_questions_follow_the_shipped_trainings():
    shown = assistant.draw_leash(reward_model.shipped(), "en")
    assert [right(shown, name) for name in ("q_reward", "q_kl", "q_judge")] == ["none", "none", "short"]
