# SPDX-License-Identifier: Apache-2.0
"""What one run of a misuse came to.

    named    a message that names the fault, in the words below
    said     a message that does not: an assertion, or the name of another fault
    stopped  ended on purpose (abort or trap) without a message
    crashed  ended by the kernel (SIGSEGV, SIGBUS) without a message
    defused  the program saw that the allocator took the harm out of it
    missed   nothing happened that the program could see
    harmed   the program was harmed, whatever else happened
    hung     it did not end
    broken   the run shows nothing: not a line, or one that says so
"""
import re
import signal

OUTCOMES = ("named", "said", "stopped", "crashed", "defused", "missed", "harmed", "hung", "broken")
FOUND = ("named", "said")  # a message: the reader knows that there is a fault

# The words of a message that names a fault. A message about damage ("corrupted") names a stray write.
_STRAY = r"corrupt|invalid (next |prev |old )?size|overwritten|redzone|canar|invalid write|heap-buffer-overflow"
_FREED = r"use.after.free|after (it was )?free|freed (block|memory|chunk)|free'd|was freed"
WORDS = {
    "none": r"(?!)",
    "double free": r"double.?free|twice|already.{0,12}free|invalid chunk state|free'd|"
                   r"no block is allocated",
    "invalid free": r"not a heap|of a pointer|invalid (pointer|address|free|chunk)|attempting free on|not malloc|wild|"
                    r"not (allocated|the start|a valid)|misaligned|unaligned|foreign|"
                    r"bad.?free|no block is allocated",
    "overflow": rf"overflow|out.of.bounds|past the end|after (the|its) end|{_STRAY}",
    "underflow": rf"underflow|underrun|out.of.bounds|before (the|its) (start|beginning)|{_STRAY}",
    "use after free": rf"{_FREED}|invalid read|{_STRAY}|double.?free|twice|invalid chunk state|"
                      r"no block is allocated",
    "wrong size": r"with a size of|size.{0,30}(mismatch|wrong|differ)|wrong size|mismatch|invalid size|"
                  r"sized? (delete|dealloc)",
    "mismatch": r"mismatch|(free|delete)\b.* of a block .*\bfrom |wrong (function|operator)|allocated (by|with)|type.{0,12}differ",
    "leak": r"leak|definitely lost|not freed|nothing points",
    "uninitialised": r"uninitiali[sz]ed",
}
WORDS = {fault: re.compile(words, re.I) for fault, words in WORDS.items()}
# Lines that are no message about the program: notes of an allocator on itself, frames of a stack.
NOISE = re.compile(r"^\W*$|^corbel: no definite leaks|^(==\d+==|\S+: )?warning\b|^\s*#\d|^\s*at 0x|^\s*by 0x", re.I)
ON_PURPOSE = {signal.SIGABRT, signal.SIGILL, signal.SIGTRAP}
SAYS = re.compile(r"^(MISSED|DEFUSED|HARMED|IMPOSSIBLE): (.*)$", re.M)


def plain(line):
    """A message without what differs from run to run or from machine to machine: addresses, numbers
    of processes, folders, and the digest in the name of the program."""
    line = re.sub(r"^==\d+==\s*", "", line.strip())
    line = re.sub(r"(?:[\w.+-]*/)+(?=[\w.+-])", "", line)
    line = re.sub(r"\bmisuse(-asan)?-[0-9a-f]{16}\b", "misuse", line)
    line = re.sub(r"\b0x[0-9a-f]+\b", "0x…", line, flags=re.I)
    line = re.sub(r"\b(thread|pid|by thread) T?\d+", r"\1 N", line)
    return re.sub(r"\s+", " ", line)


def message(errors, fault):
    """(the line of the message that says most, whether it names the fault); ("", False) without."""
    lines = [line for line in errors.splitlines() if not NOISE.search(line)]
    naming = [line for line in lines if WORDS[fault].search(line)]
    chosen = (naming or lines or [""])[0]
    return plain(chosen)[:200], bool(naming)


def outcome(fault, code, output, errors, late=False):
    """(one of OUTCOMES, the line that explains it). `code` is that of subprocess: negative for a
    signal."""
    line, names = message(errors, fault)
    told = SAYS.search(output)
    word, text = told.groups() if told else ("", "")
    if word == "HARMED":
        return "harmed", f"{text}; it had said: {line}" if line else text
    if late:
        return "hung", line
    if line:
        return ("named" if names else "said"), line
    if code < 0:
        kind = "stopped" if -code in ON_PURPOSE else "crashed"
        return kind, _signal_name(-code)
    if word in ("MISSED", "DEFUSED") and code == 0:
        return word.lower(), text
    return "broken", text or f"exit code {code} without a word"


def _signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
