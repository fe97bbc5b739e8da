"""`ray.dashboard.modules.serve.sdk`."""


class ServeSubmissionClient:
    """Ray's client of the service by which its dashboard deploys applications of Serve. There is no such service here."""

    def __init__(self, *args, **kwargs):
        raise ConnectionError(
            "rayshim has no dashboard, so `serve deploy`, `config`, `status` and `shutdown` cannot reach a session. Use `serve run`, or "
            "serve.run, serve.status and serve.shutdown in a program"
        )
