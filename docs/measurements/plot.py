#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a results.jsonl of benchmarks/run.sh as a bar chart.

usage: plot.py RESULTS.jsonl [-o FILE.svg] [--title TEXT] [--ours TEXT] [--only TEXT...]

Each name of the file becomes a group of bars: ours, and one bar for each baseline that it was measured beside. Each unit
becomes a chart of its own, with a scale that begins at 0. A dashed line shows a target. --ours is the name of our bars in
the legend. --only keeps the names that contain one of the texts. Without -o the SVG goes to stdout. The SVG has no
background, and its text has the colour of the page (currentColor; as a file of its own black, or light on dark screens),
so it can be read on light and dark pages. Needs Python 3.9 and nothing else."""
import argparse
import json
import sys
from xml.sax.saxutils import escape

WIDTH, LABELS, VALUES = 860, 210, 70  # of the picture; of what stands left and right of the bars
BAR, GAP, GROUP_GAP, HEAD = 15, 3, 14, 30
COLOURS = ["#3b7dd8", "#9a9a9a", "#d18b2c", "#3f9d63", "#a566b8", "#c2564b"]  # ours, then baselines in their order
STYLE = ("text{fill:currentColor}.v{font-size:12px}.b{font-weight:600}line{stroke:currentColor}"
         "svg{color:#222}@media(prefers-color-scheme:dark){svg{color:#ddd}}")


def read(path, only, ours):
    """{unit: {name: {whose: value}}} and {(name, baseline name): target value}, in the order of the file."""
    charts, targets = {}, {}
    with open(path, encoding="utf-8") as file:
        for line in map(json.loads, filter(str.strip, file)):
            name = line["name"]
            if only and not any(text in name for text in only):
                continue
            group = charts.setdefault(line["unit"], {}).setdefault(name, {})
            group[ours] = line["ours"]
            if line["baseline"] is not None:
                group[line["baseline_name"]] = line["baseline"]
                if line["target"] is not None:
                    targets[name, line["baseline_name"]] = line["target"] * line["baseline"]
    return charts, targets


def better(unit):
    if unit.endswith("/s"):
        return ", more is better"
    return ", less is better" if unit in ("us", "ms", "s", "CPU s", "s/GB") else ""


def rounded(value):
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


class Picture:
    def __init__(self):
        self.parts, self.height = [], 8

    def text(self, x, y, words, style="", anchor="start"):
        style = f' class="{style}"' if style else ""
        self.parts.append(f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{style}>{escape(words)}</text>')

    def bar(self, y, length, colour):
        self.parts.append(f'<rect x="{LABELS}" y="{y}" width="{max(length, 1):.1f}" height="{BAR}" fill="{colour}"/>')

    def legend(self, colours, names):
        x = LABELS
        for whose in names:
            self.parts.append(f'<rect x="{x}" y="{self.height + 3}" width="10" height="10" fill="{colours[whose]}"/>')
            self.text(x + 15, self.height + 13, whose, "v")
            x += 35 + 7 * len(whose)
        self.height += HEAD - 6

    def chart(self, unit, groups, targets, colours):
        self.height += HEAD - 14
        self.text(LABELS, self.height, unit + better(unit), "b")
        self.height += 8
        names = [whose for whose in colours if any(whose in group for group in groups.values())]
        self.legend(colours, names)
        goals = [value for (name, _), value in targets.items() if name in groups]
        most = max([value for group in groups.values() for value in group.values()] + goals) or 1
        scale = (WIDTH - LABELS - VALUES) / most
        for name, group in groups.items():
            begin = self.height
            for whose in names:
                if whose in group:
                    self.bar(self.height, group[whose] * scale, colours[whose])
                    self.text(LABELS + group[whose] * scale + 6, self.height + 12, rounded(group[whose]), "v")
                    self.height += BAR + GAP
            self.text(LABELS - 8, (begin + self.height) / 2 + 3, name, anchor="end")
            for goal in sorted({value for (of, _), value in targets.items() if of == name}):
                x = LABELS + goal * scale
                self.parts.append(f'<line x1="{x:.1f}" y1="{begin - 2}" x2="{x:.1f}" y2="{begin + BAR + 2}" '
                                  'stroke-dasharray="3 2"/>')
            self.height += GROUP_GAP

    def finish(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
                f'font-family="system-ui,sans-serif" font-size="13">\n<style>{STYLE}</style>\n'
                + "\n".join(self.parts) + "\n</svg>\n")


def draw(charts, targets, ours, title):
    picture = Picture()
    if title:
        picture.text(LABELS, 20, title, "b")
        picture.height = 24
    baselines = dict.fromkeys(whose for groups in charts.values() for group in groups.values() for whose in group)
    order = [ours, *(whose for whose in baselines if whose != ours)]
    colours = {whose: COLOURS[i % len(COLOURS)] for i, whose in enumerate(order)}
    for unit, groups in charts.items():
        picture.chart(unit, groups, targets, colours)
    return picture.finish()


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("results")
    parser.add_argument("-o", "--output")
    parser.add_argument("--title", default="")
    parser.add_argument("--ours", default="ours")
    parser.add_argument("--only", nargs="+", default=[])
    arguments = parser.parse_args()
    charts, targets = read(arguments.results, arguments.only, arguments.ours)
    if not charts:
        sys.exit(f"error: {arguments.results} has no line to draw")
    svg = draw(charts, targets, arguments.ours, arguments.title)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(svg)
    else:
        sys.stdout.write(svg)


if __name__ == "__main__":
    main()
