# SPDX-License-Identifier: Apache-2.0
"""The facts about the machine that every result states."""
import os
import platform
import re
import subprocess
from pathlib import Path

from lab import build, paths

REAL_PROGRAMS = ("redis-server", "python3", "sqlite3", "z3", "g++", "occt-draw")


def facts():
    usable = len(os.sched_getaffinity(0))
    return {
        "processor": processor(), "cores": os.cpu_count(), "usable_cores": usable,
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "architecture": platform.machine(), "kernel": f"{platform.system()} {platform.release()}",
        "distribution": distribution(), "c_library": c_library(),
        "compiler": first_line([build.default_compiler(), "--version"]),
        "transparent_huge_pages": chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
        "governor": text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "virtual": "hypervisor" in text("/proc/cpuinfo"), "page_bytes": os.sysconf("SC_PAGE_SIZE"),
        "programs": programs(), "load_average": list(os.getloadavg()),
    }


def text(path):
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def chosen(path):
    """The word in brackets."""
    found = re.search(r"\[(\w+)\]", text(path))
    return found.group(1) if found else ""


def processor():
    for name in ("model name", "Model", "CPU part"):
        found = re.search(rf"^{name}\s*:\s*(.+)$", text("/proc/cpuinfo"), re.M)
        if found:
            return found.group(1)
    return platform.processor() or platform.machine()


def distribution():
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)', text("/etc/os-release"), re.M)
    return found.group(1) if found else ""


def c_library():
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (OSError, ValueError):
        return ""


def programs():
    """The package versions of the real programs."""
    found = (first_line(["dpkg-query", "-W", "-f", "${Package} ${Version}", name])
             for name in REAL_PROGRAMS)
    return ", ".join(filter(None, found))


def first_line(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False,
                              cwd=paths.ROOT)
        return (done.stdout.splitlines() or [""])[0]
    except (OSError, subprocess.SubprocessError):
        return ""


def commit():
    """The measured commit, with "+" when files have changed since."""
    found = first_line(["git", "rev-parse", "--short=12", "HEAD"])
    changed = found and first_line(["git", "status", "--porcelain", "--untracked-files=no"])
    return found + ("+" if changed else "")
