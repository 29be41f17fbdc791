#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of vkgdr-plot with saved files: its pictures have the right content and are
readable.

    test-plot.py VKGDR-PLOT DOCS-FOLDER [unittest's arguments]

The test is skipped without matplotlib.
"""

import copy
import importlib.machinery
import importlib.util
import itertools
import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree as ElementTree

PLOT, DOCS = sys.argv[1:3]
SAVED = os.path.join(DOCS, "performance.json")
PICTURES = os.path.join(DOCS, "images", "performance")


def plot(*args, **env):
    return subprocess.run(
        [sys.executable, "-B", PLOT, *args],
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=100,
        check=False,
    )


def load_program():
    loader = importlib.machinery.SourceFileLoader("vkgdr_plot", PLOT)
    spec = importlib.util.spec_from_loader("vkgdr_plot", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def load_saved():
    with open(SAVED, encoding="utf-8") as file:
        return json.load(file)


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def texts_of(*path):
    texts = ElementTree.parse(os.path.join(*path)).iter("{http://www.w3.org/2000/svg}text")
    return sorted("".join(text.itertext()) for text in texts)


class Case(unittest.TestCase):
    def new_folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def save(self, results):
        path = os.path.join(self.new_folder(), "results.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(results if isinstance(results, str) else json.dumps(results))
        return path


class Program(Case):
    """Runs the program as a user does."""

    def test_documentation(self):
        """The pictures in the tree are made from the saved file, and show all values."""
        folder = self.new_folder()
        run = plot("--prefix", "performance-", SAVED, folder)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(sorted(os.listdir(folder)), sorted(os.listdir(PICTURES)))
        shown = set()
        for name in os.listdir(folder):
            with self.subTest(picture=name):
                self.assertEqual(texts_of(folder, name), texts_of(PICTURES, name))
                shown.update(texts_of(folder, name))
        results, format_number = load_saved(), load_program().format_number
        self.assertIn(f"{results['machine']['name']}, {results['machine']['cpu']}", shown)
        for case in results["pipelines"]:
            for variant in case["variants"]:
                with self.subTest(case=case["id"], variant=variant["id"]):
                    for word in variant["label"].split():  # long labels are wrapped
                        self.assertIn(word, " ".join(shown))
                    # Curves of several streams have no numbers. Peers may have failed.
                    if case["section"] != "streams" and "error" not in variant:
                        self.assertIn(format_number(variant["median"]), shown)

    def test_same_file_gives_same_bytes(self):
        results = load_saved()
        results["memory"], results["pipelines"][1:] = [], []
        path, folder, again = self.save(results), self.new_folder(), self.new_folder()
        for run in plot(path, folder), plot(path, again), plot("--png", path, folder):
            self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(sorted(os.listdir(folder)), ["process.png", "process.svg"])
        self.assertEqual(read(folder, "process.svg"), read(again, "process.svg"))
        self.assertIn(b"SPDX-License-Identifier", read(folder, "process.svg")[:200])
        self.assertTrue(read(folder, "process.png").startswith(b"\x89PNG"))

    def test_wrong_files(self):
        program = load_program()
        # Cases of several streams, the second of which lacks a variant.
        case = {"section": "streams", "streams": 1, "unit": "GB/s"}
        cases = [{**case, "variants": [{"label": "a"}]}, {**case, "streams": 2, "variants": []}]
        of_vkgdr_info = '{"devices": []}'
        for content in ('{"memory": 3}', '{"pipelines": [{}]}', {"pipelines": cases}, "no JSON",
                        "[]", of_vkgdr_info, None):
            path = self.save(content or "")
            if content is None:
                os.remove(path)
            arguments = unittest.mock.patch.object(sys, "argv", ["vkgdr-plot", path, "/tmp"])
            with self.subTest(content=content), arguments:
                with self.assertRaises(SystemExit) as caught:
                    program.main()
                self.assertIn("results.json", str(caught.exception.code))

    def test_without_matplotlib(self):
        """The package with the program does not need it."""
        folder = self.new_folder()
        with open(os.path.join(folder, "matplotlib.py"), "w", encoding="utf-8") as file:
            file.write("raise ImportError('there is none')\n")
        run = plot("--help", PYTHONPATH=folder)
        self.assertEqual(run.returncode, 0, run.stderr)
        for option in "--prefix", "--png":
            self.assertIn(option, run.stdout)
        self.assertRegex(plot("--version").stdout, r"^vkgdr-plot \d+\.\d+\.\d+$")
        run = plot(SAVED, folder, PYTHONPATH=folder)
        self.assertEqual(run.returncode, 1)
        self.assertIn("there is none", run.stderr)
        self.assertIn("python3-matplotlib", run.stderr)
        self.assertNotIn("Traceback", run.stderr)


class Readable(Case):
    """No text overlaps another one or is cut off."""

    @classmethod
    def setUpClass(cls):
        cls.program = load_program()

    def check(self, results):
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.text import Text

        with matplotlib.rc_context(self.program.STYLE):
            for name, figure in self.program.draw_all(results):
                canvas = FigureCanvasAgg(figure)
                with unittest.mock.patch.object(Text, "draw", autospec=True) as draw:
                    canvas.draw()
                renderer = canvas.get_renderer()
                boxes = [
                    (call.args[0].get_text(), call.args[0].get_window_extent(renderer))
                    for call in draw.mock_calls
                    if len(call.args) == 2 and call.args[0].get_text()
                ]
                self.assertGreater(len(boxes), 4)
                for text, box in boxes:
                    with self.subTest(picture=name, text=text):
                        self.assertGreaterEqual(min(box.x0, box.y0), 0)
                        self.assertLessEqual(box.x1, figure.bbox.x1)
                        self.assertLessEqual(box.y1, figure.bbox.y1)
                for (text, box), (other, other_box) in itertools.combinations(boxes, 2):
                    common = box.intersection(box, other_box)
                    # Boxes of text in neighbouring lines may touch.
                    if common is not None and min(common.width, common.height) > 1:
                        self.fail(f'{name}: "{text}" covers "{other}"')

    def test_saved(self):
        self.check(load_saved())

    def test_several_streams(self):
        results = load_saved()
        cases = [c for c in results["pipelines"] if c["section"] == "streams"]
        # The last one was not measured with the largest number of streams.
        cases[-1]["variants"][-1] = {"id": "x", "label": "x", "error": "out of memory"}
        results["pipelines"], results["memory"] = cases, []
        ((name, figure),) = self.program.draw_all(results)
        self.assertEqual(name, "streams")
        curves = [len(line.get_xdata()) for line in figure.axes[1].lines]
        self.assertEqual(curves, 8 * [len(cases)] + [len(cases) - 1])
        self.check(results)

    def test_long_texts_failures_and_samples(self):
        results = load_saved()
        long = "videotestsrc ! $video/x-raw_{4} ! vkgdrupload access=direct ! fakesink " * 3
        case = copy.deepcopy(results["pipelines"][0])
        case.update(section="compare", table=long, title=long)
        case["variants"] = [
            {"id": "1", "label": long, "median": 12345678.9, "min": 1.0, "max": 2e7},
            {"id": "2", "label": long, "error": "too few buffers in 30 s"},
            {"id": "3", "label": "none", "median": 0.0, "min": 0.0, "max": 0.0},
        ]
        results["pipelines"] = [case]
        self.check(results)

    def test_numbers(self):
        for value, text in (1234.4, "1234"), (54.66, "54.7"), (2.345, "2.35"), (0.0655, "0.066"):
            self.assertEqual(self.program.format_number(value), text)


if __name__ == "__main__":
    if importlib.util.find_spec("matplotlib") is None:
        print("matplotlib is not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
