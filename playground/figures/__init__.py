"""The pictures: arrays and worded strings in, a plotly figure out. No model, no state, no sentence of our own."""
