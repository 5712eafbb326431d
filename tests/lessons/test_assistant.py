"""From a language model to an assistant: each step's formula by hand, and what each step achieves."""

import math

import pytest
import torch

from playground.errors import TextEmpty
from playground.gpt.generate import generate
from playground.gpt.sampling import GREEDY
from playground.gpt.train import take_step
from playground.lessons import fine_tuning, little_stories, policy, reward_model
from playground.lessons.bundled import storyteller, words
from playground.lessons.little_stories import KINDS, NEW, TAUGHT, Fact, facts, pair, pairs, preferences
from playground.lessons.policy import Goal, Written
from playground.lessons.reward_model import shipped, shipped_head

TOM = Fact("Tom", "park", "red", "ball")
END = words().end_of_text
MEASURED = shipped()["policies"]  # by β: 0, 0.05, 0.2


# What is read.


def test_the_four_questions_about_a_fact():
    asked = {kind: pair(TOM, kind) for kind in KINDS}
    assert asked["where"].prompt == "Tom is in the park. Tom has a red ball.\nQ: Where is Tom?\nA:"
    assert {kind: each.answer for kind, each in asked.items()} == {
        "where": " In the park.", "what": " A red ball.", "color": " It is red.", "who": " Tom has the ball.",
    }  # fmt: skip
    assert [each.word for each in asked.values()] == ["park", "ball", "red", "Tom"]


def test_every_word_is_one_token_so_that_texts_of_one_kind_are_equally_long():
    for vocabulary in (TAUGHT, NEW):
        for listed in (vocabulary.names, vocabulary.places, vocabulary.colors, vocabulary.things):
            assert all(len(words().encode(f" {word}")) == 1 for word in listed)
        assert all(len(words().encode(name)) == 1 for name in vocabulary.names)


def test_no_combination_of_words_is_both_taught_and_asked_for():
    taught, combinations, new = (set(facts(300, 0, kind)) for kind in ("taught", "combinations", "words"))
    assert not taught & combinations
    known = {word for fact in taught for word in (fact.name, fact.place, fact.color, fact.thing)}
    assert not known & {word for fact in new for word in (fact.name, fact.place, fact.color, fact.thing)}
    assert facts(9, 5) == facts(9, 5) != facts(9, 6)


def test_no_ending_is_both_taught_and_asked_for():
    assert not {*little_stories.HAPPY, *little_stories.SAD} & {*little_stories.NEW_HAPPY, *little_stories.NEW_SAD}
    first = preferences(1, 0)[0]
    assert first.chosen.split(". ")[:2] == first.rejected.split(". ")[:2]  # one beginning, two endings


# Pre-training and supervised fine-tuning.


def test_the_loss_looks_at_answers_and_the_end_alone():
    told = fine_tuning.rows([pair(TOM, "where"), pair(TOM, "who")])
    for row, kind in enumerate(("where", "who")):
        assert words().decode(told.ids[row][told.answer[row]].tolist()) == pair(TOM, kind).answer + "<|endoftext|>"
    row = fine_tuning.rows([pair(TOM, "where")])
    with torch.no_grad():
        logs = storyteller()(row.ids)[0].log_softmax(-1)
    by_hand = [-float(logs[t - 1, row.ids[0, t]]) for t in row.answer[0].nonzero().flatten().tolist()]
    loss = float(fine_tuning.answer_loss(storyteller(), row))
    assert loss == pytest.approx(sum(by_hand) / len(by_hand), abs=1e-5)


def test_padding_changes_no_loss():
    short, long = pair(TOM, "color"), pair(TOM, "who")
    alone = [fine_tuning.rows([each]) for each in (short, long)]
    total = sum(float(fine_tuning.answer_loss(storyteller(), each)) * int(each.answer.sum()) for each in alone)
    together = fine_tuning.rows([short, long])
    loss = float(fine_tuning.answer_loss(storyteller(), together)) * int(together.answer.sum())
    assert loss == pytest.approx(total, abs=1e-3)


def test_greedy_in_a_batch_is_generate():
    prompts = [each.prompt for each in (pair(fact, "where") for fact in facts(3, 0))]
    ids = [words().encode(prompt) for prompt in prompts]
    written = fine_tuning.greedy(storyteller(), torch.tensor(ids), 6).tolist()
    assert written == [[step.token for step in generate(storyteller(), each, 6, GREEDY)] for each in ids]


