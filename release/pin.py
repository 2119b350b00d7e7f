"""Makes the commit that a release tag names: `python -m release.pin v1.2.3 IMAGE@sha256:... SHA256SUMS`.

The commit differs from the tagged one in two files: `action.yml` names the image by its digest, and
`composite/wheel.txt` the wheel by its. The tag and the tag of its major version move to the commit; the workflow pushes
them. An image that was not built from the tagged commit is refused.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from release.check import faults, git, project

PLATFORMS = ("linux/amd64", "linux/arm64")


def mismatches(labels: Mapping[str, Mapping[str, str]], version: str, commit: str) -> Iterator[str]:
    """Yield what the labels of an image, by platform, say against its being this version of this commit."""
    if sorted(labels) != sorted(PLATFORMS):
        yield f"the image is for {', '.join(sorted(labels)) or 'no platform'}; expected {', '.join(PLATFORMS)}"
    for platform, own in sorted(labels.items()):
        for name, expected in (("version", version), ("revision", commit)):
            if (found := own.get(f"org.opencontainers.image.{name}")) != expected:
                yield f"the image for {platform} has the {name} {found}; expected {expected}"


def inspected(image: str, form: str) -> dict[str, Any]:
    """Return what skopeo reads of an image in a registry: `--raw`, its manifest, or `--config`."""
    command = ["skopeo", "inspect", form, f"docker://{image}"]
    answer: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return answer


def labels_of(image: str) -> dict[str, dict[str, str]]:
    """Return the labels of each platform's image in an index, as the registry has them."""
    name = image.partition("@")[0]
    labels = {}
    for one in inspected(image, "--raw").get("manifests", ()):
        platform = f"{one['platform']['os']}/{one['platform']['architecture']}"
        if platform != "unknown/unknown":  # an attestation of BuildKit
            config = inspected(f"{name}@{one['digest']}", "--config")["config"]
            labels[platform] = config.get("Labels") or {}
    return labels


def pinned(action: str, image: str) -> str:
    """Return action.yml with an image instead of the Dockerfile. Raises ValueError if the image has no digest."""
    if not re.fullmatch("[a-z0-9.:-]+(/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}", image):
        raise ValueError(f"{image}: expected REGISTRY/NAME@sha256: and 64 hexadecimal digits")
    return re.sub("^  image: Dockerfile$", f"  image: docker://{image}", action, flags=re.MULTILINE)


def wheel(sums: str, name: str, version: str) -> str:
    """Return the line of a requirements file for the wheel in SHA256SUMS. Raises ValueError if there is none."""
    found = re.search(r"^([0-9a-f]{64})  \S+\.whl$", sums, re.MULTILINE)
    if found is None:
        raise ValueError("SHA256SUMS: expected a line for the wheel")
    return f"{name}=={version} --hash=sha256:{found[1]}\n"


def main() -> int:
    """Commit and tag. Returns 1 and prints why if the tree or the image is not the release."""
    tag, image, sums = sys.argv[1:4]
    root = Path.cwd()
    facts = project(root)
    wrong = [*faults(root, tag, "")]
    if (head := git(root, "rev-parse", "HEAD")) != git(root, "rev-parse", f"{tag}^{{commit}}"):
        wrong.append(f"{tag} is not the commit that is checked out, {head}")
    try:
        action = pinned((root / "action.yml").read_text("utf-8"), image)
        requirement = wheel(Path(sums).read_text("utf-8"), facts["name"], facts["version"])
    except ValueError as error:
        wrong.append(str(error))
    try:
        wrong += mismatches(labels_of(image), facts["version"], head) if not wrong else []
    except subprocess.CalledProcessError:
        wrong.append(f"{image} cannot be read in its registry; log in, or wait until it is pushed")
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    if wrong:
        return 1
    (root / "action.yml").write_text(action, "utf-8")
    (root / "composite").mkdir(exist_ok=True)
    (root / "composite/wheel.txt").write_text(requirement, "utf-8")
    git(root, "add", "action.yml", "composite/wheel.txt")
    git(root, "commit", "--quiet", "--message", f"Pin the image and the wheel of {tag}")
    for name in (tag, tag.partition(".")[0]):
        git(root, "tag", "--force", "--annotate", "--message", f"SAFE Gate {tag}", name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
