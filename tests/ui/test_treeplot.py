"""The picture of the tree: what stands beside it, and when."""

from __future__ import annotations

from dataclasses import replace

from marginalia.story.drawing import Drawing
from marginalia.ui.treeplot import TreePlot


def test_the_map_stands_beside_a_large_tree_only() -> None:
    plot = TreePlot(pointed=print, tapped=print, double_tapped=print)
    small, large = Drawing(), replace(Drawing(), rows=5_000)
    shown: list[bool] = []
    for drawing in (small, large, replace(large, rows=6_000), small):
        plot.draw(drawing, ())
        shown.append(plot.map in list(plot.layout))
    assert shown == [False, True, True, False]
