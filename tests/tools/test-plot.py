#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of vkgdr-plot with saved files: its pictures have the right content and are
readable.

    test-plot.py VKGDR-PLOT DOCS-FOLDER [unittest's arguments]

The test is skipped without matplotlib.
"""

import importlib.util
import itertools
import json
import math
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock
import xml.etree.ElementTree as ElementTree

PLOT, DOCS = sys.argv[1], pathlib.Path(sys.argv[2])
SAVED = DOCS / "performance.json"
PICTURES = DOCS / "images" / "performance"
PROGRAM = types.SimpleNamespace(**runpy.run_path(PLOT))
LONG = "videotestsrc ! $video/x-raw_{4} ! vkgdrupload access=direct ! fakesink " * 3


def texts_of(path):
    texts = ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")
    return sorted("".join(text.itertext()) for text in texts)


class Plot(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.saved = json.loads(SAVED.read_text(encoding="utf-8"))

    def plot(self, *args, status=0, **environment):
        """Runs the program as a user does. Returns its output."""
        run = subprocess.run([sys.executable, "-B", PLOT, *args], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, encoding="utf-8", timeout=100, check=False,
                             env={**os.environ, **environment})
        self.assertEqual(run.returncode, status, run.stdout)
        self.assertNotIn("Traceback", run.stdout)
        return run.stdout

    def test_documentation(self):
        """The pictures in the tree are made from the saved file, and show all values. The same
        file gives the same bytes."""
        self.plot("--prefix", "performance-", SAVED, self.folder)
        names = sorted(path.name for path in self.folder.iterdir())
        self.assertEqual(names, sorted(path.name for path in PICTURES.iterdir()))
        shown = set()
        for name in names:
            with self.subTest(picture=name):
                self.assertEqual(texts_of(self.folder / name), texts_of(PICTURES / name))
                shown.update(texts_of(self.folder / name))
        self.assertEqual([*map(PROGRAM.format_number, (1234.4, 54.66, 2.345, 0.0655))],
                         ["1234", "54.7", "2.35", "0.0655"])
        self.assertIn(f"{self.saved['machine']['name']}, {self.saved['machine']['cpu']}", shown)
        for case in self.saved["pipelines"]:
            for variant in case["variants"]:
                with self.subTest(case=case["id"], variant=variant["id"]):
                    for word in variant["label"].split():  # long labels are wrapped
                        self.assertIn(word, " ".join(shown))
                    # Curves of several streams have no numbers. Peers may have failed.
                    if case["section"] != "streams" and "error" not in variant:
                        self.assertIn(PROGRAM.format_number(variant["median"]), shown)
        self.plot("--prefix", "again-", SAVED, self.folder)
        first = (self.folder / "performance-streams.svg").read_bytes()
        self.assertEqual((self.folder / "again-streams.svg").read_bytes(), first)
        self.assertIn(b"SPDX-License-Identifier", first[:200])

    def test_wrong_files(self):
        # Cases of several streams, the second of which lacks a variant.
        case = {"section": "streams", "streams": 1, "unit": "GB/s"}
        cases = [{**case, "variants": [{"label": "a"}]}, {**case, "streams": 2, "variants": []}]
        of_vkgdr_info = '{"devices": []}'
        path = self.folder / "results.json"
        for content in (None, '{"memory": 3}', '{"pipelines": [{}]}',
                        json.dumps({"pipelines": cases}), "no JSON", "[]", of_vkgdr_info):
            if content:
                path.write_text(content, encoding="utf-8")
            arguments = unittest.mock.patch.object(sys, "argv", ["vkgdr-plot", str(path), "/tmp"])
            with self.subTest(content=content), arguments:
                self.assertRaisesRegex(SystemExit, "results.json", PROGRAM.main)

    def test_without_matplotlib(self):
        """The package with the program does not need it."""
        (self.folder / "matplotlib.py").write_text("raise ImportError('there is none')\n")
        environment = {"PYTHONPATH": str(self.folder)}
        self.assertIn("--prefix", self.plot("--help", **environment))
        self.assertRegex(self.plot("--version"), r"^vkgdr-plot \d+\.\d+\.\d+$")
        self.assertRegex(self.plot(SAVED, self.folder, status=1, **environment),
                         "there is none.*python3-matplotlib")

    def check_readable(self):
        """No text overlaps another one or is cut off."""
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.text import Text

        with matplotlib.rc_context(PROGRAM.STYLE):
            for name, figure in PROGRAM.draw_all(self.saved):
                canvas = FigureCanvasAgg(figure)
                with unittest.mock.patch.object(Text, "draw", autospec=True) as draw:
                    canvas.draw()
                texts = [call.args[0] for call in draw.mock_calls if len(call.args) == 2]
                boxes = [(text.get_text(), text.get_window_extent())
                         for text in texts if text.get_visible() and text.get_text()]
                self.assertGreater(len(boxes), 4)
                for text, box in boxes:
                    self.assertTrue(0 <= box.x0 and box.x1 <= figure.bbox.x1 and 0 <= box.y0
                                    and box.y1 <= figure.bbox.y1, f'{name}: "{text}" is cut off')
                for (text, box), (other, other_box) in itertools.combinations(boxes, 2):
                    # Boxes of text in neighbouring lines may touch.
                    self.assertFalse(box.overlaps(other_box.padded(-1)),
                                     f'{name}: "{text}" covers "{other}"')

    def test_saved_and_several_streams(self):
        self.check_readable()
        cases = [c for c in self.saved["pipelines"] if c["section"] == "streams"]
        # The last one was not measured with the largest number of streams.
        cases[-1]["variants"][-1] = {"id": "x", "label": "x", "error": "out of memory"}
        self.saved.update(pipelines=cases, memory=[])
        ((name, figure),) = PROGRAM.draw_all(self.saved)
        self.assertEqual(name, "streams")
        (axes,) = figure.axes[0].child_axes
        missing = [sum(map(math.isnan, line.get_ydata())) for line in axes.lines]
        self.assertEqual(missing, 5 * [0] + [1])
        self.check_readable()

    def test_long_texts_failures_and_older_versions(self):
        """Tables of older versions had no title, and results no samples."""
        older = {**self.saved["pipelines"][0], "title": LONG, "variants": [
            {"id": "1", "label": LONG, "median": 12345678.9},
            {"id": "2", "label": LONG, "error": "too few buffers in 30 s"},
            {"id": "3", "label": "none", "median": 0.0, "min": 0.0, "max": 0.0}]}
        del older["table"]
        self.saved["pipelines"] = [older, {**older, "section": "compare", "table": LONG}]
        self.saved["memory"] += [{**curve, "id": curve["id"] + "-async"}
                                 for curve in self.saved["memory"]]
        self.check_readable()


if __name__ == "__main__":
    if importlib.util.find_spec("matplotlib") is None:
        print("matplotlib is not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
