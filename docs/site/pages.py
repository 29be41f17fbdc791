# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes pages of the site from the Markdown files of the tree.

The links in these files are for a reader of the tree. This module changes them
to links to pages. A file with source code to which a guide links becomes a
page, too. Does not depend on the library.
"""

import os
import re

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[\])*)\]\(([^()\s]+)\)")
HEAD = re.compile(r"\A(?:<!--.*?-->\s*)+", re.S)
IMAGES = (".jpg", ".png", ".svg")
LANGUAGES = {".py": "python", ".c": "c"}


def file_page(path):
    """Returns the name of the page that shows the text of a file."""
    return "file-" + os.path.basename(path).replace(".", "-")


class Pages:
    """The pages, by file in the tree. Links in the guides add further pages."""

    def __init__(self, root, names, elsewhere):
        self.root = root
        self.names = dict(names)  # file in the tree -> page, without .md
        self.elsewhere = elsewhere  # file in the tree -> page made elsewhere
        self.images = []
        self.shown = []  # files whose text is a page

    def _target(self, source, target):
        """Returns the target of a link on the site. None: there is no such
        page, so the text of the link remains.
        """
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
                return target  # check.py reports it
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
        # Blocks of code are not changed.
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
