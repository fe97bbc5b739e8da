"""Resources: amounts, demands of tasks and actors, placement groups and their bundles, labels and strategies, GPUs and other accelerators, threads."""
