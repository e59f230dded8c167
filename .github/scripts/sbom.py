"""Write the software bill of materials in CycloneDX 1.6: pinned packages with hashes, and what the site ships.

Takes the lock files and the list of licences; prints JSON that depends on nothing else.

    make sbom
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("site", "bench", "test", "torch")
"""Lock files in requirements/: the first is needed to publish, the others to measure and to test."""

_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def main() -> None:
    """Print the document."""
    json.dump(sbom(ROOT), sys.stdout, indent=1, ensure_ascii=False)
    print()


def sbom(root: Path) -> dict[str, Any]:
    """Return the document."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    components = {each["bom-ref"]: each for lock in reversed(LOCKS) for each in packages(root, lock)}
    components |= {each["bom-ref"]: each for each in shipped(root)}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": project["name"],
                "name": project["name"],
                "version": project["version"],
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": [components[name] for name in sorted(components)],
    }


def packages(root: Path, lock: str) -> Iterator[dict[str, Any]]:
    """Yield the packages that a lock file pins, with a hash for each of a package's files."""
    text = (root / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
    pins = list(_PIN.finditer(text))
    for pin, after in zip(pins, [*pins[1:], None], strict=True):
        name, version = re.sub(r"[-_.]+", "-", pin[1]).lower(), pin[2]
        hashes = _HASH.findall(text, pin.end(), after.start() if after else len(text))
        yield {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{version}",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name}@{version}",
            "scope": "required" if lock == "site" else "optional",
            "externalReferences": [
                {
                    "type": "distribution",
                    "url": f"https://pypi.org/project/{name}/{version}/",
                    "hashes": [{"alg": "SHA-256", "content": each} for each in hashes],
                }
            ],
            "properties": [{"name": "lock", "value": f"requirements/{lock}.txt"}],
        }


def shipped(root: Path) -> Iterator[dict[str, Any]]:
    """Yield the components of other projects that the site ships."""
    listed = tomllib.loads((root / "docs/assets/licences.toml").read_text(encoding="utf-8"))["shipped"]
    for each in listed[1:]:  # the first one is the project
        yield {
            "type": "library",
            "bom-ref": f"shipped:{each['name']}",
            "name": each["name"],
            **({"version": each["version"]} if "version" in each else {}),
            "copyright": each["copyright"],
            "licenses": [{"expression": each["licence"]}],
        }


if __name__ == "__main__":
    main()