def test_pre_training_alone_answers_next_to_nothing_and_does_not_stop():
    found = fine_tuning.pretrained("question")
    assert sum(each.right for each in found.asked) <= 1
    assert sum(each.stopped for each in found.asked) == 0
    assert found.answers > found.facts


def test_the_same_facts_are_told_when_a_sentence_is_to_be_completed():
    """What can be copied is: what somebody has, after its color."""
    assert fine_tuning.pretrained("sentence").share("what") == 1


def test_fine_tuning_teaches_to_answer_of_words_that_no_training_question_has():
    *_, last = fine_tuning.tune(256, 3e-4, 16, 0)
    found = last.found
    assert found.losses[0] > 2 > 0.5 > found.losses[-1]
    assert found.combinations[0] < 0.5 < 0.8 < found.combinations[-1]
    assert found.words[-1] > 0.3
    assert found.tokens == 16 * 8 * 29
    for each in found.answered:
        assert each.before != each.after


def test_an_answer_counts_as_right_if_the_model_writes_it_and_stops():
    some = pairs(facts(4, 3))
    model = fine_tuning.trainable()
    told = fine_tuning.rows(some)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    assert not fine_tuning.exact(model, told).any()
    for _ in range(6):  # by heart
        take_step(model, optimizer, fine_tuning.answer_loss(model, told), 1e-3)
    for each, right in zip(some, fine_tuning.exact(model, told).tolist(), strict=True):
        tokens = [step.token for step in generate(model, words().encode(each.prompt), 10)]
        assert (tokens == [*words().encode(each.answer), END]) == right


def test_storyteller_itself_is_never_trained():
    before = {name: weights.clone() for name, weights in storyteller().state_dict().items()}
    *_, _ = fine_tuning.tune(8, 1e-3, 2, 0)
    assert all(torch.equal(weights, before[name]) for name, weights in storyteller().state_dict().items())
    assert not any(weights.requires_grad for weights in storyteller().parameters())


# The reward model.


def test_the_loss_of_a_comparison():
    """Equal rewards cost ln 2; Bradley and Terry: P(chosen) = e^r / (e^r + e^r'), so 2 against 1 costs ln(1 + 1/e)."""
    loss = reward_model.preference_loss
    assert float(loss(torch.tensor([3.0]), torch.tensor([3.0]))) == pytest.approx(math.log(2))
    assert float(loss(torch.tensor([2.0]), torch.tensor([1.0]))) == pytest.approx(math.log(1 + math.exp(-1)))
    moved = loss(torch.tensor([102.0]), torch.tensor([101.0]))  # only the difference means anything
    assert float(moved) == pytest.approx(math.log(1 + math.exp(-1)))


def test_a_state_is_that_of_the_last_token_whatever_else_is_in_the_batch():
    short, long = "Tom smiled.", "Tom was in the park and Mom was sad."
    together = reward_model.hidden_states([short, long])
    torch.testing.assert_close(together[0], reward_model.hidden_states([short])[0], rtol=1e-4, atol=1e-4)
    trace = storyteller().trace(torch.tensor([words().encode(long)]))
    torch.testing.assert_close(together[1], trace.final_norm.after[0, -1], rtol=1e-4, atol=1e-4)


def test_labellers_turn_pairs_around():
    some, rng = preferences(40, 0), torch.Generator().manual_seed(0)
    assert reward_model.labelled(some, "happy", rng) == some
    assert [each.chosen for each in reward_model.labelled(some, "sad", rng)] == [each.rejected for each in some]
    turned = sum(a != b for a, b in zip(some, reward_model.labelled(some, "noisy", rng), strict=True))
    assert 4 <= turned <= 16  # a quarter, give or take chance


@pytest.mark.parametrize(("labels", "right"), [("happy", True), ("sad", False)])
def test_a_reward_model_likes_what_its_labeller_likes_in_endings_it_never_read(labels, right):
    *_, last = reward_model.train_reward(labels, 12, 0)
    found = last.found
    assert found.losses[0] == pytest.approx(math.log(2))
    share = found.right[-1]
    assert (share if right else 1 - share) > 0.75


