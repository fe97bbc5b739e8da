"""Drawings of a reactor graph: text, Mermaid, DOT and HTML. Each format is a module with `render(graph, timings=None) -> str`."""
