"""Which connections and requests the server of jobs admits."""

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest

from rayshim.job_submission import JobSubmissionClient
from rayshim.session import heads
from rayshim.tests.head_sessions import head  # noqa: F401

aiohttp = pytest.importorskip("aiohttp")

from aiohttp import web  # noqa: E402

from rayshim.jobs import admission  # noqa: E402

TOKEN = "schlüssel"


def request(host, token=TOKEN, path="/", raw=None):
    """The bytes of a GET request; `host`: the values of its headers Host."""
    hosts = [host] if isinstance(host, (str, bytes)) else host
    lines = [b"GET %s HTTP/1.1" % path.encode()]
    lines += [b"Host: " + (h if isinstance(h, bytes) else h.encode()) for h in hosts]
    lines += [b"Authorization: Bearer " + (raw if raw is not None else token.encode())]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def status(host, port, data):
    """The status of the response to these bytes."""
    with socket.create_connection((host, port)) as link:
        link.sendall(data)
        return int(link.makefile("rb").readline().split()[1])


@asynccontextmanager
async def server(host="127.0.0.1"):
    """A server with one page, which answers "seen"; gives its port."""

    async def page(request):
        return web.Response(text="seen")

    admits = admission.Admission(TOKEN, host)
    app = web.Application(middlewares=[admits.check])
    app.add_routes([web.get("/", page)])
    runner = web.AppRunner(app, lingering_time=1)
    await runner.setup()
    listening = await asyncio.get_running_loop().create_server(admits.protocols(runner.server), host, 0)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()
        await runner.cleanup()


def statuses(requests, host="127.0.0.1", at="127.0.0.1"):
    """The status of the response to each request, at a server on `host`. `requests`: makes the list from the server's port."""

    async def ask():
        async with server(host) as port:
            return [await asyncio.to_thread(status, at, port, data) for data in requests(port)]

    return asyncio.run(ask())


def test_a_request_for_another_host_is_refused_whatever_its_token():
    others = ["evil.example", "evil.example:{}", "localhost.evil.example:{}", "127.0.0.1.evil.example:{}", "127.0.0.2:{}", "[::1]:{}",
              "", ":{}", "[", "localhost:x", "localhost:{}@evil.example", b"\xff\xfe", ("localhost:{}", "evil.example"), ()]  # fmt: skip

    def requests(port):
        return [
            request(
                h.format(port) if isinstance(h, str) else [x.format(port) for x in h] if isinstance(h, tuple) else h
            )
            for h in others
        ]

    found = dict(zip(map(str, others), statuses(requests)))
    assert set(found.values()) <= {400, 403}, found
    assert found["evil.example:{}"] == 403


@pytest.mark.parametrize(
    "listens, at", [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("localhost", "127.0.0.1")]
)  # noqa: S104
def test_a_request_for_a_name_of_this_end_is_admitted(listens, at):
    def requests(port):
        names = {"localhost", "LOCALHOST", "127.0.0.1", listens, socket.gethostname()}
        return [request(f"{name}:{port}") for name in sorted(names)] + [request("127.0.0.1"), request("localhost:1")]

    assert set(statuses(requests, listens, at)) == {200}


def test_the_address_of_another_protocol_is_admitted_where_the_server_listens_there():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    assert statuses(lambda port: [request(f"[::1]:{port}"), request(f"127.0.0.1:{port}")], "::1", "::1") == [200, 403]


def test_a_token_of_any_bytes_is_compared_and_raises_nothing():
    tokens = [
        TOKEN.encode(),
        b"",
        b"\xff\xfe",
        TOKEN.encode("latin-1"),
        "ключ".encode(),
        b"x" * 4000,
        TOKEN.encode() + b"x",
    ]
    assert statuses(lambda port: [request("localhost", raw=token) for token in tokens]) == [200] + [401] * 6


def test_a_connection_without_a_complete_header_is_closed(monkeypatch):
    monkeypatch.setattr(admission, "HEADER_SECONDS", 0.05)

    async def slow(port, data):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(data)
        got = await reader.read()
        writer.close()
        return got

    async def ask():
        async with server() as port:
            return [await slow(port, data) for data in (b"", b"G", request("localhost")[:-2])]

    assert asyncio.run(ask()) == [b"", b"", b""]


def test_a_second_request_of_a_connection_is_not_waited_for():
    async def ask():
        async with server() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request("localhost"))
            got = await reader.read()  # to its end
            writer.close()
            return got

    assert b"Connection: close" in asyncio.run(ask())


def test_silent_connections_do_not_keep_others_out(monkeypatch):
    monkeypatch.setattr(admission, "MOST_WAITING", 5)
    monkeypatch.setattr(admission, "HEADER_SECONDS", 1000)

    async def ask():
        async with server() as port:
            silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
            assert await asyncio.to_thread(status, "127.0.0.1", port, request("localhost")) == 200
            for reader, _ in silent[:10]:
                assert await reader.read() == b""  # it has been closed
            for _, writer in silent:
                writer.close()

    asyncio.run(ask())


def test_there_are_never_more_connections_than_the_limit(monkeypatch):
    monkeypatch.setattr(admission, "MOST", 4)
    running = asyncio.Event()

    async def page(request):
        running.set()
        await asyncio.Event().wait()

    async def ask():
        admits = admission.Admission(TOKEN, "127.0.0.1")
        app = web.Application(middlewares=[admits.check])
        app.add_routes([web.get("/", page)])
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        listening = await asyncio.get_running_loop().create_server(admits.protocols(runner.server), "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        links = []
        for _ in range(4):
            running.clear()
            links.append(await asyncio.open_connection("127.0.0.1", port))
            links[-1][1].write(request("localhost"))
            await running.wait()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            assert await reader.read() == b""
        except ConnectionResetError:
            pass
        writer.close()
        for _, writer in links:
            writer.close()
        listening.close()
        await runner.cleanup()

    asyncio.run(ask())


def test_the_server_of_a_session_refuses_a_page_of_another_site(head):  # noqa: F811
    facts = head.start()
    name, _, port = facts["dashboard"].rpartition(":")
    ask = {"token": facts["token"], "path": "/api/version"}
    assert status(name, int(port), request(f"{name}:{port}", **ask)) == 200
    assert status(name, int(port), request(f"localhost:{port}", **ask)) == 200
    assert status(name, int(port), request(f"evil.example:{port}", **ask)) == 403
    assert status(name, int(port), request(f"{name}:{port}", token="ключ", path="/api/version")) == 401


def test_a_client_may_have_a_token_of_any_text(head, monkeypatch):  # noqa: F811
    facts = head.start()
    monkeypatch.setattr(heads, "running", lambda directory=None: [])  # so that it takes the token of the environment
    monkeypatch.setenv("RAY_AUTH_TOKEN", "ключ")
    with pytest.raises(RuntimeError, match="401"):
        JobSubmissionClient(f"http://{facts['dashboard']}")
    monkeypatch.setenv("RAY_AUTH_TOKEN", facts["token"])
    assert JobSubmissionClient(f"http://{facts['dashboard']}").list_jobs() == []
