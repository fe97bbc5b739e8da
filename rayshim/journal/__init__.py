"""Recording a run, and running it again as it was recorded."""
