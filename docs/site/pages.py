# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tree's Markdown files as pages of the site.

Their links are made for a reader of the tree: here they come to point to pages,
and files that the site shows become pages. Knows nothing of the library.
"""

import os
import re

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[\])*)\]\(([^()\s]+)\)")
HEAD = re.compile(r"\A(?:<!--.*?-->\s*)+", re.S)
IMAGES = (".jpg", ".png", ".svg")
LANGUAGES = {".py": "python", ".c": "c"}


def file_page(path):
    """The page of a file whose text is shown."""
    return "file-" + os.path.basename(path).replace(".", "-")


class Pages:
    """Pages by their file in the tree; more are found as links are followed."""

    def __init__(self, root, names, elsewhere):
        self.root = root
        self.names = dict(names)  # file in the tree: page, without .md
        self.elsewhere = elsewhere  # file in the tree: page that others make
        self.images = []
        self.shown = []  # files whose text is a page

    def _target(self, source, target):
        """Where a link leads to on the site, or None."""
        file, mark, fragment = target.partition("#")
        if ":" in file or not file:
            return target
        path = os.path.normpath(os.path.join(os.path.dirname(source), file))
        if path.endswith(IMAGES):
            if path not in self.images:
                self.images.append(path)
            return os.path.basename(path)
        if path in self.elsewhere:
            return self.elsewhere[path]
        if path not in self.names:
            if not os.path.exists(os.path.join(self.root, path)):
                return target  # check.py tells of it
            if os.path.splitext(path)[1] not in LANGUAGES:
                return None  # a folder, a licence
            self.names[path] = file_page(path)
            self.shown.append(path)
        return self.names[path] + ".html" + mark + fragment

    def _replace(self, source, match):
        target = self._target(source, match[3])
        if target is None:
            return match[2]
        return "%s[%s](%s)" % (match[1], match[2], target)

    def _read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def page(self, path):
        text = HEAD.sub("", self._read(path))
        title = re.match(r"# (.*)", text)[1]
        # Blocks of code stay as they are.
        parts = re.split(r"(^```.*?^```$)", text, flags=re.S | re.M)
        return "Title: %s\n\n%s" % (
            title,
            "".join(
                part if i % 2 else LINK.sub(lambda m: self._replace(path, m), part)
                for i, part in enumerate(parts)
            ),
        )

    def shown_page(self, path):
        name = os.path.basename(path)
        language = LANGUAGES[os.path.splitext(path)[1]]
        return "Title: %s\n\n# %s\n\n```%s\n%s```\n" % (
            name, name, language, self._read(path))
