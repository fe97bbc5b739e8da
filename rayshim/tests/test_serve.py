"""Ray Serve of the installed Ray package: HTTP, handles, replicas. What is expected here is what the same program gives on Ray."""

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from importlib.util import find_spec

import pytest

from compat_tests.processes import wait_until
from rayshim.tests.test_libraries import installed, run

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(not installed or find_spec("fastapi") is None, reason="Ray Serve is not installed"),
]

BEGIN = """
import asyncio, json, os, time, urllib.error, urllib.request
import ray
from ray import serve
from fastapi import FastAPI
from starlette.responses import StreamingResponse

ray.init(num_cpus=8, log_to_driver=False)
serve.start(http_options={"port": PORT})

def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:PORT{path}", data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=200) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()

def outcome(response):
    try:
        return response.result(timeout_s=60)
    except Exception as error:
        return type(error).__name__

def state(name):
    return serve.status().applications[name]
"""


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def suppressed(ask):
    """What `ask()` gives, False if it cannot reach its server."""
    try:
        return ask()
    except OSError:
        return False


def serve(program, tmp_path):
    """The lines that the program prints, on rayshim. It leaves nobody who listens."""
    port = free_port()
    printed = run((BEGIN + program + "\nserve.shutdown()\n").replace("PORT", str(port)), tmp_path)
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))
    return printed.splitlines()


def test_the_command_serve_run(tmp_path):
    (tmp_path / "app.py").write_text(
        "from ray import serve\n\n@serve.deployment\nclass Hi:\n    def __call__(self, request):\n        return 'hi'\n\napp = Hi.bind()\n"
        "if __name__ != '__main__':\n    serve.start(http_options={'port': int(open('port').read())})\n"
    )
    (tmp_path / "port").write_text(str(port := free_port()))
    running = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "rayshim", "-m", "ray.serve.scripts", "run", "app:app"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    answers = []

    def ask():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
            answers.append(answer.read())
        return True

    try:
        wait_until(lambda: suppressed(ask), 120)
    finally:
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=200)
    assert answers == [b"hi"], output
    assert "Using blocking" not in output  # Serve has turned this warning off


def test_two_replicas_answer_requests_and_handles(tmp_path):
    program = """
@serve.deployment(num_replicas=2, ray_actor_options={"num_cpus": 0.1})
class Hello:
    def __init__(self, word):
        self.word = word

    async def __call__(self, request):
        return {"word": self.word, "query": dict(request.query_params), "pid": os.getpid()}

    def times(self, n):
        return self.word * n

    def fail(self):
        raise KeyError("no")

handle = serve.run(Hello.bind("hi"), route_prefix="/hello")
answers = [json.loads(ask(f"/hello?i={i}")[1]) for i in range(20)]
print(len({answer.pop("pid") for answer in answers}), answers[3])
print(ask("/other")[0], ask("/-/routes")[1])
print(handle.times.remote(3).result(), outcome(handle.fail.remote()))
print(state("default").status.value, state("default").deployments["Hello"].replica_states)
serve.delete("default")
print(list(serve.status().applications))
"""
    assert serve(program, tmp_path) == [
        "2 {'word': 'hi', 'query': {'i': '3'}}",
        '404 {"/hello":"default"}',
        "hihihi RayTaskError(KeyError)",
        "RUNNING {'RUNNING': 2}",
        "[]",
    ]


