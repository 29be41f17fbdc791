# SPDX-License-Identifier: LGPL-2.1-or-later
"""A client of vkgdripcsink in Python, without GStreamer, which counts frames.

    bench_client.py PATH-OF-SOCKET

Like `vkgdr-bench-helper consume`: prints an empty object at the first frame and, when
standard input has ended, the times at which frames were received.
"""

import json
import select
import sys
import time

ENOUGH = 8  # frames that a result needs

try:
    import vkgdr

    frames = []
    for _frame in vkgdr.Frames(sys.argv[1], timeout=30):
        frames.append([time.monotonic_ns()])
        if len(frames) == 1:
            print("{}", flush=True)
        if len(frames) >= ENOUGH and select.select([sys.stdin], [], [], 0)[0]:
            break
    print(json.dumps({"frames": frames}), flush=True)
except Exception as error:  # vkgdr-bench shows it
    print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
