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


def count(path):
    import vkgdr

    times = []
    for _frame in vkgdr.Frames(path, timeout=30):
        times.append(time.monotonic_ns())
        if len(times) == 1:
            print("{}", flush=True)
        if len(times) >= ENOUGH and select.select([sys.stdin], [], [], 0)[0]:
            break
    return times


def main():
    try:
        result = {"times": count(sys.argv[1])}
    except Exception as error:  # vkgdr-bench shows it
        result = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
