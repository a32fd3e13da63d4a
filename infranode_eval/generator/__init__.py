"""Builds tasks.jsonl: phrasings × cities, each gold checked by a real request, and what a search could solve."""
