"""Everything around the scorer: the InfraNode API, the dataset's generator, providers, suites, runner and reports."""
