"""Tests in a real browser, and what they share."""
