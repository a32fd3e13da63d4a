"""Results on disk, and everything that is shown about them: tables, comparisons, gates, the page and its pictures."""
