# SPDX-License-Identifier: LGPL-2.1-or-later
"""Finds broken links between the pages of a folder with HTML.

Does not depend on how the pages were made. Links to other sites are not
checked.
"""

import html.parser
import os
import urllib.parse


class Page(html.parser.HTMLParser):
    """The links and images of a page, and the anchors that a link can name."""

    def __init__(self, path):
        super().__init__()
        self.links, self.places = [], set()
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.places.update(
            attributes[key] for key in ("id", "name") if attributes.get(key)
        )
        for key in ("href", "src"):
            if attributes.get(key):
                self.links.append(attributes[key])


def broken_links(folder):
    """Returns a message for each broken link."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".html"))
    pages = {name: Page(os.path.join(folder, name)) for name in names}
    faults = []
    for name, page in pages.items():
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = urllib.parse.unquote(url.path) or name
            if not os.path.exists(os.path.join(folder, target)):
                faults.append("%s: there is no %s" % (name, target))
            elif url.fragment and target in pages:
                if urllib.parse.unquote(url.fragment) not in pages[target].places:
                    faults.append("%s: there is no %s" % (name, link))
    return sorted(set(faults))
