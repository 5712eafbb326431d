"""The lessons: every idea of the course as an experiment. Pure computation; pictures and words are elsewhere."""

from . import (
    assistant,
    encoder_decoder,
    extrapolation,
    feed_forward,
    gibberish,
    layer_norm,
    masked_language_model,
    positions,
    residuals,
    scaling_grid,
    transformer_rnn,
)
from .lesson import Lesson

LESSONS: tuple[Lesson, ...] = (
    layer_norm.LESSON,
    feed_forward.LESSON,
    residuals.LESSON,
    gibberish.LESSON,
    positions.LESSON,
    extrapolation.LESSON,
    masked_language_model.LESSON,
    encoder_decoder.LESSON,
    scaling_grid.LESSON,
    transformer_rnn.LESSON,
    assistant.LESSON,
)
