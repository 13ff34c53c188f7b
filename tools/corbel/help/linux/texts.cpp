// SPDX-License-Identifier: Apache-2.0
#include "help/texts.hpp"

namespace corbel::cli {

const char kMainFooter[] =
    "Examples:\n"
    "  corbel run -- ./app --its-options        run a program on Corbel's malloc\n"
    "  corbel compare -n 20 -- ./app input      is it faster, is it smaller?\n"
    "  corbel check -- ./app                    would it work, symbol by symbol?\n"
    "  corbel check --pid 1234                  does it work in that process?\n"
    "  corbel top --pid 1234                    what does it hold and do?\n"
    "  corbel profile heap -- ./app             what holds its memory?\n"
    "  corbel profile time -- ./app             what does malloc cost it, and where?\n"
    "  corbel trace -- ./app                    what do its tasks do, on a timeline?\n"
    "  corbel leaks -- ./app                    what does it never free?\n"
    "  corbel run --tbb -- ./app                a program built for oneTBB: its tasks, too\n"
    "\n"
    "Environment:\n"
    "  CORBEL_LIBRARY    path of libcorbelmalloc_proxy.so.1, instead of looking for it\n"
    "  NO_COLOR          no colours\n"
    "\n"
    "See 'corbel COMMAND --help' for the options of a command.";

const char kRunFooter[] =
    "Everything after -- is the command. It replaces the corbel process, so its exit code,\n"
    "signals, input and terminal are its own. Programs that it starts run on Corbel too.\n"
    "\n"
    "Exit code: the command's; 127 when it is not found, 126 when it cannot be executed or the\n"
    "replacement cannot work in it, 125 when the library is missing, 2 for wrong options.\n"
    "\n"
    "SIZE: bytes (400M, 1.5G; K, M, G, T); 80%, of the container's limit or else of the machine's\n"
    "memory; auto, the container's limit less an eighth, the default of the soft limit; none.\n"
    "\n"
    "--tbb: a program that was compiled for oneTBB runs on Corbel's libtbb.so.12, to which\n"
    "LD_LIBRARY_PATH leads it. Where a DT_RPATH of the program comes before that, the library is\n"
    "preloaded. --tbb=preload always does so: for a program with a DT_RPATH that a script "
    "starts,\n"
    "and for a library that is loaded later with a DT_RPATH of its own, or by its full path.\n"
    "\n"
    "Examples:\n"
    "  corbel run -- sqlite3 data.db < script.sql\n"
    "  corbel run --stats -- python3 job.py       (PYTHONMALLOC=malloc lets all blocks through)\n"
    "  corbel run --heap-limit 400M -- ./server\n"
    "  corbel run --huge-pages always -- ./simulation\n"
    "  corbel run --check=guards -- ./server\n"
    "  corbel run --check=full -- ./tests          (guard=all, quarantine=SIZE, … may follow)\n"
    "  corbel run --tbb -- blender --background scene.blend --render-frame 1";

const char kCompareFooter[] =
    "Each round runs every side once, in a random order that --seed determines.\n"
    "\n"
    "The table shows the median of all runs ± the median absolute deviation (MAD), and the\n"
    "ratio to the system's malloc. It reports a difference only when the medians are further\n"
    "apart than the sum of both spreads (1.48 MAD each, more when there are few runs).\n"
    "Peak memory is the largest resident set that any single process of the command reached\n"
    "(VmHWM), not the sum of several. CPU time and faults are the sums over the command and the\n"
    "children it waited for. A run is marked disturbed when other processes used the processor\n"
    "meanwhile; it still counts.\n"
    "\n"
    "Exit code: 0 when all runs agree; 1 when exit codes (or, with --check-output, outputs)\n"
    "differ; 125 when FILE cannot be written; 127, 126 and 125 as for run; 2 for wrong options.\n"
    "\n"
    "Examples:\n"
    "  corbel compare -- ./app input\n"
    "  corbel compare -n 30 --json result.json --check-output -- ./app input\n"
    "  corbel compare --tbb -- flexbar -r reads.fastq -n 4\n"
    "  corbel compare --with jemalloc=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 -- ./app";

const char kCheckFooter[] =
    "The command does not run: the system's loader loads it with the replacement, resolves every\n"
    "symbol and stops before the first instruction. If LD_PRELOAD names Corbel already, or the\n"
    "program is linked with it, the command is checked as it is; otherwise as corbel run starts "
    "it.\n"
    "With --tbb it is checked as corbel run --tbb starts it, unless --as-is is given.\n"
    "A running process (--pid) is inspected from outside and is not disturbed.\n"
    "\n"
    "A program that uses oneTBB has lines that begin with tbb: which libtbb.so.12 it loads, whose "
    "it\n"
    "is, and what the program calls that no library defines. With --tbb it is active only if its\n"
    "libtbb.so.12 is Corbel's and lacks nothing; it may also load none when it starts.\n"
    "\n"
    "Exit code: 0 active, 1 not active (the reason is printed), 2 cannot tell.\n"
    "\n"
    "Examples:\n"
    "  corbel check -- ./app\n"
    "  corbel check --tbb -- ./app\n"
    "  corbel check --verbose --pid $(pidof redis-server)\n"
    "  corbel check --json -- ./app | jq .reasons";

const char kRunTbb[] = "Replace libtbb.so.12, too, by LD_LIBRARY_PATH or with LD_PRELOAD";
const char kCompareTbb[] = "Run on Corbel's libtbb.so.12, too, beside the program's own";
const char kCheckTbb[] = "Check Corbel's libtbb.so.12, too, as 'corbel run --tbb' starts it";

}  // namespace corbel::cli
