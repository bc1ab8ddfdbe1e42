"""Whether all nodes hold the same: the rows of every table, and what each GTID stands for."""
