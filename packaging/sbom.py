"""Writes the list of components (SBOM, SPDX 2.3 in JSON) of programs that a build has linked, from what it did: the maps
of the linker name the static libraries of which members were taken, and ninja the headers that were compiled in. The
packages of these files, their versions and their copyright are dpkg's, or those of the files .deb that ./dev has unpacked
for another machine.

usage: sbom.py BUILD NAME VERSION COMMIT DATE OUTPUT [--licences FOLDER] [--files FILE...]
"""
import argparse
import hashlib
import json
import re
import subprocess
from pathlib import Path

# By the source package of Debian.
LICENCES = {
    "aec": "BSD-2-Clause", "libaec": "BSD-2-Clause", "cli11": "BSD-3-Clause", "eigen3": "MPL-2.0", "fmtlib": "MIT",
    "glibc": "LGPL-2.1-or-later", "hdf5": "BSD-3-Clause", "libjpeg-turbo": "IJG AND BSD-3-Clause AND Zlib",
    "libpng1.6": "libpng-2.0", "libzstd": "BSD-3-Clause", "nlohmann-json3": "MIT", "zlib": "Zlib",
    "python3.11": "PSF-2.0", "nanobind": "BSD-3-Clause",
    "cross-toolchain-base": "LGPL-2.1-or-later",  # glibc, for another machine
}  # fmt: skip
GCC = "GPL-3.0-or-later WITH GCC-exception-3.1"


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def linked_files(build):
    """The libraries of the system and of the compiler whose members are part of a program, and compiled headers."""
    found = set()
    for map_file in build.rglob("*.map"):
        found |= {name for name in re.findall(r"^(\S+\.a)\(", map_file.read_text(errors="replace"), re.M)}
        found |= {name for name in re.findall(r"^LOAD (/\S+\.o)$", map_file.read_text(errors="replace"), re.M)}
    taken = False
    for line in run("ninja", "-C", str(build), "-t", "deps").splitlines():
        if line.startswith("    ") and taken:
            found.add(line.strip())
        elif line and not line.startswith("    "):  # an object: not one of programs that are linked dynamically
            taken = not re.match(r"tests/|\S*kith-(mpi|arrow)\.dir", line)
    return {(build / name).resolve() for name in found}


def packages_of(build, files):
    """{package: (source, version)} of dpkg; and of what ./dev and pip have unpacked."""
    names = sorted(str(file) for file in files)
    found = {}
    root = str(build.resolve() / "sysroot/")
    unpacked = {"." + name.removeprefix(root) for name in names if name.startswith(root)}
    for file in sorted(build.glob("apt/debs/*.deb")):
        if unpacked & {line.split()[5] for line in run("dpkg-deb", "--contents", file).splitlines()}:
            package, *source = run("dpkg-deb", "--show", "--showformat", "${Package} ${source:Package} ${source:Version}",
                                   file).split()  # fmt: skip
            found[package] = tuple(source)
    installed = {}
    # Debian has moved /lib into /usr: dpkg knows some files by the old name.
    both = names + [name.removeprefix("/usr") for name in names if name.startswith("/usr/lib")]
    owners = subprocess.run(["dpkg-query", "-S", *both], capture_output=True, text=True).stdout
    for line in owners.splitlines():
        for package in line.split(": ")[0].split(", "):
            installed.setdefault(package, None)
    for package in installed:
        source, version = run("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package).split()
        found[package] = (source, version)
    for name in names:
        if match := re.match(r"(.*/site-packages)/nanobind/", name):
            version = next(Path(match[1]).glob("nanobind-*.dist-info")).name[len("nanobind-"):-len(".dist-info")]
            found["nanobind"] = ("nanobind", version)
    return found


def main():
    parser = argparse.ArgumentParser()
    for name in ("build", "name", "version", "commit", "date", "output"):
        parser.add_argument(name)
    parser.add_argument("--licences")
    parser.add_argument("--files", nargs="*", default=[])
    given = parser.parse_args()
    sources = {}
    for package, (source, version) in sorted(packages_of(Path(given.build), linked_files(Path(given.build))).items()):
        sources.setdefault((source, version), []).append(package)
    described = [{
        "SPDXID": "SPDXRef-kith", "name": given.name, "versionInfo": given.version, "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
        "copyrightText": "The authors of kith", "sourceInfo": f"built from the commit {given.commit}",
    }]  # fmt: skip
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-kith")]
    for (source, version), packages in sorted(sources.items()):
        if source.startswith("linux"):  # only the numbers of system calls
            continue
        licence = GCC if source.startswith("gcc") else LICENCES.get(source, "NOASSERTION")
        identity = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", source)
        where = f"pkg:pypi/{source}@{version}" if source == "nanobind" else f"pkg:deb/debian/{source}@{version}?arch=source"
        described.append({
            "SPDXID": identity, "name": source, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": licence,
            "copyrightText": "NOASSERTION", "comment": "packages: " + " ".join(sorted(packages)),
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": where.replace("+", "%2B").replace(":", "%3A").replace("pkg%3A", "pkg:")}],
        })  # fmt: skip
        relations.append(("SPDXRef-kith", "STATIC_LINK" if any_library(packages) else "DEPENDS_ON", identity))
        if given.licences:
            for package in packages:
                copyright_file = Path("/usr/share/doc", package.split(":")[0], "copyright")
                if copyright_file.exists():
                    Path(given.licences).mkdir(parents=True, exist_ok=True)
                    Path(given.licences, source).write_bytes(copyright_file.read_bytes())
                    break
    files = []
    for i, file in enumerate(given.files):
        sums = {kind: hashlib.new(kind, Path(file).read_bytes()).hexdigest() for kind in ("sha1", "sha256")}
        files.append({"SPDXID": f"SPDXRef-File-{i}", "fileName": "./" + Path(file).name,
                      "checksums": [{"algorithm": kind.upper(), "checksumValue": value} for kind, value in sums.items()],
                      "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"})  # fmt: skip
        relations.append((f"SPDXRef-File-{i}", "GENERATED_FROM", "SPDXRef-kith"))
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{given.name}-{given.version}",
        "documentNamespace": f"https://kith.example.org/spdx/{given.name}-{given.version}-{given.commit}",
        "creationInfo": {"created": given.date, "creators": ["Tool: kith-packaging/sbom.py"]},
        "packages": described, "files": files,
        "relationships": [dict(zip(("spdxElementId", "relationshipType", "relatedSpdxElement"), relation))
                          for relation in relations],
    }  # fmt: skip
    Path(given.output).write_text(json.dumps(document, indent=1) + "\n")
    print(f"{given.output}: {len(described) - 1} components")


def any_library(packages):
    """Whether code of the packages is linked, and not only headers are compiled."""
    return not all(package.split(":")[0] in ("libeigen3-dev", "libcli11-dev", "nlohmann-json3-dev") for package in packages)


if __name__ == "__main__":
    main()
