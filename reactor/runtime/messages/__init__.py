"""Messages between the processes, their formats, and the sockets and folders by which they go."""
