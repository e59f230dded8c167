"""The bill of materials names everything that is pinned, with hashes, and is the same for the same files."""

from __future__ import annotations

import json
import re
import runpy
from typing import Any

from conftest import ROOT

sbom = runpy.run_path(str(ROOT / ".github/scripts/sbom.py"))["sbom"]


def test_every_pinned_package_is_named_with_its_hashes() -> None:
    made: dict[str, Any] = sbom(ROOT)
    assert json.dumps(made) == json.dumps(sbom(ROOT))
    named = {each["purl"]: each for each in made["components"] if "purl" in each}
    for lock in ("site", "bench", "test"):
        text = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
        pins = re.findall(r"(?m)^([\w.-]+)==([^\s;\\]+)", text)
        assert pins
        for name, version in pins:
            found = named[f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{version}"]
            assert found["externalReferences"][0]["hashes"], name
    assert named["pkg:pypi/mkdocs-material@9.8.1"]["scope"] == "required"
    assert any(purl.startswith("pkg:pypi/torch@") for purl in named)
    references = [each["bom-ref"] for each in made["components"]]
    assert len(references) == len(set(references))
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")


def test_what_the_site_ships_of_others_is_in_it() -> None:
    components = {each["name"]: each for each in sbom(ROOT)["components"]}
    assert components["Chart.js"]["licenses"] == [{"expression": "MIT"}]


def test_every_pin_has_a_hash_and_none_comes_from_elsewhere() -> None:
    for lock in ("site", "bench", "test"):
        text = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
        blocks = re.split(r"(?m)^(?=[\w.-]+==)", text)[1:]
        assert all("--hash=sha256:" in block for block in blocks)
        assert not re.search(r"(?m)^\s*(?:--index-url|--extra-index-url|--find-links|-e|git\+|https?:)", text)
