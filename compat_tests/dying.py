def death(ray, call):
    """Repeat `call`, which makes a call of an actor, until getting it fails; return the error, a `RayActorError`.

    In Ray a kill takes effect a moment after it was asked for, so that a call made meanwhile may still be answered.
    """
    while True:
        try:
            ray.get(call(), timeout=20)
        except ray.exceptions.RayActorError as error:
            return error
