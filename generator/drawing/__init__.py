"""Drawing: shapes and words become pictures of one language, whatever they mean.

Takes marks, texts and fonts. Returns SVG for charts, and PNG for social cards. Call `plot.draw`.
"""
