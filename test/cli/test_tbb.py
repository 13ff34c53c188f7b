# SPDX-License-Identifier: Apache-2.0
"""--tbb of run, compare and check: which libtbb.so.12 a program gets, and what check says of it.

Most programs here are linked to a small library with the name and one function of oneTBB's. Those that
compute are compiled with oneTBB's headers."""
import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from support import CORBEL, LIBRARY, CliTest, clean_environment, corbel

TBB12 = LIBRARY.parent / "corbel" / "libtbb.so.12"

# Prints the path of every libtbb.so.12 that the process has loaded.
WHICH = r"""
#include <stdio.h>
#include <string.h>
#include <dlfcn.h>
static void which(void) {
  char line[4096], last[4096] = "";
  FILE *maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps)) {
    char *path = strchr(line, '/');
    if (!path || !strstr(path, "/libtbb.so.12") || !strcmp(path, last)) continue;
    fputs(strcpy(last, path), stdout);
  }
  fclose(maps);
}
"""
# The functions of the interface that the tests call; `extra` is none of oneTBB's.
NAMES = r"""
namespace tbb { namespace detail {
namespace d1 { class task; class task_group_context; }
namespace r1 {
void spawn(d1::task &, d1::task_group_context &)%s
void extra()%s
}}}
"""
CALLER = NAMES % (";", ";") + r"""
int main(int count, char **) {
  using namespace tbb::detail;
  if (count > 99) r1::spawn(*(d1::task *)0, *(d1::task_group_context *)0);
  %s
  return 0;
}
"""
CALLS_EXTRA = "if (count > 98) r1::extra();"


def onetbb():
    """The folder of oneTBB's headers and its library, from PyPI or from the system."""
    tests = Path(__file__).resolve().parent.parent
    sys.path.insert(0, str(tests / "tbb12"))
    try:
        import onetbb as packages
        headers, folder = packages.folders()
        return headers, Path(folder) / "libtbb.so.12"
    except SystemExit:  # there is no PyPI
        for library in Path("/usr/lib").glob("*-linux-gnu/libtbb.so.12"):
            if Path("/usr/include/oneapi/tbb/parallel_for.h").exists():
                return "/usr/include", library
    raise unittest.SkipTest("oneTBB's headers are not here")


@unittest.skipUnless(TBB12.exists(), "this build has no libtbb.so.12")
class TbbTest(CliTest):
    def setUp(self):
        super().setUp()
        self.folder = self.folder.resolve()

    def another_tbb(self, folder="another"):
        """A library with oneTBB's name, in a folder of its own."""
        (self.folder / folder).mkdir()
        return self.compile(f"{folder}/libtbb.so.12", NAMES % ("{}", "{}"), "-shared", "-fPIC",
                            "-Wl,-soname,libtbb.so.12", language="c++")

    def program(self, name, source, *options, language="c"):
        """A program that needs libtbb.so.12, whether it calls it or not."""
        return self.compile(name, source, "-Wl,--no-as-needed", *options, "-ldl", language=language)

    def which(self, name, *options):
        return self.program(name, WHICH + "int main(void) { which(); return 0; }", *options)

    def by(self, tag, folder):
        """Linker options that make `folder` the RPATH or the RUNPATH."""
        return (f"-Wl,--{'disable' if tag == 'RPATH' else 'enable'}-new-dtags", f"-Wl,-rpath,{folder}")

    def copy_of_corbel(self, folder, with_tbb=True):
        """Corbel's libraries in a folder; returns the path of the one that is preloaded."""
        (self.folder / folder / "corbel").mkdir(parents=True)
        for name in LIBRARY.parent.glob("libcorbel*.so.1"):
            shutil.copy(name, self.folder / folder)
        if with_tbb:
            shutil.copy(TBB12, self.folder / folder / "corbel")
        return self.folder / folder / LIBRARY.name

    def shows(self, *words, **environment):
        done = corbel(*words, env=clean_environment(**environment))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout.split()


