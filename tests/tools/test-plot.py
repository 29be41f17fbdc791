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

SVG = "{http://www.w3.org/2000/svg}"
TIME_LIMIT = 100  # seconds, for one run


def plot(*args, **env):
    return subprocess.run(
        [sys.executable, "-B", PLOT, *args],
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=TIME_LIMIT,
        check=False,
    )


def load_program():
    loader = importlib.machinery.SourceFileLoader("vkgdr_plot", PLOT)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("vkgdr_plot", loader)
    )
    loader.exec_module(module)
    return module


def load_saved():
    with open(SAVED, encoding="utf-8") as file:
        return json.load(file)


def texts_of(path):
    root = ElementTree.parse(path)
    return sorted("".join(text.itertext()) for text in root.iter(SVG + "text"))


class Program(unittest.TestCase):
    """Runs the program as a user does."""

    @classmethod
    def setUpClass(cls):
        cls.svg = cls.new_folder()
        cls.run_of_svg = plot("--prefix", "performance-", SAVED, cls.svg)

    @classmethod
    def new_folder(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        return folder.name

    def test_pictures_of_the_documentation(self):
        """The pictures in the tree are those that the program makes from the saved
        file.
        """
        self.assertEqual((self.run_of_svg.returncode, self.run_of_svg.stderr), (0, ""))
        names = sorted(os.listdir(self.svg))
        self.assertEqual(names, sorted(os.listdir(PICTURES)))
        self.assertGreater(len(names), 10)
        for name in names:
            with self.subTest(picture=name):
                texts = texts_of(os.path.join(self.svg, name))
                self.assertEqual(texts, texts_of(os.path.join(PICTURES, name)))

    def test_all_values_are_there(self):
        shown = set()
        for name in os.listdir(self.svg):
            shown.update(texts_of(os.path.join(self.svg, name)))
        self.assertIn("NVIDIA H200, Intel(R) Xeon(R) Processor", shown)
        format_number = load_program().format_number
        for case in load_saved()["pipelines"]:
            for variant in case["variants"]:
                with self.subTest(case=case["id"], variant=variant["id"]):
                    self.assertIn(variant["label"].split(" ! ")[-1], " ".join(shown))
                    # The section streams has curves without numbers.
                    # GStreamer's own elements may have failed.
                    if case["section"] != "streams" and "error" not in variant:
                        self.assertIn(format_number(variant["median"]), shown)

    def test_same_file_gives_same_bytes(self):
        again = self.new_folder()
        plot("--prefix", "performance-", SAVED, again)
        for name in "performance-frames.svg", "performance-to-device.svg":
            contents = []
            for folder in self.svg, again:
                with open(os.path.join(folder, name), "rb") as file:
                    contents.append(file.read())
            self.assertEqual(*contents)
            self.assertIn(b"SPDX-License-Identifier", b"".join(contents[0].split(b"\n")[:3]))

    def test_png(self):
        results = load_saved()
        del results["memory"], results["pipelines"][1:]
        folder = self.new_folder()
        small = os.path.join(folder, "small.json")
        with open(small, "w", encoding="utf-8") as file:
            json.dump(results, file)
        run = plot("--png", small, folder)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(sorted(os.listdir(folder)), ["small.json", "start.png"])
        with open(os.path.join(folder, "start.png"), "rb") as file:
            self.assertEqual(file.read(4), b"\x89PNG")

    def test_wrong_files(self):
        folder = self.new_folder()
        broken = os.path.join(folder, "broken.json")
        program = load_program()
        # Cases of several streams, the second of which lacks a variant.
        case = {"section": "streams", "streams": 1, "unit": "GB/s"}
        cases = [{**case, "variants": [{"label": "a"}]}, {**case, "streams": 2, "variants": []}]
        contents = (
            '{"memory": 3}',
            '{"pipelines": [{}]}',
            json.dumps({"pipelines": cases}),
            '{"devices": []}',  # of vkgdr-info
            "no JSON",
            "[]",
            None,
        )
        for content in contents:
            with self.subTest(content=content):
                if content is None:
                    os.remove(broken)
                else:
                    with open(broken, "w", encoding="utf-8") as file:
                        file.write(content)
                with unittest.mock.patch.object(sys, "argv", ["vkgdr-plot", broken, folder]):
                    with self.assertRaises(SystemExit) as caught:
                        program.main()
                self.assertIn("broken.json", str(caught.exception.code))

    def test_help(self):
        run = plot("--help")
        self.assertEqual(run.returncode, 0)
        self.assertIn("--png", run.stdout)


class Readable(unittest.TestCase):
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
        self.assertEqual([case["streams"] for case in cases], [1, 4, 8, 16])
        # The last one was not measured with 16 streams.
        cases[-1]["variants"][-1] = {"id": "x", "label": "x", "error": "out of memory"}
        results["pipelines"] = cases
        results["memory"] = []
        ((name, figure),) = self.program.draw_all(results)
        self.assertEqual(name, "streams")
        curves = [len(line.get_xdata()) for line in figure.axes[1].lines]
        self.assertEqual(curves, 8 * [4] + [3])
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


class WithoutMatplotlib(unittest.TestCase):
    """The package with the program does not need matplotlib."""

    def test_help_and_error(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "matplotlib.py"), "w", encoding="utf-8") as file:
                file.write("raise ImportError('there is none')\n")
            run = plot("--help", PYTHONPATH=folder)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("--prefix", run.stdout)
            run = plot(SAVED, folder, PYTHONPATH=folder)
        self.assertEqual(run.returncode, 1)
        self.assertIn("there is none", run.stderr)
        self.assertIn("python3-matplotlib", run.stderr)
        self.assertNotIn("Traceback", run.stderr)

    def test_version(self):
        self.assertRegex(plot("--version").stdout, r"^vkgdr-plot \d+\.\d+\.\d+$")


if __name__ == "__main__":
    if importlib.util.find_spec("matplotlib") is None:
        print("matplotlib is not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
