"""The app in the browser. The only place that knows Panel and Bokeh."""