class Run(TbbTest):
    def test_a_program_on_the_library_path(self):
        another = self.another_tbb()
        program = self.which("which", another)
        path = {"LD_LIBRARY_PATH": another.parent}
        self.assertEqual(self.shows("run", "--", program, **path), [str(another)])
        self.assertEqual(self.shows("run", "--tbb", "--", program, **path), [str(TBB12)])

    def test_the_environment(self):
        show = ("sh", "-c", 'echo "$LD_LIBRARY_PATH|$LD_PRELOAD"')
        self.assertEqual(self.shows("run", "--tbb", "--", *show), [f"{TBB12.parent}|{LIBRARY}"])
        kept = self.shows("run", "--tbb", "--", *show, LD_LIBRARY_PATH="/a:/b;/c")
        self.assertEqual(kept, [f"{TBB12.parent}:/a:/b;/c|{LIBRARY}"])
        preloaded = self.shows("run", "--tbb=preload", "--", *show)
        self.assertEqual(preloaded, [f"{TBB12.parent}|{LIBRARY}:{TBB12}"])
        for word in ("--tbb", "--tbb=preload"):
            twice = self.shows("run", word, "--", CORBEL, "run", word, "--", *show)
            self.assertEqual(twice, self.shows("run", word, "--", *show))

    def test_a_runpath_needs_no_preload(self):
        another = self.another_tbb()
        program = self.which("which", another, *self.by("RUNPATH", another.parent))
        self.assertEqual(self.shows("run", "--", program), [str(another)])
        done = corbel("run", "--tbb", "--verbose", "--", program)
        self.assertEqual(done.stdout.split(), [str(TBB12)])
        self.assertNotIn(f":{TBB12}", done.stderr)

    def test_an_rpath_is_overcome_by_a_preload(self):
        another = self.another_tbb()
        program = self.which("which", another, *self.by("RPATH", another.parent))
        path = {"LD_LIBRARY_PATH": TBB12.parent}
        self.assertEqual(self.shows("run", "--", program, **path), [str(another)])
        self.assertEqual(self.shows("run", "--tbb", "--", program), [str(TBB12)])

    def test_an_rpath_of_a_program_that_loads_libraries_later(self):
        # As conda's python: the program needs no libtbb.so.12, but what it loads does.
        another = self.another_tbb()
        later = self.program("later.so", "int later;", "-shared", "-fPIC", another)
        program = self.compile("program", WHICH + f"int main(void) {{ if (!dlopen(\"{later}\", "
                               "RTLD_NOW)) puts(dlerror()); which(); return 0; }", "-ldl",
                               *self.by("RPATH", another.parent))
        self.assertEqual(self.shows("run", "--", program), [str(another)])
        self.assertEqual(self.shows("run", "--tbb", "--", program), [str(TBB12)])
        # The program's starter has no such RPATH.
        script = self.script("script", f"#!/bin/sh\n{program}\n")
        self.assertEqual(self.shows("run", "--tbb=preload", "--", script), [str(TBB12)])

    def test_ctypes(self):
        code = ("import ctypes; library = ctypes.CDLL('libtbb.so.12'); "
                "print(library.corbel_libtbb12_version is not None)")
        self.assertEqual(self.shows("run", "--tbb", "--", sys.executable, "-c", code), ["True"])

    def test_after_others_have_used_what_the_cxx_library_has_for_each_thread(self):
        plugin = self.compile("plugin.so", "#include <mutex>\nstd::once_flag flag; extern \"C\" void f() "
                              "{ std::call_once(flag, [] {}); }", "-shared", "-fPIC", language="c++")
        program = self.compile("program", WHICH + f"""int main(void) {{
            void *plugin = dlopen("{plugin}", RTLD_NOW);
            ((void (*)(void))dlsym(plugin, "f"))();
            if (!dlopen("libtbb.so.12", RTLD_NOW)) puts(dlerror());
            which(); return 0; }}""", "-ldl")
        self.assertEqual(self.shows("run", "--tbb", "--", program), [str(TBB12)])

    def test_a_program_of_onetbb(self):
        headers, library = onetbb()
        program = self.program("sum", "#include <oneapi/tbb/parallel_reduce.h>\n"
                               "#include <oneapi/tbb/blocked_range.h>\n#include <functional>\n" + WHICH + r"""
            int main() {
              long sum = tbb::parallel_reduce(tbb::blocked_range<long>(0, 100001), 0l,
                [](const tbb::blocked_range<long> &r, long s) {
                  for (long i = r.begin(); i != r.end(); ++i) s += i;
                  return s;
                }, std::plus<long>());
              printf("%ld\n", sum); fflush(stdout); which(); }""", "-std=c++17", "-pthread",
                               f"-I{headers}", library, language="c++")
        path = {"LD_LIBRARY_PATH": library.parent}
        own = self.shows("run", "--", program, **path)
        self.assertEqual(own[0], "5000050000")
        self.assertTrue(os.path.samefile(own[1], library), own)
        self.assertEqual(self.shows("run", "--tbb", "--", program, **path), [own[0], str(TBB12)])

    def test_folders_for_temporary_files_that_cannot_be_used(self):
        another = self.another_tbb()
        program = self.which("which", another, *self.by("RPATH", another.parent))
        for folder in ("/nonexistent", "/proc"):
            shown = self.shows("run", "--tbb", "--", program, TMPDIR=folder)
            self.assertEqual(shown, [str(TBB12)])

    def one_line(self, done, code, text):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn(text, done.stderr)

    def test_a_library_that_is_missing(self):
        library = self.copy_of_corbel("alone", with_tbb=False)
        for command in ("run", "compare"):
            done = corbel(command, "--tbb", "--", "true", env=clean_environment(CORBEL_LIBRARY=library))
            self.one_line(done, 125, f"there is no {library.parent}/corbel/libtbb.so.12")

    def test_a_scheduler_that_is_missing(self):
        library = self.copy_of_corbel("lone")
        (library.parent / "libcorbel.so.1").unlink()
        done = corbel("run", "--tbb", "--", "true", env=clean_environment(CORBEL_LIBRARY=library))
        self.one_line(done, 125, "libcorbel.so.1")

    def test_another_library_of_that_name(self):
        library = self.copy_of_corbel("mixed", with_tbb=False)
        shutil.copy(self.another_tbb(), library.parent / "corbel")
        done = corbel("run", "--tbb", "--", "true", env=clean_environment(CORBEL_LIBRARY=library))
        self.one_line(done, 125, f"{library.parent}/corbel/libtbb.so.12 is not Corbel's")

    def test_paths_that_the_variables_cannot_express(self):
        for folder, variable in (("a;b", "LD_LIBRARY_PATH"), ("a b", "LD_PRELOAD"),
                                 ("a:b", "LD_PRELOAD")):
            library = self.copy_of_corbel(folder)
            for command in ("run", "compare"):
                done = corbel(command, "--tbb", "--", "true",
                              env=clean_environment(CORBEL_LIBRARY=library))
                self.one_line(done, 125, variable)

    def test_a_link_to_the_library(self):
        # As a distribution's lib folder with links to where the files are.
        library = self.copy_of_corbel("real")
        for each in library.parent.glob("*.so.1"):
            (self.folder / each.name).symlink_to(each)
        link = self.folder / LIBRARY.name
        shown = self.shows("run", "--tbb", "--", "sh", "-c", 'echo "$LD_LIBRARY_PATH"',
                           CORBEL_LIBRARY=link)
        self.assertEqual(shown, [str(library.parent / "corbel")])

    def test_a_static_program_is_refused(self):
        self.one_line(corbel("run", "--tbb", "--", self.compile_static()), 126, "static")

    def test_a_wrong_word(self):
        for word in ("fast", "path", ""):
            done = corbel("run", f"--tbb={word}", "--", "true")
            self.assertEqual(done.returncode, 2, word)
            self.assertIn(f"--tbb=preload' expected, not '{word}'", done.stderr)
        self.assertEqual(self.shows("run", "echo", "--tbb=path"), ["--tbb=path"])  # the command's


