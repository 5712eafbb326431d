"""The lessons' pictures: arrays in, figures out, as everywhere in playground/figures."""
