"""The lessons: pure computation, one file for each idea."""
