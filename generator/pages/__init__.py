"""Pages: authored Markdown and its expressions become the Markdown of one language.

Takes the folder of the project. Returns an `Edition` per language, with its pages and generated files, and renders
again only what changed. Call `guide.guide_of`.
"""
