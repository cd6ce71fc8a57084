#!/usr/bin/env python3
"""docs/files.md: every file of the product, its lines and the sentence that it opens with.

    files_page.py ROOT [--write]

Without --write, says where the page and the tree differ, and exits 1 if they do. Numbers of lines may differ by a tenth,
so that small changes of a file leave the page as it is.
"""
import os
import re
import sys

FOLDERS = ["app", "core", "data", "kernels", "library", "pictures", "python"]
LONG, SHORT = 140, 20  # a longer sentence is cut behind its first part, which has at least so many letters
HEAD = """# Every file, and what it is for

The product, file by file: its lines, comments and empty ones included, and the sentence that the file opens with.
`python3 tests/project/files_page.py . --write` writes this page, and a test compares it with the tree.
[architecture.md](architecture.md) says how the folders depend on each other.
"""


def sentence_of(text):
    """The first sentence of the comment or docstring at the beginning of a file; empty if there is none."""
    text = re.sub(r"\A#!.*\n", "", text)
    docstring = re.match(r'\s*"""(.*?)"""', text, re.S)
    if docstring:
        comment = docstring.group(1).strip().split("\n\n")[0]
    else:
        lines = []
        for line in text.splitlines():
            found = re.match(r"(?://|#(?!include|pragma|if|define))\s?(.*)", line)
            if found is None:
                break
            if lines and not found.group(1).strip():
                break
            lines.append(found.group(1).strip())
        comment = " ".join(lines)
    comment = " ".join(comment.split())
    end = re.search(r"\.(?=\s+[A-Z`]|\s*$)", comment)
    sentence = comment[: end.start()] if end else comment
    if len(sentence) > LONG:
        part = re.search(r"[;:] ", sentence[SHORT:])
        sentence = sentence[: SHORT + part.start()] if part else sentence
    return sentence.strip()


def product(root):
    """{path: (lines, sentence)} of all files."""
    files = {}
    for folder in FOLDERS:
        for path, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = [name for name in folders if name != "__pycache__"]
            for name in names:
                if name.startswith(".") or name.endswith((".so", ".pyc", "py.typed")):
                    continue
                file = os.path.join(path, name)
                with open(file, encoding="utf-8") as text:
                    content = text.read()
                files[os.path.relpath(file, root)] = (content.count("\n"), sentence_of(content))
    return files


def page_of(files):
    by_folder = {}
    for path in sorted(files):
        by_folder.setdefault(os.path.dirname(path), []).append(path)
    text = HEAD
    for folder, paths in sorted(by_folder.items()):
        lines = sum(files[path][0] for path in paths)
        text += f"\n## {folder}\n\n{len(paths)} files, {lines} lines.\n\n| file | lines | for |\n|---|---|---|\n"
        for path in paths:
            sentence = files[path][1].replace("|", "\\|")
            text += f"| {os.path.basename(path)} | {files[path][0]} | {sentence} |\n"
    return text


def listed_on(page):
    """{path: (lines, sentence)} of all rows of the page."""
    files, folder = {}, ""
    for line in page.splitlines():
        if line.startswith("## "):
            folder = line[3:]
        row = re.match(r"\| ([^|]+) \| (\d+) \| (.*) \|$", line)
        if row:
            files[f"{folder}/{row[1]}"] = (int(row[2]), row[3].replace("\\|", "|"))
    return files


def differences(files, listed):
    for path in sorted(files.keys() | listed.keys()):
        if path not in listed:
            yield f"{path} is not listed"
        elif path not in files:
            yield f"{path} is listed, and does not exist"
        else:
            (lines, sentence), (listed_lines, listed_sentence) = files[path], listed[path]
            if not sentence:
                yield f"{path} does not begin with a sentence that says what it is for"
            elif sentence != listed_sentence:
                yield f"{path} begins with '{sentence}', and is listed as '{listed_sentence}'"
            elif abs(lines - listed_lines) > max(10, lines // 10):
                yield f"{path} has {lines} lines, and is listed with {listed_lines}"


def main():
    root = sys.argv[1]
    page = os.path.join(root, "docs", "files.md")
    files = product(root)
    if sys.argv[2:] == ["--write"]:
        with open(page, "w", encoding="utf-8") as text:
            text.write(page_of(files))
        return
    with open(page, encoding="utf-8") as text:
        found = list(differences(files, listed_on(text.read())))
    for line in found:
        print(line)
    if found:
        sys.exit("docs/files.md is not that of this tree; run python3 tests/project/files_page.py . --write")


main()