def test_the_shipped_reward_model_prefers_happy_endings_and_does_not_understand_not():
    assert shipped()["reward_model"]["held_out_right"] > 0.85
    scored = reward_model.score("Tom smiled.")
    assert scored.denials["Tom was not happy."] > scored.denials["Tom was not sad."]
    head = shipped_head()
    by_hand = reward_model.hidden_states(["Tom smiled."]) @ head.weights + head.bias
    assert float(scored.rewards[-1]) == pytest.approx(float(by_hand[0]), abs=1e-3)


def test_a_text_without_tokens_has_no_reward():
    with pytest.raises(TextEmpty):
        reward_model.score("")


# PPO.


def test_the_clipped_objective():
    """Schulman et al. 2017, figure 1: beyond 1 + ε a good token gains nothing more, below 1 - ε a bad one neither."""
    objective = policy.clipped_objective
    ratios = torch.tensor([0.5, 0.9, 1.0, 1.1, 2.0])
    good, bad = (objective(ratios.log(), torch.zeros(5), torch.tensor(sign)) for sign in (1.0, -1.0))
    torch.testing.assert_close(good, torch.tensor([0.5, 0.9, 1.0, 1.1, 1.2]))
    torch.testing.assert_close(bad, torch.tensor([-0.8, -0.9, -1.0, -1.1, -2.0]))


def test_what_is_clipped_is_what_pulls_no_more():
    """Above 1.2 where it should grow, below 0.8 where it should shrink; the other way round it is pulled back."""
    ratios, advantage = torch.tensor([1.3, 1.3, 0.7, 0.7, 1.1, 0.9]), torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    new = ratios.log().requires_grad_()
    policy.clipped_objective(new, torch.zeros(6), advantage).sum().backward()
    clipped = policy.is_clipped(new.detach(), torch.zeros(6), advantage)
    assert clipped.tolist() == [True, False, False, True, False, False]
    assert ((new.grad == 0) == clipped).all()


def test_where_the_ratio_is_clipped_nothing_pulls():
    new = torch.tensor([math.log(1.5), math.log(1.1)], requires_grad=True)
    policy.clipped_objective(new, torch.zeros(2), torch.ones(2)).sum().backward()
    assert new.grad[0] == 0
    assert float(new.grad[1]) == pytest.approx(1.1)


def test_every_token_pays_for_the_leash_and_the_last_one_gets_the_reward():
    written = torch.tensor([[True, True, True], [True, True, False]])
    ours, reference = torch.tensor([[-1.0, -2.0, -3.0]] * 2), torch.tensor([[-2.0, -2.0, -1.0]] * 2)
    earned = policy.leashed(torch.tensor([5.0, 7.0]), ours, reference, written, beta=0.5)
    assert earned.tolist() == [[-0.5, 0.0, 6.0], [-0.5, 7.0, 0.0]]
    free = policy.leashed(torch.tensor([5.0, 7.0]), ours, reference, written, beta=0)
    assert free.tolist() == [[0, 0, 5.0], [0, 7.0, 0]]


def test_an_advantage_is_what_was_earned_from_there_on_above_the_mean():
    """To come: 6, 5 and 2, 1; above the mean: 2, 2 and -2, -2."""
    written = torch.ones(2, 2, dtype=torch.bool)
    found = policy.advantages(torch.tensor([[1.0, 5.0], [1.0, 1.0]]), written)
    std = torch.tensor([2.0, 2.0, -2.0, -2.0]).std()
    torch.testing.assert_close(found, torch.tensor([[2.0, 2.0], [-2.0, -2.0]]) / std)


def test_what_is_not_written_has_no_advantage():
    written = torch.tensor([[True, True], [True, False], [True, True]])
    found = policy.advantages(torch.tensor([[0.0, 5.0], [2.0, 0.0], [0.0, 1.0]]), written)
    assert found[1, 1] == 0
    assert float(found[written].mean()) == pytest.approx(0, abs=1e-6)


@pytest.fixture(scope="module")
def story():
    prompts = policy.as_rows(policy.beginnings(3, 0))
    *_, last = policy.write(storyteller(), prompts, 6, seed=1)
    return last


