"""What a page of HTML says: cells of tables, what is bold, code, items of lists."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "meta", "link", "img", "hr"}


@dataclass
class Page:
    """What was read."""

    rows: list[list[str]] = field(default_factory=list)
    bold: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    text: str = ""

    @classmethod
    def of(cls, html: str) -> Page:
        reader = _Reader()
        reader.feed(html)
        reader.close()
        assert not reader.open, f"never closed: {reader.open}"
        return reader.page


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.page.tags.append(tag)
        given = dict(attrs)
        self.page.classes += (given.get("class") or "").split() if tag == "tr" else []
        self.page.titles += [given["title"] or ""] if "title" in given else []
        self.page.addresses += [given[name] or "" for name in ("src", "href") if name in given]
        if tag == "br":
            self.handle_data("\n")
        if tag in VOID:
            return
        self.open.append(tag)
        if tag == "tr":
            self.page.rows.append([])
        elif tag in ("th", "td"):
            self.page.rows[-1].append("")
        elif tag in ("b", "strong"):
            self.page.bold.append("")
        elif tag == "code":
            self.page.code.append("")
        elif tag == "li":
            self.page.items.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        assert self.open, f"</{tag}> was never opened"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.page.text += data
        if {"th", "td"} & set(self.open):
            self.page.rows[-1][-1] += data
        if {"b", "strong"} & set(self.open):
            self.page.bold[-1] += data
        if "code" in self.open:
            self.page.code[-1] += data
        if "li" in self.open:
            self.page.items[-1] += data
