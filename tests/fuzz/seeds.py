#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the seeds of the corpus: good sessions, and content of each kind.

    seeds.py FOLDER

The messages are written from docs/ipc-protocol.md. Inputs of fuzzers that were found later
are in the same folders, under other names.
"""

import os
import struct
import sys

HAS_FD = 1  # of fuzz-client.c
NONE = 2**64 - 1
SEND_FRAME, SEND_EOS, FLUSH, FD, LEAKY = 1, 2, 4, 8, 16  # of fuzz-server.c


def message(kind, content=b""):
    return struct.pack("<II", kind, 8 + len(content)) + content


def state(kind, content=b""):
    return message(17, struct.pack("<II", kind, 0) + content)


def packets(*pairs):
    return b"".join(struct.pack("<BH", flags, len(data)) + data for flags, data in pairs)


def picture(name, width, height, *planes):
    content = struct.pack("<16sII4i6I", name, width, height, 30, 1, 1, 1, 0, 2, 1, 1, 1,
                          len(planes))
    for plane in (*planes, *[(0, 0, 0, 0)] * (4 - len(planes))):
        content += struct.pack("<4I", *plane)
    return content


def frame(number, ranges=(), planes=(), metas=b""):
    content = struct.pack("<QqQQQIHHII", number, -1, number, NONE, NONE, 0, len(ranges),
                          len(planes), len(metas), 0)
    content += b"".join(struct.pack("<QQQ", *one) for one in ranges)
    return message(20, content + b"".join(struct.pack("<QiI", *one) for one in planes) + metas)


def memory(number, size, flags=0):
    return message(18, struct.pack("<QQII16s16s", number, size, flags, 0, b"device", b"driver"))


def number(kind, value):
    return message(kind, struct.pack("<Q", value))


def meta(kind, content):
    return struct.pack("<II", kind, len(content)) + content


def tag(name, kind, value):
    return struct.pack("<III", len(name), kind, len(value)) + name + value


def segment(form, rate, start, stop):
    return struct.pack("<IIdd6Q", form, 0, rate, 1.0, 0, 0, start, stop, 7, NONE)


CAPS = (b"video/x-raw(memory:VkgdrMemory), format=(string)NV12, width=(int)64, height=(int)48, "
        b"framerate=(fraction)30/1, colorimetry=(string)bt709")
TAGS = (tag(b"title", 1, b"bars") + tag(b"bitrate", 2, struct.pack("<I", 9))
        + tag(b"duration", 3, struct.pack("<Q", 10**9))
        + tag(b"replaygain-track-gain", 4, struct.pack("<d", -1.5))
        + tag(b"date", 5, b"2024-02-29") + tag(b"datetime", 6, b"2024-01-01T10:00:00Z")
        + tag(b"image", 7, struct.pack("<II", 9, 0) + b"image/png" + b"123"))
METAS = (meta(1, b"VkgdrTestMeta, text=(string)\"a\\ b\", n=(int)1;")
         + meta(3, struct.pack("<QQ", 1, 2) + b"timestamp/x-unix")
         + meta(4, struct.pack("<QQ", 44, 45)) + meta(99, b"unknown"))
TENSOR = struct.pack("<HHI8q8q", 2, 32, 3, 2, 3, 4, *[0] * 5, 12, 4, 1, *[0] * 5)

WELCOME = message(16, struct.pack("<II", 6, 4))
HELLO = message(1, b"VkgdrFrm" + struct.pack("<II", 6, 6))
NV12 = picture(b"NV12", 64, 48, (64, 48, 1, 8), (32, 24, 2, 8))
RANGES, PLANES = [(1, 4096, 8192)], [(0, 64, 0), (3072, 64, 0)]

SEEDS = {
    "client": {
        "pictures": packets(
            (0, WELCOME), (0, state(0, NV12)), (0, state(2, CAPS)),
            (0, state(3, segment(3, 1.0, 0, NONE))), (0, state(4, TAGS)),
            (0, state(6, struct.pack("<Q", 40_000_000))), (HAS_FD, memory(1, 16384)),
            (0, frame(1, RANGES, PLANES, METAS)), (0, frame(2, RANGES, PLANES)),
            (0, number(19, 1)), (0, state(16)), (0, state(17))),
        "tensors": packets(
            (0, WELCOME), (0, state(1, TENSOR)), (HAS_FD, memory(7, 4096, 1)),
            (0, frame(1, [(7, 0, 96)])), (0, state(1)), (0, frame(5, [(7, 0, 5)]))),
        "bytes": packets(
            (0, WELCOME), (HAS_FD, memory(1, 100)), (HAS_FD, memory(2, 100)),
            (0, frame(1, [(1, 0, 100), (2, 50, 50)])), (0, number(19, 1)), (0, frame(2)),
            (HAS_FD, memory(1, 200)), (0, frame(3, [(1, 199, 1)])), (0, state(99, b"new"))),
        "refusal": packets((0, state(17, b"there is no room"))),
        "rows": packets(
            (0, WELCOME), (0, state(0, picture(b"GRAY8", 8, 1, (8, 1, 1, 8)))),
            (HAS_FD, memory(1, 64)), (0, frame(1, [(1, 0, 64)], [(56, -8, 0)]))),
    },
    "server": {
        "session": packets(
            (0, HELLO), (SEND_FRAME, number(2, 9)), (SEND_FRAME, HELLO)),
        "releases": packets(
            (SEND_FRAME, HELLO), (SEND_FRAME, number(2, 1)), (SEND_FRAME | LEAKY, number(2, 2)),
            (SEND_EOS, number(2, 3)), (FLUSH | LEAKY, number(3, 4))),
        "keeps": packets((SEND_FRAME, HELLO), *[(SEND_FRAME | LEAKY, number(2, 1))] * 3,
                         (SEND_EOS, number(3, 1)), (FD, number(2, 2))),
        "other-version": packets((FD, message(1, b"VkgdrFrm" + struct.pack("<II", 1, 5)))),
    },
    "text": {
        "caps": b"\0" + CAPS,
        "audio": b"\0audio/x-raw, format=(string)S16LE, rate=(int)44100, channels=(int)2",
        "tensor": b"\0tensor/strided, dims=(int)< 1, 3, 4 >, a=(structure)\"x\\,\\ b\\=1\\;\"",
        "list": b"\0video/x-raw, list={ 1, 2 }, range=[ 1, 5 ], f=(fraction)1/2, b=(buffer)00ff",
        "tags": b"\1" + TAGS,
        "segment": b"\2" + segment(3, 1.0, 0, NONE),
        "bytes": b"\2" + segment(2, 2.0, 5, 10),
        "slash": b"\0/x-raw-v>vid*o/x-raw-, a=(structure)x",
    },
    "metas": {
        "all": METAS,
        "custom": meta(1, b"my-meta, a=(int){ 1, 2 };"),
        # Found by the fuzzers: GStreamer logged critical errors.
        "taglist": meta(1, b"ma,a=(taglist){ pnt){ 21,};"),
        "reference": meta(3, bytes(16) + b" ----, a=boolean(int){ 0, 2 };"),
        "no-time": meta(3, b"\xff" * 16 + b"timestamp/x-unix"),
    },
}


def main():
    for fuzzer, seeds in SEEDS.items():
        folder = os.path.join(sys.argv[1], fuzzer)
        os.makedirs(folder, exist_ok=True)
        for name, data in seeds.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)


if __name__ == "__main__":
    main()
