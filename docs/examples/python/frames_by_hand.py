#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A client of a frame server in Python's standard library alone.

    frames_by_hand.py SOCKET

It shows docs/ipc-protocol.md at work: it prints a checksum of each plane of each frame.
It maps the memory, which works without an NVIDIA driver. The file descriptors of a GPU
have to be imported by Vulkan or CUDA instead, as vkgdr_memory_import_fd() does.
"""

import mmap
import os
import socket
import struct
import sys
import zlib

HELLO, RELEASE, STOP = 1, 2, 3
WELCOME, BYE, FORMAT, CAPS, SEGMENT, STREAM_TAGS, GLOBAL_TAGS = range(16, 23)
MEMORY, FORGET, FRAME, EOS = range(23, 27)

MAGIC, VERSION = b"VkgdrFrm", 5
MAX_PACKET = 65536

HEADER = struct.Struct("<II")
WELCOME_FORM = struct.Struct("<II8sII")
NUMBER_FORM = struct.Struct("<IIQ")
MEMORY_FORM = struct.Struct("<IIQQII16s16s")
FORMAT_FORM = struct.Struct("<II16sIIiiiiIIIIII16I")
FRAME_FORM = struct.Struct("<IIQQQQQQqqQIHHII")
RANGE_FORM = struct.Struct("<QQQ")
PLANE_FORM = struct.Struct("<QiI")


def check(condition, what):
    if not condition:
        raise ValueError(f"the server has sent {what} that is not valid")


def receive(connection):
    """Returns a message, and its file descriptor or None."""
    message, controls, flags, _ = connection.recvmsg(MAX_PACKET, socket.CMSG_SPACE(4 * 8))
    fds = []
    for level, kind, data in controls:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds += struct.unpack(f"{len(data) // 4}i", data[: len(data) // 4 * 4])
    for fd in fds[1:]:
        os.close(fd)
    check(len(message) >= HEADER.size and not flags & socket.MSG_TRUNC, "a message")
    check(HEADER.unpack_from(message)[1] == len(message), "a message")
    return message, fds[0] if fds else None


class Client:
    def __init__(self, path):
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.connection.connect(path)
        self.connection.send(struct.pack("<II8sII", HELLO, 24, MAGIC, VERSION, VERSION))
        self.memories = {}
        self.name, self.planes, self.last = "", [], 0

    def read_format(self, message):
        check(len(message) == FORMAT_FORM.size, "a format")
        fields = FORMAT_FORM.unpack(message)
        count = fields[14]
        check(count <= 4 and fields[2][-1] == 0, "a format")
        self.name = fields[2].rstrip(b"\0").decode()
        self.planes = [fields[15 + 4 * i : 19 + 4 * i] for i in range(count)]

    def read_memory(self, message, fd):
        check(len(message) == MEMORY_FORM.size and fd is not None, "memory")
        _, _, number, size, *_ = MEMORY_FORM.unpack(message)
        # Mesa's memfd begins with its own size and the place of the memory.
        total, place = struct.unpack("<QQ", os.pread(fd, 16, 0))
        check(number not in self.memories and 0 < size <= total - place, "memory")
        check(os.fstat(fd).st_size == total, "memory")
        self.memories[number] = mmap.mmap(fd, size, prot=mmap.PROT_READ, offset=place)

    def read_frame(self, message):
        """Returns the number of the frame, its time, and the bytes of its planes."""
        check(len(message) >= FRAME_FORM.size, "a frame")
        fields = FRAME_FORM.unpack_from(message)
        number, time, ranges, planes, metas = fields[2], fields[9], *fields[12:15]
        size = FRAME_FORM.size + 24 * ranges + 16 * planes + metas
        check(size == len(message) and number > self.last, "a frame")
        check(ranges <= 16 and planes in (0, len(self.planes)), "a frame")
        self.last, place = number, FRAME_FORM.size
        parts = []
        for _ in range(ranges):
            memory, offset, size = RANGE_FORM.unpack_from(message, place)
            place += RANGE_FORM.size
            data = self.memories.get(memory)
            check(data is not None and 0 < size <= len(data) - offset, "a frame")
            parts.append(memoryview(data)[offset : offset + size])
        pictures = []
        for i in range(planes):
            offset, stride, index = PLANE_FORM.unpack_from(message, place)
            place += PLANE_FORM.size
            width, height, channels, bits = self.planes[i]
            row = width * channels * bits // 8
            check(index < len(parts) and (height == 1 or abs(stride) >= row), "a plane")
            for start in (offset, offset + (height - 1) * stride):
                check(0 <= start <= len(parts[index]) - row, "a plane")
            starts = (offset + y * stride for y in range(height))
            pictures.append(b"".join(parts[index][start : start + row] for start in starts))
        return number, time, pictures

    def frames(self):
        """Yields frames until the stream ends."""
        while True:
            message, fd = receive(self.connection)
            kind = HEADER.unpack_from(message)[0]
            try:
                if kind == FRAME:
                    frame = self.read_frame(message)
                    yield frame
                    self.connection.send(NUMBER_FORM.pack(RELEASE, 16, frame[0]))
                elif kind == FORMAT:
                    self.read_format(message)
                elif kind == MEMORY:
                    self.read_memory(message, fd)
                elif kind == FORGET:
                    self.memories.pop(NUMBER_FORM.unpack(message)[2], None)
                elif kind == WELCOME:
                    fields = WELCOME_FORM.unpack(message)
                    check(fields[2:4] == (MAGIC, VERSION), "a greeting")
                elif kind == BYE and len(message) > 16:
                    raise ConnectionRefusedError(message[16:].decode(errors="replace"))
                elif kind in (EOS, BYE):
                    return
                else:
                    check(kind in (CAPS, SEGMENT, STREAM_TAGS, GLOBAL_TAGS), "a message")
            finally:
                if fd is not None:
                    os.close(fd)


def main():
    client = Client(sys.argv[1])
    for number, time, planes in client.frames():
        sums = " ".join(f"{zlib.crc32(plane):08x}" for plane in planes)
        print(f"frame {number} at {time / 1e9:.3f} s, {client.name}: {sums}", flush=True)


if __name__ == "__main__":
    main()
