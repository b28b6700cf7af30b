"""The app: ``panel serve app.py``."""

from marginalia.ui.app import extension, page

extension()
page().servable()
