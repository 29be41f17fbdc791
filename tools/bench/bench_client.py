# SPDX-License-Identifier: LGPL-2.1-or-later
"""Receives frames by the Python module vkgdr, without GStreamer.

    bench_client.py PATH-OF-SOCKET

Replies as `vkgdr-bench-helper play` does, but without delays.
"""

import json
import select
import sys
import time

ENOUGH = 8  # frames that a result needs


def reply(**values):
    print(json.dumps(values), flush=True)


def receive(path):
    import vkgdr

    frames = []
    for _frame in vkgdr.Frames(path, timeout=30):
        frames.append([time.monotonic_ns()])
        if len(frames) == 1:
            reply(time=frames[0][0])
        if len(frames) >= ENOUGH and select.select([sys.stdin], [], [], 0)[0]:
            break
    reply(frames=frames)


if __name__ == "__main__":
    try:
        receive(sys.argv[1])
    except Exception as error:  # vkgdr-bench shows it
        reply(error=f"{type(error).__name__}: {error}")
