# SPDX-License-Identifier: Apache-2.0
"""Programs that are compiled with older headers of oneTBB run on Corbel's library as on the library
of the same version. It exports what each of those exports."""

import glob
import os
import shutil
import zipfile

import clients
import onetbb
from onetbb import common

# Those since 2021.5, by their numbers on PyPI. Debian 12 has 2021.8. Further ones need --full.
VERSIONS = ["2021.5.1"]
MORE = ["2021.6.0", "2021.7.1", "2021.8.0", "2021.9.0", "2021.10.0", "2021.11.0", "2021.12.0",
        "2021.13.1", "2022.0.0", "2022.1.0", "2022.2.0", "2022.3.1", "2023.0.0", "2023.1.0", "2023.2.0"]


def folders(version):
    """The folders of a version's headers and library, which are kept in build/."""
    kept = os.path.join(onetbb.KEPT, version)
    with onetbb.alone("versions"):
        if not os.path.isdir(kept):
            new = os.path.join(onetbb.KEPT, "new")
            shutil.rmtree(new, ignore_errors=True)  # of a run that was ended
            wanted = ["%s==%s" % (package, version) for package in ("tbb-devel", "tbb")]
            onetbb.pip(" ".join(wanted), "download", "--no-deps", "--dest", new, *wanted)
            for wheel in glob.glob(os.path.join(new, "*.whl")):
                with zipfile.ZipFile(wheel) as archive:
                    archive.extractall(new)
                os.remove(wheel)
            os.rename(new, kept)
    headers, = glob.glob(os.path.join(kept, "*", "data", "include"))
    library, = glob.glob(os.path.join(kept, "*", "data", "lib", onetbb.LIBRARY))
    return headers, os.path.dirname(library)


def test(scratch):
    own = onetbb.names(os.path.join(onetbb.ours(), onetbb.LIBRARY))
    left_out = []
    for version in VERSIONS + (MORE if common.FULL else []):
        try:
            headers, library = folders(version)
        except onetbb.Unavailable as reason:
            left_out.append(str(reason))
            continue
        missing = sorted(onetbb.names(os.path.join(library, onetbb.LIBRARY)) - own)
        common.check(not missing, "not exported, but by %s: %s" % (version, " ".join(missing)))
        folder = os.path.join(scratch, version)
        os.mkdir(folder)
        clients.compare(clients.compiled(headers, library, folder), library, what=version)
        print("as on oneTBB %s: %s" % (version, " ".join(clients.ALL)))
    if left_out:
        common.skip("; ".join(left_out))


common.main(test)
