"""The family of a model, read from its name: ``vit`` for vit_base_patch16_224.

`family_slug` takes the label of a model; `slugify` takes any text and returns one that is safe in addresses and as a
file name.
"""

from __future__ import annotations

import re
from functools import cache

_MAX_SLUG = 80

_VARIANT = r"(?:tf|legacy|eca|ese|dm|gc|bat)_"
"""Begins the names of variants of another family's models: the origin of their weights, or an addition."""

_FAMILY = re.compile(rf"(?:{_VARIANT})?([^\W\d_]+?(?:\d[^\W\d_]{{3,}})?)(?=v?\d|[\W_]|$)")


def slugify(text: str) -> str:
    """Return `text` in lower-case ASCII letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_MAX_SLUG].rstrip("-")


@cache
def family_slug(label: str) -> str:
    """Return the slug of the family of a model: ``vit`` for vit_base_patch16, ``mobilenet`` for mobilenetv3_small,
    ``res2net`` for res2net50, ``efficientnet`` for tf_efficientnet_b0."""
    beginning = _FAMILY.match(label.lower())
    return slugify(beginning[1] if beginning else label) or "others"
