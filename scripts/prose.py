# SPDX-License-Identifier: Apache-2.0
"""Words and phrases that make the project's prose hard to read, and the comments and documents in
which check_style.py looks for them. docs/glossary.md and CONTRIBUTING.md say what to write instead.
"""

import io
import re
import tokenize

# The words for people, after which the relative pronoun of people is right.
PEOPLE = (r"(?:anyone|developers?|engineers?|everyone|authors?|contributors?|maintainers?|newcomers?"
          r"|people|person|programmers?|readers?|reporters?|reviewers?|someone|users?)")

# (what is refused, what to write instead)
HABITS = [
    (r"\b(?:whoever|whomever|whom)\b", "name the thread, the caller, the slab"),
    (r"\b(?:nobody|no one|somebody|anybody|everybody)\b", "no thread, another thread, any thread"),
    (r"\blest\b", "so that ... not"),
    (r"\bfor ever\b", "forever, or say until when"),
    (r"\bheed(?:s|ed)?\b", "ignore, obey"),
    (r"\bits like\b|\btheir like\b", "name the thing"),
    (r"\b(?:see|sees|saw) to (?:it|that|this)\b", "make sure"),
    (r"\bcom(?:e|es|ing) to (?:its|their|an|the) ends?\b", "end"),
    (r"\bof its own accord\b|\bwithout further ado\b|\bfor good measure\b", "drop it"),
    (r"\b(?:thereof|therein|whereupon|hitherto|thither|hence)\b", "plain words"),
    (r"\bis the business of\b", "say what does it"),
    (r"\bworth (?:its|their) while\b|\bworth while\b", "worthwhile, or pays"),
    (r"\bare not many\b", "say the number"),
]
# In comments and documents: "behind" is for places.
BEHIND = (r"\bbehind (?:it|them|that|this|which|the (?:store|load|call|count|barrier|fence|push|release"
          r"|look|begin|end|write|read|exchange|last|first|next))\b", "after")

WHO = re.compile(r"\bwho\b", re.I)
BEFORE_WHO = re.compile(rf"\b{PEOPLE},?\s+$", re.I)
# A phrase may continue on the next line of a comment.
COMPILED = [(re.compile(pattern.replace(" ", r"\s+"), re.I), instead)
            for pattern, instead in [*HABITS, BEHIND]]

C_FAMILY = {".h", ".hpp", ".cpp", ".c", ".in", ".inc"}
HASH_FAMILY = {".sh", ".cmake", ".tcl", ""}


def problems_in(text):
    """Yields (offset, the words, what to write instead)."""
    for match in WHO.finditer(text):
        if not BEFORE_WHO.search(text, 0, match.start()):
            yield match.start(), match.group(0), "name the thread, the caller, the slab"
    for pattern, instead in COMPILED:
        for match in pattern.finditer(text):
            yield match.start(), match.group(0), instead


def c_comments(text):
    """The same text with all but the comments blanked, comment marks included."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)
    kept = [" " if c != "\n" else c for c in text]
    for match in pattern.finditer(text):
        if match.group(0)[0] == "/":
            kept[match.start():match.end()] = match.group(0)
    return re.sub(r"^( *)//", r"\1  ", "".join(kept), flags=re.M)


def python_comments(text):
    """Comments and docstrings; everything else blanked."""
    lines = [[" "] * len(line) for line in text.split("\n")]
    source = text.split("\n")
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return ""
    previous = tokenize.NEWLINE
    for token in tokens:
        begins = previous in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
                              tokenize.NL)
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and begins):
            (row, column), (last_row, last_column) = token.start, token.end
            for r in range(row, last_row + 1):
                begin = column if r == row else 0
                end = last_column if r == last_row else len(source[r - 1])
                lines[r - 1][begin:end] = source[r - 1][begin:end]
        if token.type != tokenize.COMMENT:
            previous = token.type
    return "\n".join("".join(line).replace("#", " ", 1) for line in lines)


def hash_comments(text):
    return "\n".join(re.sub(r"^.*?(?:^|\s)#", lambda m: " " * len(m.group(0)), line)
                     if re.search(r"(?:^|\s)#(?!!)", line) else "" for line in text.split("\n"))


def prose_without_code(text):
    """A Markdown text without its code blocks and code spans."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))

    return re.sub(r"^```.*?^```|`[^`\n]*`", blank, text, flags=re.S | re.M)


def prose_of(path, text):
    """The prose of a file, at the same lines; None if the file has none that is checked."""
    if path.suffix == ".md":
        return prose_without_code(text)
    if path.suffix in C_FAMILY:
        return c_comments(text)
    if path.suffix == ".py":
        return python_comments(text)
    if path.suffix in HASH_FAMILY or path.name == "CMakeLists.txt":
        return hash_comments(text)
    return None


def check_prose(path, text):
    """Yields (line, what) for each phrase that is refused."""
    prose = prose_of(path, text)
    if prose is None:
        return
    for offset, words, instead in problems_in(prose):
        line = text.count("\n", 0, offset) + 1
        yield line, f"'{' '.join(words.split())}': {instead}"
