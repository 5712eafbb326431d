"""The lessons: every idea of the course as an experiment. Pure computation; pictures and words are elsewhere."""

from . import feed_forward, layer_norm, positions, residuals
from .lesson import Lesson

LESSONS: tuple[Lesson, ...] = (layer_norm.LESSON, feed_forward.LESSON, residuals.LESSON, positions.LESSON)