class Compare(TbbTest):
    def test_the_sides_have_different_libraries(self):
        another = self.another_tbb()
        program = self.which("which", another)
        result = self.folder / "result.json"
        words = ("compare", "--tbb", "-q", "-n", "2", "--check-output", "--json", result, "--", program)
        starts = ((), (CORBEL, "run", "--tbb", "--"), (CORBEL, "run", "--tbb=preload", "--"))
        for start in starts:  # also where Corbel is in the environment already
            done = subprocess.run([*map(str, start), str(CORBEL), *map(str, words)], text=True,
                                  env=clean_environment(LD_LIBRARY_PATH=another.parent),
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            for side, library in (("system", another), ("corbel", TBB12)):
                self.assertIn(f" {len(str(library)) + 1} bytes on {side}", done.stderr)
            sides = json.loads(result.read_text())["sides"]
            self.assertEqual([side.get("tbb") for side in sides], [None, str(TBB12)])

    def test_a_comparison_is_continued_only_with_the_same_sides(self):
        result = self.folder / "result.json"
        words = ("-q", "-n", "1", "--json", result)
        self.assertEqual(corbel("compare", "--tbb", *words, "--", "true").returncode, 0)
        done = corbel("compare", "--append", *words, "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--append", done.stderr)
        self.assertEqual(corbel("compare", "--tbb", "--append", *words, "--", "true").returncode, 0)

    def test_a_program_without_tbb_gets_a_note(self):
        done = corbel("compare", "--tbb", "-q", "-n", "1", "--", "true")
        self.assertIn("note: the program does not load libtbb.so.12", done.stdout)
        self.assertIn("the corbel side also has Corbel's libtbb.so.12", done.stdout)
        script = self.script("script", "#!/bin/sh\nexit 0\n")
        done = corbel("compare", "--tbb", "-q", "-n", "1", "--", script)
        self.assertIn("note: the script's interpreter does not load libtbb.so.12", done.stdout)
        done = corbel("compare", "-q", "-n", "1", "--", "true")
        self.assertNotIn("libtbb", done.stdout)


class Check(TbbTest):
    def check(self, *words, code=0, **environment):
        done = corbel("check", "--json", *words, env=clean_environment(**environment))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(result["active"], code == 0)
        result["ids"] = [reason["id"] for reason in result["reasons"]]
        return result

    def lines(self, *words, **environment):
        done = corbel("check", *words, env=clean_environment(**environment))
        return [line for line in done.stdout.splitlines() if line.startswith("  tbb:")]

    def version(self):
        return corbel("--version").stdout.split()[1]

    def test_a_program_without_tbb(self):
        self.assertIsNone(self.check("--", "cat")["tbb"])
        self.assertEqual(self.lines("--", "cat"), [])
        for word in ("--tbb", "--tbb=preload"):
            result = self.check(word, "--", "cat")
            self.assertIsNone(result["tbb"])
            self.assertIn("the program does not load libtbb.so.12 when it starts",
                          result["notes"][-1])
            self.assertEqual("DT_RPATH" in result["notes"][-1], word == "--tbb")
            self.assertIn(f"corbel run {word}, ", result["how"])
        result = self.check("--tbb", "--", self.script("script", "#!/bin/sh\nexit 0\n"))
        self.assertIn("the interpreter does not load", result["notes"][-1])

    def test_whose_library_it_is(self):
        another = self.another_tbb()
        program = self.which("which", another)
        path = {"LD_LIBRARY_PATH": another.parent}
        tbb = self.check("--", program, **path)["tbb"]
        self.assertEqual((tbb["library"], tbb["corbel"], tbb["version"]), (str(another), False, None))
        self.assertEqual(self.lines("--", program, **path),
                         [f"  tbb:  libtbb.so.12 is not Corbel's: {another}"])
        result = self.check("--tbb", "--", program, **path)
        self.assertEqual(result["tbb"], {"library": str(TBB12), "corbel": True, "inside": None,
                                         "libtbb2": None, "missing": [], "others": [],
                                         "version": self.version()})
        self.assertIn("LD_LIBRARY_PATH", result["how"])
        # Also where the malloc is preloaded already.
        again = self.check("--tbb", "--", program, LD_PRELOAD=LIBRARY, **path)
        self.assertEqual((again["how"], again["mode"]), (result["how"], "run"))
        self.assertEqual(self.lines("--tbb", "--", program, **path),
                         [f"  tbb:  libtbb.so.12 is Corbel's, version {self.version()}: {TBB12}"])

    def test_as_it_is(self):
        another = self.another_tbb()
        program = self.which("which", another)
        result = self.check("--as-is", "--tbb", "--", program, code=1,
                            LD_LIBRARY_PATH=another.parent)
        self.assertIn("tbb-other", result["ids"])
        # Memory from Corbel, the library from elsewhere.
        done = corbel("check", "--as-is", "--tbb", "--", program,
                      env=clean_environment(LD_LIBRARY_PATH=another.parent, LD_PRELOAD=LIBRARY))
        self.assertEqual(done.returncode, 1)
        self.assertIn("takes its memory from Corbel, but does not run on Corbel's libtbb.so.12",
                      done.stdout)
        self.assertIn("corbel run --tbb", done.stdout)

    def test_an_rpath(self):
        another = self.another_tbb()
        program = self.which("which", another, *self.by("RPATH", another.parent))
        self.assertEqual(self.check("--", program)["tbb"]["library"], str(another))
        result = self.check("--tbb", "--", program)
        self.assertEqual(result["tbb"]["library"], str(TBB12))
        self.assertIn(f":{TBB12}", result["how"])

    def test_a_library_that_is_missing(self):
        library = self.copy_of_corbel("alone", with_tbb=False)
        result = self.check("--tbb", "--", "cat", code=1, CORBEL_LIBRARY=library)
        self.assertEqual(result["ids"], ["tbb-library"])
        self.assertTrue(result["symbols"][0]["corbel"])  # malloc is checked all the same
        self.assertIn(str(library.parent / "corbel" / "libtbb.so.12"), result["reasons"][0]["text"])

    def test_names_that_nothing_defines(self):
        another = self.another_tbb()
        program = self.program("caller", CALLER % CALLS_EXTRA, another, language="c++")
        path = {"LD_LIBRARY_PATH": another.parent}
        self.assertEqual(self.check("--", program, **path)["tbb"]["missing"], [])
        result = self.check("--tbb", "--", program, code=1, **path)
        self.assertEqual(result["ids"], ["tbb-names"])
        self.assertEqual(result["tbb"]["missing"],
                         [{"symbol": "_ZN3tbb6detail2r15extraEv", "object": str(program),
                           "name": "tbb::detail::r1::extra()"}])
        self.assertIn("tbb::detail::r1::extra()", result["reasons"][0]["text"])
        self.assertEqual(len(self.lines("--tbb", "--", program, **path)), 1)
        program = self.program("good-caller", CALLER % "", another, language="c++")
        self.assertEqual(self.check("--tbb", "--", program, **path)["tbb"]["missing"], [])

    def test_a_library_that_is_inside_the_program(self):
        source = CALLER.replace(";\nvoid extra", "{}\nvoid extra") % ""
        for name, options in (("hidden", []), ("exported", ["-rdynamic"])):
            program = self.compile(name, source, *options, language="c++")
            self.assertEqual(self.check("--", program)["tbb"]["inside"], str(program))
            self.assertEqual(self.check("--tbb", "--", program, code=1)["ids"], ["tbb-inside"])

    def test_the_library_of_tbb_2020(self):
        library = self.compile("libtbb.so.2", "int tbb2020;", "-shared", "-fPIC",
                               "-Wl,-soname,libtbb.so.2")
        program = self.which("which", library, f"-Wl,-rpath,{self.folder}")
        self.assertEqual(self.check("--", program)["tbb"]["libtbb2"], str(library))
        result = self.check("--tbb", "--", program, code=1)
        self.assertEqual(result["ids"], ["tbb-classic"])
        self.assertIn("headers", result["reasons"][0]["help"])
        self.assertIn("--tbb does not replace", self.lines("--", program)[0])
        self.assertEqual(self.lines("--tbb", "--", program), [])  # the reason says it

    def test_a_program_of_onetbb(self):
        headers, library = onetbb()
        program = self.program("sum", "#include <oneapi/tbb/parallel_for.h>\n#include <oneapi/tbb/"
                               "task_arena.h>\nint main() { tbb::task_arena a; a.execute([] { "
                               "tbb::parallel_for(0, 9, [](int) {}); }); }", "-std=c++17", "-pthread",
                               f"-I{headers}", library, language="c++")
        path = {"LD_LIBRARY_PATH": library.parent}
        self.assertRegex(self.lines("--", program, **path)[0], r"is oneTBB's, version 202\d\.\d[.\d]*: /")
        self.assertEqual(self.check("--tbb", "--", program, **path)["tbb"]["missing"], [])

    def test_a_running_process(self):
        another = self.another_tbb()
        program = self.program("waits", WHICH + "int main(void) { which(); fflush(stdout); "
                               "return getchar() == 0; }", another)
        path = {"LD_LIBRARY_PATH": another.parent}
        for words, corbels in (((), False), (("--tbb",), True)):
            process = subprocess.Popen([str(CORBEL), "run", *words, "--", str(program)],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       env=clean_environment(**path))
            self.addCleanup(process.communicate)
            process.stdout.readline()
            tbb = self.check("--pid", process.pid)["tbb"]
            self.assertEqual((tbb["library"], tbb["corbel"], tbb["version"]),
                             (str(TBB12), True, self.version()) if corbels else
                             (str(another), False, None))
            result = self.check("--tbb", "--pid", process.pid, code=0 if corbels else 1)
            self.assertEqual(result["ids"], [] if corbels else ["tbb-other"])

    def test_a_process_with_two_libraries(self):
        another = self.another_tbb()
        program = self.program("loads", WHICH + f"""int main(void) {{
            if (!dlopen("{another}", RTLD_NOW)) puts(dlerror());
            puts("loaded"); fflush(stdout); return getchar() == 0; }}""", another)
        # A preloaded library takes the calls of all, so the second does not matter.
        for word, ids in (("--tbb", ["tbb-other"]), ("--tbb=preload", [])):
            process = subprocess.Popen([str(CORBEL), "run", word, "--", str(program)],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       env=clean_environment())
            self.addCleanup(process.communicate)
            self.assertEqual(process.stdout.readline(), b"loaded\n")
            result = self.check("--tbb", "--pid", process.pid, code=1 if ids else 0)
            self.assertEqual(result["ids"], ids)
            self.assertEqual(result["tbb"]["others"],
                             [{"library": str(another), "corbel": False, "version": None}])
            shown = corbel("check", "--tbb", "--pid", process.pid).stdout
            self.assertEqual((shown.count(str(another)), shown.count(f": {TBB12}")), (1, 1), shown)


if __name__ == "__main__":
    unittest.main()
