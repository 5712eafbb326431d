"""The Lessons tab: one component for all lessons; each lesson's part of the tab says what it draws and asks."""
