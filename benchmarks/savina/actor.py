"""The base of the actor programs: messages between actors, and a driver that makes actors and waits for a result."""


class Actor:
    """Base class. A system makes a subclass of each actor class, with these two methods."""

    def send(self, actor, method, *args):
        """Sends a message: the actor will call its method `method`; nothing comes back."""
        raise NotImplementedError

    def finish(self, value):
        """Ends the program; `value` is its result."""
        raise NotImplementedError


class System:
    """The driver's side of an actor library."""

    def spawn(self, actor_class, *args):
        """Makes an actor and gives what messages are sent to."""
        raise NotImplementedError

    def send(self, actor, method, *args):
        raise NotImplementedError

    def ask(self, actor, method, *args):
        """Calls a method and waits for what it returns."""
        return self.ask_all([(actor, method, *args)])[0]

    def ask_all(self, calls):
        """The results of the calls [(actor, method, *args)]."""
        raise NotImplementedError

    def result(self):
        """Waits until an actor calls `finish`, and gives its value."""
        raise NotImplementedError

    def end_program(self):
        """Ends the actors of a program, so that the next one starts afresh."""
        raise NotImplementedError

    def close(self):
        pass
