# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of vkgdr.Frames and vkgdr.FrameServer, and of the examples of clients in C and in
Python's standard library.
"""

import concurrent.futures
import ctypes
import gc
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zlib
from typing import Any, Callable, Iterator, List, Tuple

import support
import numpy as np
import vkgdr

EXAMPLES = os.path.join(os.path.dirname(support.__file__), "../../docs/examples")
WIDTH, HEIGHT = 66, 50
LUMA, CHROMA = WIDTH * HEIGHT, (WIDTH // 2) * (HEIGHT // 2) * 2  # bytes

CLIENT = """
import sys, vkgdr, numpy as np
for frame in vkgdr.Frames(sys.argv[1]):
    print(frame.timestamp, *(int(np.asarray(p).astype(int).sum()) for p in frame.planes))
"""


def state(kind: int, content: bytes = b"") -> bytes:
    """A STATE of docs/ipc-protocol.md."""
    return struct.pack("<IIII", 17, 16 + len(content), kind, 0) + content


WELCOME, BYE, EOS = struct.pack("<IIII", 16, 16, 6, 4), state(17), state(16)
REFUSAL = state(17, b"there is no room")


class FramesTest(support.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "frames")

    def serve(self, format: str = "NV12", **options: Any) -> vkgdr.FrameServer:
        server = vkgdr.FrameServer(self.path, format, WIDTH, HEIGHT, **options)
        self.addCleanup(server.close)
        return server

    def connect(self, *arguments: Any, **options: Any) -> Tuple[vkgdr.FrameServer, vkgdr.Frames]:
        server = self.serve(*arguments, **options)
        frames = vkgdr.Frames(self.path)
        self.wait_for_clients(server, 1)
        return server, frames

    def send(self, server: vkgdr.FrameServer, number: int) -> None:
        buffer = server.acquire(10)
        for index, plane in enumerate(buffer.planes):
            np.asarray(plane)[:] = (number + index) % 256
        buffer.send(number)

    def wait_for_clients(self, server: vkgdr.FrameServer, number: int) -> None:
        limit = time.monotonic() + 30
        while server.clients != number:
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.01)

    def run_client(self, *command: str) -> List[str]:
        """Sends frames to another process. Returns the lines that it prints."""
        server = self.serve(max_buffers=8)
        with subprocess.Popen(
            [*command, self.path], stdout=subprocess.PIPE, encoding="utf-8"
        ) as client:
            self.wait_for_clients(server, 1)
            for number in range(3):
                self.send(server, number)
            server.end()
            output, _ = client.communicate(timeout=120)
        server.close()
        if client.returncode == 77:
            self.skipTest("the example needs NVRTC")
        self.assertEqual(client.returncode, 0)
        return output.splitlines()

    # --- frames ------------------------------------------------------------------

    def test_frame(self) -> None:
        server, frames = self.connect(fps=(30, 1))
        self.assertRaises(TimeoutError, frames.receive, 0)
        self.send(server, 7)
        self.assertEqual(frames.room, 4)
        frame = next(frames)
        self.assertEqual(frames.room, 3)
        format, (luma, chroma) = frame.format, frame.planes
        self.assertEqual((format.name, format.width, format.height, format.fps),
                         ("NV12", WIDTH, HEIGHT, (30, 1)))
        self.assertEqual((frame.number, frame.lost, frame.timestamp), (1, 0, 7))
        frame.wait()
        for plane, shape, value in (
            (luma, (HEIGHT, WIDTH), 7), (chroma, (HEIGHT // 2, WIDTH // 2, 2), 8)
        ):
            np.testing.assert_array_equal(np.asarray(plane), np.full(shape, value))
            self.assertEqual(plane.shape, shape)
            self.assertFalse(np.asarray(plane).flags.writeable)
            self.assertEqual(plane.__cuda_array_interface__["data"][0], plane.device_ptr)
        self.assertEqual(chroma.__cuda_array_interface__["strides"][1:], (2, 1))
        server.end()
        self.assertEqual(list(frames), [])
        frame.release()
        frame.release()
        self.assertRaises(ValueError, frame.wait)

    def test_frame_is_kept_by_its_arrays(self) -> None:
        server = self.serve("GRAY8", buffers=2)
        with vkgdr.Frames(self.path) as frames:
            self.wait_for_clients(server, 1)
            self.send(server, 3)
            array = np.asarray(next(frames).planes[0])
            first = server.acquire(10)
            self.assertRaises(TimeoutError, server.acquire, 0.05)
            self.assertTrue((array == 3).all())
            del array
            second = server.acquire(10)
            del first, second
            server.acquire(0), server.acquire(0)

    def test_dlpack(self) -> None:
        server, frames = self.connect("RGBA", buffers=1)
        self.send(server, 9)
        plane = next(frames).planes[0]
        self.assertEqual(plane.__dlpack_device__(), (2, 0))
        capsule = plane.__dlpack__(stream=None)
        self.assertIn("dltensor", repr(capsule))
        self.assert_raise((BufferError, "", lambda: plane.__dlpack__(copy=True)))
        del capsule, plane
        server.acquire(10)  # the frame is back

    def test_device_writes(self) -> None:
        server, frames = self.connect("GRAY8")
        buffer = server.acquire()
        np.asarray(buffer.planes[0])[:] = 5
        self.assertTrue(buffer.planes[0].__cuda_array_interface__["data"][0])
        buffer.send(stream=0)
        with next(frames) as frame:
            self.assertTrue((np.asarray(frame.planes[0]) == 5).all())
            frame.release(0)
        self.assertRaises(ValueError, buffer.send)

    def test_tensors(self) -> None:
        for dtype, number in ("float32", 1.5), ("int64", -7), ("bool", True), ("float16", 2):
            with self.subTest(dtype=dtype), vkgdr.FrameServer(
                    self.path, shape=(2, 3, 4), dtype=dtype, buffers=2) as server:
                frames = vkgdr.Frames(self.path)
                self.wait_for_clients(server, 1)
                buffer = server.acquire()
                np.asarray(buffer.tensor)[:] = number
                self.assertEqual(buffer.planes, [])
                buffer.send()
                frame = next(frames)
                array = np.asarray(frame.tensor)
                self.assertEqual((array.shape, str(array.dtype)), ((2, 3, 4), dtype))
                self.assertTrue((array == number).all())
                self.assertEqual(frame.planes, [])
                del array, frame, frames

    def test_tensors_of_the_device(self) -> None:
        """Types that NumPy does not have, in memory that the CPU cannot address."""
        with vkgdr.FrameServer(self.path, shape=[5], dtype="bfloat16",
                               device_memory=True) as server:
            frames = vkgdr.Frames(self.path)
            self.wait_for_clients(server, 1)
            server.acquire().send()
            tensor: Any = next(frames).tensor
            self.assertIsNone(tensor.host_ptr)
            self.assertTrue(tensor.device_ptr)
            # Behind the pointer, the device and the dimensions: the code and the bits.
            capsule = tensor.__dlpack__()
            address = vkgdr.frames._get_capsule(capsule, b"dltensor")
            self.assertEqual(ctypes.string_at(address + 20, 2), bytes([4, 16]))
            self.assert_raise((vkgdr.VkgdrError, "the CPU cannot", np.asarray, tensor))
        self.assert_raise(
            (ValueError, "a format or a shape", vkgdr.FrameServer, self.path),
            (ValueError, "dimensions", lambda: vkgdr.FrameServer(self.path, shape=())),
            (vkgdr.VkgdrError, "shape", lambda: vkgdr.FrameServer(self.path, shape=(3, 0))),
        )

    # --- ends --------------------------------------------------------------------

    def test_a_buffer_outlives_its_server(self) -> None:
        server = self.serve("GRAY8")
        buffer, dropped = server.acquire(1), server.acquire(1)
        server.close()
        del dropped
        np.asarray(buffer.planes[0])[:] = 1
        self.assertRaises(ValueError, buffer.send)

    def test_nothing_is_left_of_a_closed_server(self) -> None:
        for i in range(5):
            server = self.serve("GRAY8")
            buffer = server.acquire(1)
            server.close()
            del buffer
            if i == 0:
                count = len(os.listdir("/proc/self/fd"))
        self.assertEqual(len(os.listdir("/proc/self/fd")), count)

    def test_use_after_the_end(self) -> None:
        """What is closed, sent or released can be asked, and does no harm."""
        server, frames = self.connect()
        format, buffer = server.format, server.acquire(1)
        plane = buffer.planes[0]
        buffer.send()
        self.assertGreaterEqual(frames.fileno(), 0)
        frames.close()
        server.close()
        gc.collect()
        self.assertEqual(server.format, format)
        self.assertEqual((frames.lost, frames.room, frames.receive(0)), (0, 0, None))
        functions: List[Callable[[], object]] = [
            frames.fileno, lambda: np.asarray(plane), lambda: server.clients, server.acquire,
            server.end]
        for function in functions:
            self.assertRaises(ValueError, function)

    def test_wrong_arguments(self) -> None:
        """They are refused by name, not cut off, and no frame is lost."""
        def serve(width: Any = WIDTH, **options: Any) -> Any:
            return lambda: vkgdr.FrameServer(self.path, "NV12", width, HEIGHT, **options)

        self.assert_raise(
            (OverflowError, str((1 << 32) + WIDTH), serve((1 << 32) + WIDTH)),
            (OverflowError, "-4", serve(-4)), (OverflowError, "", serve(buffers=(1 << 32) + 2)),
            (OverflowError, "", serve(device=1 << 32)), (TypeError, "integer", serve(8.0)),
            (TypeError, r"fps is a pair of integers, such as \(30, 1\), not 30", serve(fps=30)),
            (TypeError, "fps", serve(fps=(29.97, 1))), (ValueError, "fps", serve(fps=(30, 0))),
            (TypeError, "", vkgdr.FrameServer, 7, "NV12", WIDTH, HEIGHT))
        server, frames = self.connect()
        buffer = server.acquire(1)
        self.assert_raise((TypeError, "", buffer.send, "now"), (TypeError, "stream", buffer.send, 1, "s"),
                          (OverflowError, "", buffer.send, -5))
        buffer.send(7)
        frame = frames.receive(10)
        assert frame is not None
        self.assertEqual(frame.timestamp, 7)
        self.assert_raise((TypeError, "stream", frame.release, "s"))
        frame.release()
        self.assertEqual(frames.room, 4)

    def test_closed_by_another_thread(self) -> None:
        """A thread that waits for a frame, or for a server, gets the end."""
        server = self.serve("GRAY8")
        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            for i in range(30):
                frames = vkgdr.Frames(self.path, reconnect=True)
                if i == 20:
                    server.close()
                received = thread.submit(lambda: list(frames))
                time.sleep(i % 4 * 0.01)
                frames.close()
                self.assertEqual(received.result(30), [])
                if i >= 20:
                    server.close()
                    server = self.serve("GRAY8")

    def test_threads_share_frames(self) -> None:
        server, frames = self.connect("GRAY8", max_buffers=8)
        with concurrent.futures.ThreadPoolExecutor(3) as threads, server:
            counts = [threads.submit(lambda: sum(1 for _ in frames)) for _ in range(3)]
            for number in range(300):
                self.send(server, number)
            server.close()
            self.assertEqual(sum(count.result(30) for count in counts) + frames.lost, 300)

    def test_no_server(self) -> None:
        self.assert_raise(
            (vkgdr.VkgdrError, "no process serves", lambda: vkgdr.Frames(self.path, timeout=0.1)),
            (ValueError, "", lambda: vkgdr.Frames(self.path, allowed_peers="nobody")),
            (ValueError, "null", lambda: vkgdr.Frames(self.path + "\0x")),
            (vkgdr.VkgdrError, "NV13", self.serve, "NV13"),
        )

    def test_paths(self) -> None:
        """Any path of a file is one of a socket."""
        folder = pathlib.Path(self.path).parent
        paths: Tuple[Any, ...] = (
            folder / "socket", str(folder / "a \N{SNOWMAN}"),
            os.fsdecode(os.fsencode(folder) + b"/\xff"))
        for path in paths:
            with vkgdr.FrameServer(path, "GRAY8", 4, 4), vkgdr.Frames(path):
                self.assertTrue(os.path.exists(path))
            self.assertFalse(os.path.exists(path))

    def test_reconnect(self) -> None:
        server = self.serve("GRAY8")
        frames = vkgdr.Frames(self.path, reconnect=True)
        self.wait_for_clients(server, 1)
        self.send(server, 1)
        self.assertEqual(next(frames).timestamp, 1)
        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            received = thread.submit(lambda: next(frames).timestamp)
            server.close()
            server = self.serve("GRAY8")
            self.wait_for_clients(server, 1)
            self.send(server, 2)
            self.assertEqual(received.result(30), 2)

    def answer(self, *messages: bytes, seconds: float = 60) -> Iterator[int]:
        """Listens, and answers each connection with these messages. Then it ends the
        connection. Yields the number of connections so far.
        """
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self.path)
            listener.listen(64)
            listener.settimeout(0.05)
            end, count = time.monotonic() + seconds, 0
            yield count
            while time.monotonic() < end:
                try:
                    connection, _ = listener.accept()
                except socket.timeout:
                    continue
                with connection:
                    count += 1
                    for message in messages:
                        connection.send(message)
                yield count

    def test_pauses(self) -> None:
        """A client that connects again makes pauses that grow."""
        cases: List[List[bytes]] = [[], [BYE], [WELCOME], [WELCOME, BYE]]
        for messages in cases:
            with self.subTest(messages=messages):
                server = self.answer(*messages, seconds=2)
                next(server)
                with concurrent.futures.ThreadPoolExecutor(1) as thread:
                    counts: Any = thread.submit(lambda: list(server))
                    with vkgdr.Frames(self.path, reconnect=True) as frames:
                        self.assertRaises(TimeoutError, frames.receive, 1.5)
                    # 0.01 s, 0.02 s, ...
                    self.assertLess(counts.result(30)[-1], 12)
                    self.assertGreater(counts.result(30)[-1], 3)
                os.unlink(self.path)

    def test_refusal(self) -> None:
        """A reason is an error, also for a client that connects again."""
        for reconnect in False, True:
            server = self.answer(REFUSAL, seconds=1)
            next(server)
            with concurrent.futures.ThreadPoolExecutor(1) as thread:
                counts: Any = thread.submit(lambda: list(server))
                self.assert_raise((
                    vkgdr.VkgdrError, "there is no room",
                    lambda: next(vkgdr.Frames(self.path, reconnect=reconnect))))
                self.assertEqual(counts.result(30), [1])
            os.unlink(self.path)

    def test_no_answer(self) -> None:
        """A server that is stopped accepts connections, and does not answer."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self.path)
            listener.listen()
            self.assert_raise((vkgdr.VkgdrError, "does not answer",
                               lambda: vkgdr.Frames(self.path, timeout=0.3)))

    def test_interrupt(self) -> None:
        self.serve("GRAY8")
        frames = vkgdr.Frames(self.path)
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        with self.assertRaises(KeyboardInterrupt):
            timer.start()
            next(frames)

    # --- other processes -----------------------------------------------------------

    def test_another_process(self) -> None:
        """In this PID namespace, and in another one."""
        apart = ["unshare", "--user", "--map-current-user", "--pid", "--fork", "--mount-proc"]
        if os.geteuid() == 0:
            apart = ["unshare", "--pid", "--fork", "--mount-proc"]
        for prefix in apart[:0], apart:
            if prefix and subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL).returncode:
                self.skipTest("no other PID namespace is permitted")
            self.assertEqual(
                self.run_client(*prefix, sys.executable, "-c", CLIENT),
                [f"{n} {n * LUMA} {(n + 1) * CHROMA}" for n in range(3)])

    def test_example_in_c(self) -> None:
        program = os.environ.get("FRAMES_EXAMPLE")
        if program is None:
            self.skipTest("FRAMES_EXAMPLE names no program; Meson sets it")
        lines = self.run_client(program)
        self.assertEqual(lines, [str(n * LUMA + (n + 1) * CHROMA) for n in range(3)])

    @unittest.skipUnless(support.is_software(), "the memory of a GPU cannot be mapped")
    def test_example_by_hand(self) -> None:
        path = os.path.join(EXAMPLES, "python/frames_by_hand.py")
        lines = self.run_client(sys.executable, path)
        self.assertEqual(len(lines), 3)
        for n, line in enumerate(lines):
            luma, chroma = zlib.crc32(bytes([n]) * LUMA), zlib.crc32(bytes([n + 1]) * CHROMA)
            self.assertTrue(line.endswith(f"NV12: {luma:08x} {chroma:08x}"), line)


if __name__ == "__main__":
    support.main()
