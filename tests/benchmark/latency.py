"""``python -m benchmark.latency PORT MILLISECONDS``: a proxy on loopback that holds every answer back."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator

from nessie_gc_core.testing.servers.process import LOOPBACK

_CHUNK = 1 << 18


async def _ask(client: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
    """Hands on what the client says, at once."""
    with contextlib.suppress(ConnectionError):
        while chunk := await client.read(_CHUNK):
            server.write(chunk)
            await server.drain()
    server.close()


async def _answer(server: asyncio.StreamReader, client: asyncio.StreamWriter, seconds: float) -> None:
    """Hands on what the server says, each piece when its time has come, in its order."""
    loop = asyncio.get_running_loop()
    with contextlib.suppress(ConnectionError):
        while chunk := await server.read(_CHUNK):
            loop.call_later(seconds, client.write, chunk)
    loop.call_later(seconds, client.close)


async def _serve(port: int, seconds: float) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection(LOOPBACK, port)
        await asyncio.gather(_ask(reader, server_writer), _answer(server_reader, writer, seconds))

    proxy = await asyncio.start_server(connected, LOOPBACK, 0, backlog=1024)
    sys.stdout.write(f"{proxy.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await proxy.serve_forever()


@contextlib.contextmanager
def held_back(port: int, milliseconds: float) -> Iterator[int]:
    """The port of a proxy in a process of its own, before a server on loopback."""
    command = [sys.executable, "-m", "benchmark.latency", str(port), str(milliseconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2]) / 1000))
