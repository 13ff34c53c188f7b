// SPDX-License-Identifier: Apache-2.0
#include "help/texts.hpp"

namespace corbel::cli {

const char kMainFooter[] =
    "Examples:\n"
    "  corbel run -- app.exe --its-options      run a program on Corbel's malloc\n"
    "  corbel compare -n 20 -- app.exe input    is it faster, is it smaller?\n"
    "  corbel check -- app.exe                  would it work, function by function?\n"
    "  corbel check --pid 1234                  does it work in that process?\n"
    "\n"
    "Environment:\n"
    "  CORBEL_LIBRARY    path of corbelmalloc_proxy.dll, instead of looking for it\n"
    "  NO_COLOR          no colours\n"
    "\n"
    "See 'corbel COMMAND --help' for the options of a command.";

const char kRunFooter[] =
    "Everything after -- is the command. It has the console, input and output of the corbel\n"
    "process, which waits for its end; Ctrl-C reaches both, and the command decides. Programs "
    "that\n"
    "it starts run on their own malloc.\n"
    "\n"
    "The command loads corbelmalloc_proxy.dll before its other DLLs. That replaces the malloc of\n"
    "the C runtimes that are DLLs. A runtime that is linked into a program (/MT) stays as it is.\n"
    "\n"
    "Exit code: the command's; 127 when it is not found, 126 when it cannot be executed or the\n"
    "replacement cannot work in it, 125 when the DLL is missing, 2 for wrong options.\n"
    "\n"
    "SIZE: bytes (400M, 1.5G; K, M, G, T); 80%, of the job's limit or else of the machine's\n"
    "memory; auto, the job's limit less an eighth, the default of the soft limit; none.\n"
    "\n"
    "Examples:\n"
    "  corbel run --stats -- app.exe input\n"
    "  corbel run --heap-limit 400M -- server.exe\n"
    "  corbel run --check=guards -- server.exe\n"
    "  corbel run --check=full -- tests.exe        (guard=all, quarantine=SIZE, … may follow)";

const char kCompareFooter[] =
    "Each round runs every side once, in a random order that --seed determines.\n"
    "\n"
    "The table shows the median of all runs ± the median absolute deviation (MAD), and the\n"
    "ratio to the system's malloc. It reports a difference only when the medians are further\n"
    "apart than the sum of both spreads (1.48 MAD each, more when there are few runs).\n"
    "Peak memory is the process's largest working set, peak commit the most memory that the\n"
    "system had promised it. No figure has anything of processes that the command starts. A run "
    "is\n"
    "marked disturbed when other processes used the processor meanwhile; it still counts.\n"
    "\n"
    "Exit code: 0 when all runs agree; 1 when exit codes (or, with --check-output, outputs)\n"
    "differ; 125 when FILE cannot be written; 127, 126 and 125 as for run; 2 for wrong options.\n"
    "\n"
    "Examples:\n"
    "  corbel compare -- app.exe input\n"
    "  corbel compare -n 30 --json result.json --check-output -- app.exe input\n"
    "  corbel compare --with tbb=C:\\tbb\\bin\\tbbmalloc_proxy.dll -- app.exe";

const char kCheckFooter[] =
    "Windows loads the command with the replacement and starts its DLLs; the program itself does\n"
    "not run. If it is linked with the replacement, it is checked as it is; otherwise as corbel\n"
    "run starts it. A running process (--pid) is read from outside and is not disturbed.\n"
    "\n"
    "Exit code: 0 active, 1 not active (the reason is printed), 2 cannot tell.\n"
    "\n"
    "Examples:\n"
    "  corbel check -- app.exe\n"
    "  corbel check --verbose --pid 1234\n"
    "  corbel check --json -- app.exe";

const char kRunTbb[] = "Not on Windows";
const char kCompareTbb[] = "Not on Windows";
const char kCheckTbb[] = "Not on Windows";

}  // namespace corbel::cli
