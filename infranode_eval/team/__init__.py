"""Suite team: one manager, a pool of sub-agents, and a workspace that each sees in part."""
