"""What a release is made of agrees with itself: versions, the changelog, the release notes."""

import pathlib
import re

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def read(path):
    return (REPOSITORY / path).read_text()


def version():
    return re.search(r'^\[workspace\.package\]\nversion = "(.*)"', read("Cargo.toml"), re.MULTILINE)[1]


def changelog():
    """Each version of the changelog with its sections: a heading and its entries."""
    parts = re.split(r"^## (.*)\n", read("CHANGELOG.md"), flags=re.MULTILINE)[1:]
    versions = {}
    for name, text in zip(parts[::2], parts[1::2]):
        sections = re.split(r"^### (.*)\n", text, flags=re.MULTILINE)[1:]
        versions[name] = dict(zip(sections[::2], sections[1::2]))
    return versions


def test_everything_that_is_published_has_the_same_version():
    told = {re.search(r"<artifactId>farcache-parent</artifactId>\s*<version>(.*)</version>", read("pom.xml"))[1]}
    for module in re.findall(r"<module>(.*)</module>", read("pom.xml")):
        told.add(re.search(r"<artifactId>farcache-parent</artifactId>\s*<version>(.*)</version>", read(f"{module}/pom.xml"))[1])
    assert told == {version()}
    for manifest in [*REPOSITORY.glob("crates/**/Cargo.toml"), *REPOSITORY.glob("bindings/*/**/Cargo.toml")]:
        assert re.search(r"^version(\.workspace = true| = \{ workspace = true \})$", manifest.read_text(), re.MULTILINE), manifest


def test_the_changelog_can_be_tagged_as_it_is():
    """A tag needs nothing but another heading: sections as Keep a Changelog has them, and entries that are finished."""
    versions = changelog()
    assert versions
    for name, sections in versions.items():
        assert list(sections) == [kind for kind in ("Added", "Changed", "Fixed") if kind in sections], name
        for kind, text in sections.items():
            assert text.strip().startswith(("- ", "The server:")), (name, kind)
            for unfinished in ("othing uses it yet", "No server follows", "No request of a client reaches", "TODO"):
                assert unfinished not in text, (name, kind, unfinished)


def test_the_version_has_release_notes():
    short = ".".join(version().split(".")[:2])
    notes = read(f"docs/releases/{short}.md")
    assert notes.startswith(f"# Farcache {short}\n")
    for page in ("README.md", "CHANGELOG.md"):
        assert f"docs/releases/{short}.md" in read(page), page


def links(path):
    """The files that a page links to, without those elsewhere and without headings."""
    found = re.findall(r"\]\(([^)#\s]+)(?:#[\w-]*)?\)", re.sub(r"```.*?```", "", read(path), flags=re.DOTALL))
    return [link for link in found if "://" not in link]


def test_links_of_the_pages_lead_somewhere():
    pages = [page for page in REPOSITORY.glob("*.md")]
    for folder in ("docs", "bench", "dashboards", "bindings", "integrations"):
        pages += [page for page in (REPOSITORY / folder).rglob("*.md") if "node_modules" not in page.parts]
    assert len(pages) > 40
    for page in pages:
        path = page.relative_to(REPOSITORY)
        missing = [link for link in links(path) if not (page.parent / link).exists()]
        assert missing == [], path
