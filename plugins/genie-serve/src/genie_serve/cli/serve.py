"""`genie-tui serve`: rooms that stay open, without a screen."""

import argparse
import asyncio
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Final, TextIO

from msgspec.structs import replace

from genie_core.room.security.identity import words
from genie_core.runtime.tasks import start_task
from genie_core.settings.locations import Locations
from genie_serve.admin.server import administered
from genie_serve.config import CONFIG_NAME, ServeConfig, read_config
from genie_serve.errors import CannotServe
from genie_serve.http import serve_ops
from genie_serve.logs import log_service
from genie_serve.probe import probe
from genie_serve.service import Service
from genie_serve.stores.opening import open_store
from genie_serve.systemd import READY, STOPPING, Notifier
from genie_tui.cli.output import safe_line
from genie_tui.cli.shutdown import SIGNALS

DISK_THREADS: Final = 32
"""How many rooms may wait for the disk together: it syncs several logs together."""


def run_serve(options: argparse.Namespace, locations: Locations, out: TextIO) -> int:
    """Serve until a signal arrives, and stop in good order; another signal ends it immediately."""
    config = _config(options, locations)
    if options.probe:
        return _probe(config, out)
    with log_service(config.logs):
        asyncio.run(_serve(config, locations, out))
    return 0


def _config(options: argparse.Namespace, locations: Locations) -> ServeConfig:
    given: dict[str, Any] = {"port": options.port, "listen": options.listen}
    path = options.config or locations.config / CONFIG_NAME
    config = read_config(path, required=options.config is not None)
    return replace(config, **{name: value for name, value in given.items() if value is not None})


async def _serve(config: ServeConfig, locations: Locations, out: TextIO) -> None:
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    loop.set_default_executor(ThreadPoolExecutor(DISK_THREADS, thread_name_prefix="disk"))
    for number in SIGNALS:
        if signal.getsignal(number) is signal.SIG_IGN:  # by nohup
            continue
        loop.add_signal_handler(number, partial(_hear, number, told))
    systemd = Notifier(os.environ)
    async with AsyncExitStack() as resources:
        store = await open_store(config.store) if config.store is not None else None
        if store is not None:
            resources.push_async_callback(store.aclose)
        service = Service(config, locations, store=store)
        if ops := config.ops_address:
            await resources.enter_async_context(serve_ops(service, ops))
        alive = start_task(systemd.stay_alive(), name="watchdog")
        resources.callback(alive.cancel)
        if not await _is_started(service, told, systemd):
            return
        resources.push_async_callback(service.stop)
        async with administered(service, told.set):
            systemd.tell(READY)
            out.write(f"{safe_line(_summary(service))}\n")
            out.flush()
            await told.wait()
        systemd.tell(STOPPING)


async def _is_started(service: Service, told: asyncio.Event, systemd: Notifier) -> bool:
    """Start the service, which may take long with many rooms; False if a signal came before."""
    starting = start_task(service.start(), name="start")
    longer = start_task(systemd.take_longer(), name="longer start")
    waiting = start_task(told.wait(), name="signals")
    await asyncio.wait([starting, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    longer.cancel()
    if starting.done():
        starting.result()
        return True
    starting.cancel()
    await asyncio.wait([starting])
    return False


def _probe(config: ServeConfig, out: TextIO) -> int:
    """Say whether the service of this configuration is ready; fails if it is not."""
    if config.ops_address is None:
        raise CannotServe("this service can't be asked: ops is empty in its configuration")
    if reasons := probe(config.ops_address):
        raise CannotServe(f"not ready: {reasons}")
    out.write("ready\n")
    return 0


def _hear(number: int, told: asyncio.Event) -> None:
    if told.is_set():
        os._exit(128 + number)
    told.set()


def _summary(service: Service) -> str:
    rooms, failed = len(service.rooms) + service.idle, service.unopened
    count = "1 room" if rooms == 1 else f"{rooms} rooms"
    rest = f" ({failed} stay closed)" if failed else ""
    return (
        f"serving {count}{rest} at {service.address}; key in words: {words(service.identity.key)}"
    )