def test_what_is_written_follows_the_models_probabilities_and_the_seed(story):
    prompts = story.ids[:, : story.P]
    *_, again = policy.write(storyteller(), prompts, 6, seed=1)
    *_, other = policy.write(storyteller(), prompts, 6, seed=2)
    assert torch.equal(again.ids, story.ids)
    assert not torch.equal(other.ids, story.ids)
    with torch.no_grad():  # the tokens drawn, from a pass without a cache
        probabilities = storyteller()(story.ids[:, :-1])[:, story.P - 1 :].softmax(-1)
    rng = torch.Generator().manual_seed(1)
    drawn = [torch.multinomial(probabilities[:, t], 1, generator=rng) for t in range(6)]
    assert torch.equal(torch.cat(drawn, 1), story.ids[:, story.P :])


def test_log_probabilities_are_those_of_the_tokens_written(story):
    logs = policy.log_probabilities(storyteller(), story)
    alone = storyteller()(story.ids[1:2, :-1])[0, -1].log_softmax(-1)
    assert float(logs[1, -1]) == pytest.approx(float(alone[story.ids[1, -1]]), abs=1e-4)
    judged = policy.judge(story, shipped_head())
    torch.testing.assert_close(judged.reference, logs, rtol=1e-4, atol=1e-4)


def test_a_story_is_judged_by_all_of_its_text_and_no_more():
    tokens = [*words().encode("Tom was in the park. Tom lost a red ball."), *words().encode(" Tom smiled."), END, 5]
    written = torch.tensor([[True] * 4 + [False]])
    told = Written(torch.tensor([tokens]), written)
    head = shipped_head()
    judged = policy.judge(told, head)
    text = "Tom was in the park. Tom lost a red ball. Tom smiled."
    assert told.text(0) == " Tom smiled."
    expected = reward_model.rewards(reward_model.hidden_states([text]), head)
    torch.testing.assert_close(judged.by["model"], expected, rtol=1e-3, atol=1e-3)
    assert judged.by["words"].tolist() == [1.0]


def test_words_are_counted_whole():
    assert policy.count_words(" Happy, happy Tom was not sad; unhappy.") == 1


def test_a_first_update_starts_from_ratio_one_and_zero_distance():
    *_, last = policy.improve(Goal("words", 0.05, shipped_head()), 1, 3)
    found = last.found
    assert found.kl[0] == pytest.approx(0, abs=1e-3)
    assert len(found.rewards) == len(found.clipped) == 1
    assert found.before.texts != found.after.texts


# What the shipped trainings showed.


def test_ppo_raises_the_reward_on_beginnings_never_trained_on_and_most_without_a_leash():
    after = [run["after"]["rewards"]["model"] for run in MEASURED]
    assert all(reward > run["before"]["rewards"]["model"] + 2 for reward, run in zip(after, MEASURED, strict=True))
    assert after[0] > after[1] > after[2]


def test_the_shorter_the_leash_the_nearer_the_model_stays():
    apart = [sum(run["kl"][-5:]) for run in MEASURED]
    assert [run["beta"] for run in MEASURED] == [0.0, 0.05, 0.2]
    assert apart[0] > apart[1] > apart[2]


def test_without_a_leash_the_stories_pile_up_happy_words():
    free, long, _ = (run["after"] for run in MEASURED)
    assert free["rewards"]["words"] > long["rewards"]["words"] > MEASURED[0]["before"]["rewards"]["words"]
    assert free["diversity"] < MEASURED[0]["before"]["diversity"] < long["diversity"]
    assert "happy happy happy" in free["texts"][0]


def test_a_leash_does_not_mend_the_judge():
    """On the shortest one the model found a mistake of the reward model near by: sad stories with high rewards."""
    short = MEASURED[2]
    assert short["after"]["rewards"]["words"] < short["before"]["rewards"]["words"]


def test_the_shipped_results_name_their_command():
    assert shipped()["command"].startswith("python -m playground.lessons.run_assistant --out FILE ")
    assert all(len(run["rewards"]) == len(run["kl"]) == run["steps"] for run in MEASURED)
