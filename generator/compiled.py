"""Compiled templates on disk: compiling those of a page takes a third of a second in each process.

Environments take `CompiledTemplates` as their ``bytecode_cache``.
"""

from __future__ import annotations

import jinja2
from jinja2.bccache import Bucket

from generator.cache import Cache, digest

_CODE = Cache("templates", ".code")


class CompiledTemplates(jinja2.BytecodeCache):
    """The code of templates, by their path and content. Environments that share a template must be set up alike."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take the code of a template, if there is any."""
        if code := _CODE.read(_key(bucket)):
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a template."""
        _CODE.write(_key(bucket), bucket.bytecode_to_string())


def _key(bucket: Bucket) -> str:
    return digest(jinja2.__version__, bucket.key, bucket.checksum)
