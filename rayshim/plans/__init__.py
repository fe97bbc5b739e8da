"""From what the core has recorded to the report, the graph and the timeline."""
