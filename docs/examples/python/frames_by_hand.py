#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A client of a frame server in Python's standard library alone.

    frames_by_hand.py SOCKET

It shows docs/ipc-protocol.md at work: it prints a checksum of each plane of each frame.
It maps the memory, which works without an NVIDIA driver. The file descriptors of a GPU
have to be imported by Vulkan or CUDA instead, as vkgdr_memory_import_fd() does.
"""

import fcntl
import mmap
import os
import socket
import struct
import sys
import zlib

HELLO, RELEASE, STOP = 1, 2, 3
WELCOME, STATE, MEMORY, FORGET, FRAME = range(16, 21)
FORMAT, EOS, BYE = 0, 16, 17  # kinds of STATE

MAGIC, VERSION = b"VkgdrFrm", 6
MAX_PACKET, MAX_CONTENT, MAX_REASON = 65536, 61440, 512

HEADER = struct.Struct("<II")
WELCOME_FORM = struct.Struct("<IIII")
STATE_FORM = struct.Struct("<IIII")
NUMBER_FORM = struct.Struct("<IIQ")
MEMORY_FORM = struct.Struct("<IIQQII16s16s")
FORMAT_FORM = struct.Struct("<16sIIiiiiIIIIII16I")
FRAME_FORM = struct.Struct("<IIQqQQQIHHII")
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
        self.name, self.planes, self.last, self.is_welcome = "", [], 0, False

    def read_state(self, message):
        """Returns whether the stream goes on."""
        check(16 <= len(message) <= 16 + MAX_CONTENT, "a state")
        kind, content = STATE_FORM.unpack_from(message)[2], message[16:]
        if kind == FORMAT:
            self.read_format(content)
        elif kind == BYE and content:
            text = content.decode("ascii", errors="replace")
            check(text.isascii() and text.isprintable() and len(text) <= MAX_REASON, "a reason")
            raise ConnectionRefusedError(text)
        return kind not in (EOS, BYE)

    def read_format(self, content):
        self.name, self.planes = "", []
        if not content:
            return
        check(len(content) == FORMAT_FORM.size, "a format")
        name, width, height, *fields = FORMAT_FORM.unpack(content)
        count, planes = fields[9], [fields[10 + 4 * i : 14 + 4 * i] for i in range(4)]
        text = name.split(b"\0")[0].decode("ascii", errors="replace")
        check(name[-1] == 0 and text.isascii() and text.isprintable() and count <= 4, "a format")
        for size in (width, height, *(size for plane in planes[:count] for size in plane[:2])):
            check(0 < size <= 524272, "a format")
        for _, _, channels, bits in planes[:count]:
            check(0 < channels <= 64 and bits in (8, 16, 32), "a format")
        self.name, self.planes = text, planes[:count]

    def read_memory(self, message, fd):
        check(len(message) == MEMORY_FORM.size and fd is not None, "memory")
        _, _, number, size, *_, device, _ = MEMORY_FORM.unpack(message)
        check(number not in self.memories and any(device), "memory")
        # Mesa's memfd begins with its own size and the place of the memory. It is sealed, so
        # that nobody can shorten it while it is mapped.
        total, place = struct.unpack("<QQ", os.pread(fd, 16, 0))
        check(fcntl.fcntl(fd, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK, "memory")
        check(0 < size <= total - place and os.fstat(fd).st_size == total, "memory")
        self.memories[number] = mmap.mmap(fd, size, prot=mmap.PROT_READ, offset=place)

    def read_frame(self, message):
        """Returns the number of the frame, its time, and the bytes of its planes."""
        check(len(message) >= FRAME_FORM.size, "a frame")
        fields = FRAME_FORM.unpack_from(message)
        number, time, ranges, planes, metas = fields[2], fields[3], *fields[8:11]
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

    def read_welcome(self, message):
        check(len(message) == WELCOME_FORM.size, "a greeting")
        _, _, version, room = WELCOME_FORM.unpack(message)
        check(version == VERSION and room > 0, "a greeting")
        self.is_welcome = True

    def frames(self):
        """Yields frames until the stream ends."""
        while True:
            message, fd = receive(self.connection)
            kind = HEADER.unpack_from(message)[0]
            check(self.is_welcome or kind in (WELCOME, STATE), "a message")
            try:
                if kind == FRAME:
                    frame = self.read_frame(message)
                    yield frame
                    self.connection.send(NUMBER_FORM.pack(RELEASE, 16, frame[0]))
                elif kind == MEMORY:
                    self.read_memory(message, fd)
                elif kind == FORGET:
                    self.memories.pop(NUMBER_FORM.unpack(message)[2], None)
                elif kind == STATE:
                    if not self.read_state(message):
                        return
                else:
                    check(kind == WELCOME, "a message")
                    self.read_welcome(message)
            finally:
                if fd is not None:
                    os.close(fd)


def main():
    if len(sys.argv) != 2:
        sys.exit("frames_by_hand.py: the argument is the path of a server's socket")
    client = Client(sys.argv[1])
    for number, time, planes in client.frames():
        sums = " ".join(f"{zlib.crc32(plane):08x}" for plane in planes)
        print(f"frame {number} at {time / 1e9:.3f} s, {client.name}: {sums}", flush=True)


if __name__ == "__main__":
    main()
