"""Plain actors in libraries whose actors have one method for all messages."""


def make(actor_class, args, send, finish):
    """An actor whose two methods are those given."""
    actor = actor_class.__new__(actor_class)
    actor.send, actor.finish = send, finish
    actor.__init__(*args)
    return actor
