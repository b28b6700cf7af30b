"""Colour and type of the app: a quiet book. Every component takes its colours from here."""

from __future__ import annotations

from typing import Any

_SANS = '"Inter", system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif'

_LIGHT: dict[str, Any] = {
    "primary": {"main": "#8a3b2e", "contrastText": "#fffaf4"},
    "error": {"main": "#a3261b"},
    "success": {"main": "#487347"},
    "background": {"default": "#f5f0e7", "paper": "#fbf8f2"},
    "text": {"primary": "#2a2521", "secondary": "#675d54"},
    "divider": "rgba(60, 45, 30, 0.15)",
}
_DARK: dict[str, Any] = {
    "primary": {"main": "#dd9a80", "contrastText": "#2a1d17"},
    "error": {"main": "#ee8f80"},
    "success": {"main": "#8fb98a"},
    "background": {"default": "#1f1c19", "paper": "#26231f"},
    "text": {"primary": "#e4dccf", "secondary": "#a99f92"},
    "divider": "rgba(235, 220, 200, 0.14)",
}
_SHEET: dict[str, Any] = {
    "top": "auto !important",
    "bottom": 0,
    "width": "100% !important",
    "height": "84vh !important",
    "borderRadius": "16px 16px 0 0",
}
_FRAME: dict[str, Any] = {
    # Sides that are drawers stand outside the page's own element, so their rules are the theme's.
    "components": {
        "MuiDrawer": {
            "styleOverrides": {
                "paper": {
                    "backgroundImage": "none",
                    "backgroundColor": "var(--mui-palette-background-default)",
                    "border": "0 !important",
                    "&.sidebar": {"@media (max-width: 500px)": {"width": "min(86vw, 340px) !important"}},
                    "&.contextbar": {"@media (max-width: 500px)": _SHEET},
                },
                # A drawer lies over the head, so it needs no room for it.
                "modal": {"& .MuiToolbar-root": {"display": "none"}},
            },
        },
    },
    "typography": {"fontFamily": _SANS, "fontSize": 13},
    "shape": {"borderRadius": 8},
    # Below 900 pixels the sides become drawers: the page asks for the breakpoint "sm".
    "breakpoints": {"values": {"xs": 0, "sm": 900, "md": 1100, "lg": 1300, "xl": 1600}},
}

THEME: dict[str, Any] = {
    "light": {"palette": _LIGHT, **_FRAME},
    "dark": {"palette": _DARK, **_FRAME},
}


def ground(*, dark: bool) -> dict[str, str]:
    """The colours that a page begins with, before the theme is there: paper, ground, ink and rule."""
    palette = _DARK if dark else _LIGHT
    return {
        "paper": palette["background"]["paper"],
        "ground": palette["background"]["default"],
        "ink": palette["text"]["primary"],
        "rule": palette["divider"],
    }


_HAIRLINE = "1px solid var(--mui-palette-divider)"

#: The page's own rules: a flat head, sides that are part of the paper, the inspector as a sheet below 500 pixels.
PAGE_SX: dict[str, Any] = {
    "& .header": {
        "display": "var(--mg-head, flex)",  # focus shows nothing but the text
        "backgroundColor": "var(--mui-palette-background-paper)",
        "backgroundImage": "none",
        "color": "var(--mui-palette-text-primary)",
        "boxShadow": "none",
        "borderBottom": _HAIRLINE,
    },
    "& .header .title": {
        "color": "var(--mui-palette-text-secondary)",
        "fontFamily": 'Charter, "Iowan Old Style", Georgia, "Liberation Serif", serif',
        "fontStyle": "italic",
        "fontSize": "17px",
        "fontWeight": 400,
        "marginRight": "14px",
    },
    "& .header a:has(.title)": {"@media (max-width: 600px)": {"display": "none !important"}},
    "& .header .MuiToolbar-root > .MuiBox-root": {"minWidth": 0},  # a long title is shortened, not the bar
    "& .header .MuiLinearProgress-root": {"display": "none"},  # what takes long says so in its own place
    "& .header .MuiToolbar-root": {"@media (max-width: 600px)": {"padding": "0 8px 0 12px"}},
    "& .header .MuiIconButton-root": {
        "@media (max-width: 600px), (pointer: coarse)": {"margin": 0, "padding": "9.5px"}
    },
    "& .MuiToolbar-root": {"minHeight": "52px !important"},
    "& .main .MuiToolbar-root, & nav .MuiToolbar-root": {"display": "var(--mg-head, flex)"},
    "& .sidebar, & .contextbar": {
        "backgroundColor": "var(--mui-palette-background-default)",
        "backgroundImage": "none",
        "border": "0 !important",
    },
}

#: Kinds of a budget's shares, with colours that read on light and on dark paper.
SHARE_COLOURS: dict[str, str] = {
    "jailbreak": "#8a5a3c",
    "system": "#7a7269",
    "lore": "#b98a2f",
    "summaries": "#7d6a9c",
    "story": "#4f7f8c",
    "placeholders": "#86a5ac",
    "inserts": "#4c8a76",
    "reserve": "#7fa997",
    "foreign": "#96649b",
    "user_lore": "#d0a95a",
    "request": "#a9503f",
    "margin": "#a89f94",
    "safety": "#bdb5aa",
    "response": "#6d8f5e",
    "free": "rgba(128, 118, 106, 0.18)",
}
