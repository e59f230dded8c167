"""Placeholder until the helper's branch."""
from typing import Any
from material.plugins.search.plugin import SearchIndex as MaterialIndex
def settings(code): 
    return {"lang": ["en"], "separator": r"[\s\-]+", "pipeline": ["stopWordFilter"]}
class SearchIndex(MaterialIndex):
    def __init__(self, language, **config):
        super().__init__(**config)
    def _segment_chinese(self, data): return data
