"""For MkDocs: pages that lie outside of docs/ become part of the site, and links to source files become plain text.

Links in the Markdown files are relative to the file, as a repository's viewer wants them. On the site docs/X.md is X.md, and pages outside
of docs/ keep their path in the repository.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

REPOSITORY = Path(__file__).parents[1]
OUTSIDE = {  # path on the site: path in the repository
    "index.md": "README.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "compat_tests/KNOWN_GAPS.md": "compat_tests/KNOWN_GAPS.md",
    **{f"benchmarks/{name}.md": f"benchmarks/{name}.md" for name in ("README", "RESULTS", "PUBLIC_PROGRAMS")},
    **{
        f"benchmarks/plots/{path.name}": f"benchmarks/plots/{path.name}"
        for path in (REPOSITORY / "benchmarks" / "plots").glob("*.png")
    },
}
_REASON = re.compile(r'(?m)^(```python) title="not run: .*"$')  # for the tests
_IMAGE = re.compile(r"(!\[[^\]]*\]\(|<img src=\")docs/(?=assets/)")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!\w+:)([^)#\s]*)(#[^)\s]*)?\)")


def on_files(files, config):
    for site, path in OUTSIDE.items():
        files.append(File.generated(config, site, abs_src_path=str(REPOSITORY / path)))
    return files


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri
    source = OUTSIDE.get(here, f"docs/{here}")  # in the repository
    on_site = {path: site for site, path in OUTSIDE.items()}

    def link(found):
        text, target, anchor = found[1], found[2], found[3] or ""
        if not target:
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        site = path[len("docs/") :] if path.startswith("docs/") else on_site.get(path)
        if site is None:
            if not (REPOSITORY / path).exists():
                raise FileNotFoundError(f"{source} links to {target}, and {path} does not exist")
            return text if "`" in text else f"`{path}`"
        return f"[{text}]({posixpath.relpath(site, posixpath.dirname(here) or '.')}{anchor})"

    markdown = _REASON.sub(r"\1", markdown)
    return _LINK.sub(link, _IMAGE.sub(r"\1", markdown) if "/" not in source else markdown)
