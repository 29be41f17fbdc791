#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the pipelines of the elements whose names come on stdin, one a line.

Prints one line of JSON before a pipeline starts, and one for its result. If an element
ends this process, or hangs, registry.py knows where.
"""

import json
import os
import signal
import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from elements import Element  # noqa: E402
from pipelines import cases  # noqa: E402
from play import compare_messages, compare_streams, open_device, play  # noqa: E402

HANG_LIMIT = 40  # seconds, after which SIGALRM ends this process


def say(**fields):
    print(json.dumps(fields), flush=True)


class Case:
    """A case of an element: plays the pipeline with identity, and compares others with it."""

    def __init__(self, element, name, plain, context):
        self.element, self.name, self.launch, self.context = element, name, plain, context
        self.plain = self.play("plain", plain)
        self.changes = None  # what differs if the pipeline with identity is played again
        say(element=element.name, case=name, way="plain",
            result=self.plain.end + "".join(f": {text}" for text in self.plain.errors[:1]), once="")

    def play(self, way, launch):
        say(element=self.element.name, case=self.name, way=way)
        signal.alarm(HANG_LIMIT)
        return play(launch, self.element.src is not None, self.context)

    def compare_streams(self, other):
        """What differs each time is not compared, such as random bytes."""
        found = compare_streams(self.plain, other)
        if not found:
            return None
        if self.changes is None:
            again = compare_streams(self.plain, self.play("plain", self.launch))
            self.changes = again[0] if again else ""
        return found[1] if found[0] != self.changes else None

    def compare(self, way, launch):
        other = self.play(way, launch)
        return compare_messages(self.plain, other) or self.compare_streams(other)

    def try_way(self, way, launch):
        """What differs once only is told, and no failure: this machine may have been busy, or
        the element may read memory that nobody wrote.
        """
        found = self.compare(way, launch)
        again = found and self.compare(way, launch)
        say(element=self.element.name, case=self.name, way=way, result=again or "",
            once=found if found and not again else "")


def play_cases(element, context):
    for name, plain, others in cases(element):
        case = Case(element, name, plain, context)
        if case.plain.end == "timeout":
            return  # it needs more than one stream
        for way, launch in others.items():
            case.try_way(way, launch)


def main():
    Gst.init(None)
    registry = Gst.Registry.get()
    keeper, context = open_device()
    for name in sys.stdin.read().split():
        play_cases(Element(registry.lookup_feature(name)), context)
    keeper.set_state(Gst.State.NULL)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # what foreign plugins do at the end of a process is not tested