def test_deployments_call_each_other_batch_stream_and_multiplex(tmp_path):
    """Long, because it contains a whole program."""
    program = """
app = FastAPI()

@serve.deployment(user_config={"plus": 10})
class Adder:
    def reconfigure(self, config):
        self.plus = config["plus"]

    def __call__(self, x):
        return x + self.plus

@serve.deployment
class Batched:
    @serve.batch(max_batch_size=4, batch_wait_timeout_s=1)
    async def __call__(self, values):
        return [(2 * value, len(values)) for value in values]

@serve.deployment
class Squares:
    def __call__(self, n):
        for i in range(n):
            yield i * i

@serve.deployment
class Models:
    @serve.multiplexed(max_num_models_per_replica=2)
    async def load(self, name):
        return f"model {name}"

    async def __call__(self, x):
        return f"{await self.load(serve.get_multiplexed_model_id())}: {x}"

@serve.deployment
@serve.ingress(app)
class Api:
    def __init__(self, add, batched, squares, models):
        self.add, self.batched, self.squares, self.models = add, batched, squares.options(stream=True), models

    @app.get("/twice")
    async def twice(self, x: int):
        return await self.add.remote(self.add.remote(x))

    @app.get("/batch")
    async def batch(self, n: int):
        return await asyncio.gather(*(self.batched.remote(i) for i in range(n)))

    @app.get("/stream")
    async def stream(self, n: int):
        return StreamingResponse((f"{value} " async for value in self.squares.remote(n)))

    @app.get("/model/{name}")
    async def model(self, name: str):
        return await self.models.options(multiplexed_model_id=name).remote(1)

    @app.post("/sum")
    async def sum(self, body: dict):
        return {"sum": sum(body["values"])}

    @app.get("/fail")
    async def fail(self):
        raise ValueError

    @app.get("/who")
    def who(self):
        context = serve.get_replica_context()
        return [context.app_name, context.deployment]

serve.run(Api.bind(Adder.bind(), Batched.bind(), Squares.bind(), Models.bind()), name="api", route_prefix="/api")
for path in ("/twice?x=5", "/batch?n=4", "/stream?n=5", "/model/a", "/model/b", "/fail", "/who", "/twice?x=no"):
    status, body = ask("/api" + path)
    print(status, body if status != 422 else "")
print(*ask("/api/sum", {"values": [1, 2, 3]}))
print(list(serve.get_deployment_handle("Squares", "api").options(stream=True).remote(4)))

@ray.remote
def elsewhere(handle):
    return handle.remote(1).result()

print(ray.get(elsewhere.remote(serve.get_deployment_handle("Adder", "api"))))
"""
    assert serve(program, tmp_path) == [
        "200 25",
        "200 [[0,4],[2,4],[4,4],[6,4]]",
        "200 0 1 4 9 16 ",
        '200 "model a: 1"',
        '200 "model b: 1"',
        "500 Internal Server Error",
        '200 ["api","Api"]',
        "422 ",
        '200 {"sum":6}',
        "[0, 1, 4, 9]",
        "11",
    ]


def test_requests_over_the_limit_cancelled_requests_and_replicas_that_die(tmp_path):
    program = """
@serve.deployment(max_ongoing_requests=1, max_queued_requests=1, health_check_period_s=1)
class Slow:
    def __init__(self):
        self.cancelled = 0

    async def __call__(self, seconds=0):
        try:
            await asyncio.sleep(seconds)
            return self.cancelled
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def end(self):
        os._exit(1)

handle = serve.run(Slow.bind(), route_prefix=None)
running = handle.remote(1000)
time.sleep(1)  # it runs
queued = handle.remote()
time.sleep(1)
print(outcome(handle.remote()))
running.cancel()
print(outcome(running), outcome(queued))
print(outcome(handle.end.remote()))
until = time.monotonic() + 60
while (found := outcome(handle.remote())) != 0 and time.monotonic() < until:
    time.sleep(0.2)
print(found)

@serve.deployment
class Broken:
    def __init__(self):
        raise RuntimeError("no")

try:
    serve.run(Broken.bind(), name="broken", route_prefix=None)
except RuntimeError as error:
    print(str(error).splitlines()[0])
print(state("broken").status.value)
"""
    assert serve(program, tmp_path) == [
        "BackPressureError",
        "RequestCancelledError 1",
        "ActorDiedError",
        "0",
        "Deploying application broken failed: Failed to update the deployments ['Broken'].",
        "DEPLOY_FAILED",
    ]
