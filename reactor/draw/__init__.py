"""A reactor graph as text, Mermaid, DOT or an HTML page: a module each, with `render(graph, timings=None) -> str`."""
