# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the commands of docs/cudafilter.md as they are written.

The commands have only these changes: sources stop after some frames, frames are
smaller, and nothing is displayed.
"""

import os
import re
import shutil

import launch

DOCUMENT = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "cudafilter.md"
)

# Commands that need something that a test does not have: NVIDIA's compiler, a
# video and the decoder of a GPU, or a photograph.
NOT_HERE = ("nvcc", "nvh264dec", "effects-pictures")


def read_blocks():
    """Returns the language and the text of each block of code."""
    with open(DOCUMENT, encoding="utf-8") as file:
        return re.findall(r"^```(\w+)\n(.*?)^```", file.read(), re.S | re.M)


def with_end(command):
    command = re.sub(r"^gst-launch-1\.0 ", f"{launch.LAUNCH} -q ", command)
    command = command.replace("-q videotestsrc", "-q videotestsrc num-buffers=5")
    # The software device processes small frames fast enough.
    command = command.replace("width=1280,height=720", "width=320,height=180")
    return re.sub(r"\bauto(video|audio)sink\b", "fakesink", command)


class Commands(launch.Case):
    """The files of the document are in the folder in which its commands run."""

    def setUp(self):
        super().setUp()
        for language, text in read_blocks():
            if language == "cuda" and "mirror (VkgdrFrame" in text:
                with open(self.path("mirror.cu"), "w", encoding="utf-8") as file:
                    file.write(text)

    def run_here(self, *command):
        result = launch.run("env", "-C", self.folder, *command)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertNotRegex(result.stderr, "WARN|CRITICAL|ERROR")

    def test_commands(self):
        n = 0
        for language, text in read_blocks():
            if language != "sh" or any(word in text for word in NOT_HERE):
                continue
            with self.subTest(text):
                self.run_here("bash", "-c", with_end(text))
            n += 1
        self.assertGreater(n, 10)


if __name__ == "__main__":
    if not shutil.which("bash"):
        raise SystemExit(77)
    raise SystemExit(launch.main())
