"""What a program is: reactors, ports, actions, timers, reactions, modes, connections; its checks and its levels."""
