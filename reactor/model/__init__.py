"""The elements of a program: reactors, ports, actions, timers, reactions, modes, connections; its checks and its levels."""
