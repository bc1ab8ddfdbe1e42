"""A matrix: from its file to its verdicts. Definition, selection, schedule, estimate, dataset,
stack pool, runner.
"""
