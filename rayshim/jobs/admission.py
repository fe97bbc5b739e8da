"""Which connections and requests the server of jobs admits.

Every process of the machine can connect to a TCP port, and a page in the user's browser can send requests there. So:

- A connection that has sent no complete request header in time is closed. There are limits to how many wait for that, and to how many there are
  in all: the one that has waited longest gives way to a new one, so that silent connections cannot keep the user's own out.
- The header `Host` must name the address to which the client has connected. A page of another site, whose name its DNS server changes to a loopback
  address (DNS rebinding), sends the name of that site.
- The request must have the token of the session.
"""

import asyncio
import hmac
import ipaddress
import re
import socket

from aiohttp import web

HEADER_SECONDS = 10
MOST_WAITING = (
    256  # connections whose header has not come: more than the event loop accepts between two looks at what has come
)
MOST = 512  # connections in all; each follower of a job's log has one
_HOST = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(:[0-9]*)?")


class Admission:
    """Arguments: token, that requests must have; name, of the host on which the server listens, as the user has given it."""

    def __init__(self, token, name):
        self._token, self._name = token.encode(), name.lower()
        self._waiting = {}  # connection (aiohttp's RequestHandler) -> timer of its header; the oldest first

    def protocols(self, server):
        """The function that makes the protocol of each new connection, for `loop.create_server`; `server`: of aiohttp."""
        loop = asyncio.get_running_loop()

        def protocol():
            crowded = len(server.connections) >= MOST
            if self._waiting and (crowded or len(self._waiting) >= MOST_WAITING):
                self._close(next(iter(self._waiting)))
            elif crowded:
                return _Refused()
            connection = server()
            self._waiting[connection] = loop.call_later(HEADER_SECONDS, self._close, connection)
            return connection

        return protocol

    def _close(self, connection):
        self._waiting.pop(connection).cancel()
        connection.force_close()

    @web.middleware
    async def check(self, request, handler):
        """Refuses requests; see above."""
        if timer := self._waiting.pop(request.protocol, None):
            timer.cancel()
        try:
            refused = self._refusal(request)
            response = await handler(request) if refused is None else refused
        except web.HTTPException as error:
            error.force_close()
            raise
        if not response.prepared:
            response.force_close()  # the next request would have no limit of time
        return response

    def _refusal(self, request):
        """The response to a request that is not admitted, else None."""
        hosts = request.headers.getall("Host", ())
        if len(hosts) != 1 or not self._is_own(hosts[0], request.transport):
            return web.Response(
                status=403,
                text="Forbidden: the header Host is not an address on which this server listens. Use the address that `rayshim start` has printed",
            )
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(errors="surrogateescape"), self._token):
            return web.Response(
                status=401, text="Unauthorized: Missing session token; only processes of the same user get it"
            )
        return None

    def _is_own(self, host, transport):
        """Whether the value of a header Host is a name or the address of this end of the connection."""
        found = _HOST.fullmatch(host)
        if found is None or transport is None:
            return False
        name, here = found[1].lower(), ipaddress.ip_address(transport.get_extra_info("sockname")[0].partition("%")[0])
        if name in (self._name, socket.gethostname().lower()) or name == "localhost" and here.is_loopback:
            return True
        try:
            return ipaddress.ip_address(name.strip("[]")) == here
        except ValueError:
            return False


class _Refused(asyncio.Protocol):
    """A connection that is closed at once: there are too many."""

    def connection_made(self, transport):
        transport.abort()  # pyright: ignore[reportAttributeAccessIssue]
