# SPDX-License-Identifier: Apache-2.0
"""corbel check: active or not, symbol by symbol, and why not."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from support import CORBEL, LIBRARY, OWN_MALLOC, CliTest, clean_environment, corbel

CXX_PROGRAM = r"""
#include <string>
#include <vector>
int main(int argc, char **argv) {
  std::vector<std::string> list(100, std::string(100, 'x'));
  return list[argc].empty();
}
"""


class CheckTest(CliTest):
    def check(self, *words, env=None):
        done = corbel("check", "--json", *words, env=env)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(result["active"], done.returncode == 0)
        return result

    def reasons(self, result):
        return [reason["id"] for reason in result["reasons"]]

    def symbol(self, result, name):
        return next(each for each in result["symbols"] if each["symbol"] == name)


class Commands(CheckTest):
    def test_a_dynamic_program(self):
        result = self.check("--", self.compile("app", CXX_PROGRAM, language="c++"))
        self.assertTrue(result["active"], result["reasons"])
        self.assertEqual(result["mode"], "run")
        for name in ("malloc", "free", "calloc", "realloc", "memalign", "aligned_alloc",
                     "posix_memalign", "malloc_usable_size", "_Znwm", "_ZdlPv", "_ZdlPvm",
                     "_ZnwmSt11align_val_t"):
            symbol = self.symbol(result, name)
            self.assertTrue(symbol["corbel"], symbol)
            self.assertTrue(symbol["provider"].endswith(LIBRARY.name), symbol)
        # According to the loader, the program's call of operator new leads to Corbel.
        bindings = self.symbol(result, "_Znwm")["bindings"]
        self.assertIn(result["target"], [each["from"] for each in bindings])
        self.assertTrue(all(each["to"].endswith(LIBRARY.name) for each in bindings))

    def test_the_program_is_not_run(self):
        mark = self.folder / "mark"
        program = self.compile("app", f'#include <stdio.h>\n__attribute__((constructor)) void f() '
                               f'{{ fopen("{mark}", "w"); }} int main() {{ return 0; }}')
        self.assertTrue(self.check("--", program)["active"])
        self.assertFalse(mark.exists())
        subprocess.run([str(program)], check=True)
        self.assertTrue(mark.exists())

    def test_the_words_for_people(self):
        done = corbel("check", "--", "cat")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith("active: "), done.stdout)
        self.assertIn("operator new(size_t)", done.stdout)
        done = corbel("check", "--as-is", "--", "cat")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith("not active: "), done.stdout)
        self.assertIn("corbel run", done.stdout)

    def test_a_script(self):
        result = self.check("--", self.script("script", "#!/bin/sh\nexit 0\n"))
        self.assertTrue(result["active"])
        self.assertIn("script", result["notes"][0])

    def test_a_static_program(self):
        result = self.check("--", self.compile_static())
        self.assertEqual(self.reasons(result), ["static"])

    def test_a_musl_program(self):
        program = self.compile("musl-program", "int main(void) { return 0; }",
                               "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")
        self.assertEqual(self.reasons(self.check("--", program)), ["musl"])

    def test_a_program_with_a_malloc_of_its_own(self):
        program = self.compile("own", OWN_MALLOC + "int main(void) { return malloc(9) == 0; }")
        result = self.check("--", program)
        self.assertEqual(self.reasons(result), ["own-malloc"])
        self.assertEqual(self.symbol(result, "malloc")["provider"], str(program))

    def test_a_private_malloc_is_a_note(self):
        program = self.compile("private", "static __attribute__((noinline)) void *malloc(unsigned "
                               "long n) { return (void *)(n + 16); }\n"
                               "int main(int c, char **v) { return malloc(c) == v; }",
                               "-fno-builtin", "-O0")
        result = self.check("--", program)
        self.assertTrue(result["active"])
        self.assertTrue(any("not exported" in note for note in result["notes"]), result["notes"])

    def test_another_preload_before(self):
        other = self.compile("libother.so", OWN_MALLOC, "-shared", "-fPIC")
        result = self.check("--", "cat", env=clean_environment(LD_PRELOAD=f"{other}:{LIBRARY}"))
        self.assertEqual(result["mode"], "as-is")
        self.assertEqual(self.reasons(result), ["another-preload"])
        self.assertEqual(self.symbol(result, "malloc")["provider"], str(other))

    def test_another_preload_after(self):
        other = self.compile("libother.so", OWN_MALLOC, "-shared", "-fPIC")
        for preload in (other, f"{LIBRARY}:{other}"):
            result = self.check("--", "cat", env=clean_environment(LD_PRELOAD=preload))
            self.assertTrue(result["active"], result["reasons"])

    def test_a_preload_that_does_not_exist(self):
        missing = self.folder / "libcorbelmalloc_proxy.so.1"
        result = self.check("--", "cat", env=clean_environment(LD_PRELOAD=missing))
        self.assertEqual(self.reasons(result)[0], "missing-file")
        self.assertIn(str(missing), result["reasons"][0]["text"])

    def test_a_library_that_is_nowhere(self):
        lonely = self.folder / "corbel"
        shutil.copy(CORBEL, lonely)
        done = corbel("check", "--", "cat", program=lonely)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot find libcorbelmalloc_proxy.so.1", done.stdout)

    def test_a_library_that_the_loader_refuses(self):
        broken = self.folder / "libcorbelmalloc_proxy.so.1"
        broken.write_bytes(b"this is no library" * 100)
        result = self.check("--", "cat", env=clean_environment(LD_PRELOAD=broken))
        self.assertEqual(self.reasons(result)[0], "loader-refused")

    def test_a_version_that_references_pass_by(self):
        # A malloc with its own version node is loaded, but it is not the one that is used.
        script = self.folder / "versions"
        script.write_text("OTHER_1 { global: malloc; free; calloc; realloc; local: *; };\n")
        other = self.compile("libcorbelmalloc_proxy.so.1", OWN_MALLOC, "-shared", "-fPIC",
                             f"-Wl,--version-script={script}")
        result = self.check("--", "cat", env=clean_environment(LD_PRELOAD=other))
        self.assertFalse(result["active"])
        self.assertIn("libc.so", self.symbol(result, "malloc")["provider"])

    def test_a_program_linked_with_the_library(self):
        program = self.compile("linked", "int main(void) { return 0; }", "-Wl,--no-as-needed",
                               LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}")
        result = self.check("--", program)
        self.assertTrue(result["active"], result["reasons"])
        self.assertEqual(result["mode"], "as-is")

    def test_a_static_program_with_the_library_inside(self):
        archive = LIBRARY.parent / "libcorbelmalloc_proxy.a"
        if not archive.exists():
            self.skipTest("this build has no static library")
        self.compile_static()
        program = self.compile("inside", "#include <stdlib.h>\nint main(void) { "
                               "void *volatile p = malloc(9); free(p); return 0; }", "-static",
                               "-Wl,-u,malloc", archive)
        self.assertTrue(self.check("--", program)["active"])

    @unittest.skipUnless(os.geteuid() == 0, "only root can make a program setuid to another user")
    def test_a_setuid_program(self):
        program = self.compile("setuid-program", "int main(void) { return 0; }")
        if os.statvfs(self.folder).f_flag & os.ST_NOSUID:
            self.skipTest("the temporary folder ignores setuid")
        os.chown(program, 65534, 65534)
        program.chmod(0o4755)
        self.assertEqual(self.reasons(self.check("--", program)), ["setuid"])


class Settings(CheckTest):
    def settings(self, *words, **environment):
        result = self.check(*(words or ("--", "cat")), env=clean_environment(**environment))
        self.assertTrue(result["active"], result["reasons"])
        return {each["id"]: each for each in result["settings"]}, result["notes"]

    def test_defaults(self):
        settings, notes = self.settings()
        self.assertEqual(set(settings), {"heap_limit", "heap_hard_limit", "container_limit",
                                         "physical_memory", "pressure", "huge_pages",
                                         "helper_thread"})
        self.assertEqual(notes, [])
        self.assertTrue(settings["heap_limit"]["source"].startswith("default"))
        self.assertEqual(settings["heap_hard_limit"]["value"], "none")
        for name in ("huge_pages", "helper_thread"):
            self.assertEqual((settings[name]["value"], settings[name]["source"]),
                             ("auto", "default"))
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        self.assertEqual(settings["physical_memory"]["bytes"], memory)

    def test_from_the_environment(self):
        settings, notes = self.settings(
            CORBEL_HEAP_LIMIT="400M", CORBEL_HEAP_HARD_LIMIT="50%", CORBEL_HUGE_PAGES="never",
            CORBEL_HELPER_THREAD="always", TBB_MALLOC_USE_HUGE_PAGES="1")
        self.assertEqual(notes, [])
        self.assertEqual(settings["heap_limit"]["bytes"], 400 << 20)
        self.assertEqual(settings["heap_limit"]["source"], "CORBEL_HEAP_LIMIT=400M")
        whole = settings["container_limit"].get("bytes", settings["physical_memory"]["bytes"])
        self.assertAlmostEqual(settings["heap_hard_limit"]["bytes"], whole // 2, delta=10000)
        self.assertIn("CORBEL_HEAP_HARD_LIMIT=50%", settings["heap_hard_limit"]["source"])
        self.assertEqual((settings["huge_pages"]["value"], settings["huge_pages"]["source"]),
                         ("never", "CORBEL_HUGE_PAGES"))
        self.assertEqual((settings["helper_thread"]["value"], settings["helper_thread"]["source"]),
                         ("always", "CORBEL_HELPER_THREAD"))

    def test_the_older_name(self):
        for value, policy in (("1", "always"), ("0", "auto")):
            settings, _ = self.settings(TBB_MALLOC_USE_HUGE_PAGES=value)
            self.assertEqual((settings["huge_pages"]["value"], settings["huge_pages"]["source"]),
                             (policy, "TBB_MALLOC_USE_HUGE_PAGES"))

    def test_wrong_values_are_notes(self):
        wrong = {"CORBEL_HEAP_LIMIT": "lots", "CORBEL_HEAP_HARD_LIMIT": "4X",
                 "CORBEL_HUGE_PAGES": "maybe", "CORBEL_HELPER_THREAD": "2"}
        settings, notes = self.settings(**wrong)
        for name, value in wrong.items():
            self.assertTrue(any(f"{name}={value} is ignored" in note for note in notes), notes)
        self.assertEqual(settings["heap_hard_limit"]["value"], "none")
        self.assertEqual(settings["huge_pages"]["source"], "default")

    def test_of_a_running_process(self):
        process = subprocess.Popen(
            [str(CORBEL), "run", "--heap-limit", "123M", "--huge-pages", "always", "--", "cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_environment())
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        process.stdin.write(b"x")
        process.stdin.flush()
        self.assertEqual(process.stdout.read(1), b"x")
        # This test's own environment must not matter.
        settings, _ = self.settings("--pid", process.pid, CORBEL_HEAP_LIMIT="5G")
        self.assertEqual(settings["heap_limit"]["bytes"], 123 << 20)
        self.assertEqual(settings["huge_pages"]["value"], "always")

    def test_the_words_for_people(self):
        done = corbel("check", "--", "cat", env=clean_environment(CORBEL_HEAP_LIMIT="1.5G"))
        self.assertRegex(done.stdout, r"soft limit +1\.5 GiB +CORBEL_HEAP_LIMIT=1\.5G\n")
        self.assertRegex(done.stdout, r"memory pressure +\S.*\n")

    def test_a_program_without_corbel_has_none(self):
        self.assertEqual(self.check("--as-is", "--", "cat")["settings"], [])


class Processes(CheckTest):
    def start(self, *command, **environment):
        """A process that has finished starting; it ends with the test."""
        process = subprocess.Popen([*map(str, command)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env=clean_environment(**environment))

        def stop():
            process.kill()
            process.communicate()
        self.addCleanup(stop)
        process.stdin.write(b"x\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.read(1), b"x")
        return process.pid

    def test_with_and_without(self):
        result = self.check("--pid", self.start("cat", LD_PRELOAD=LIBRARY))
        self.assertTrue(result["active"], result["reasons"])
        self.assertTrue(self.symbol(result, "malloc")["provider"].endswith(LIBRARY.name))
        result = self.check("--pid", self.start("cat"))
        self.assertEqual(self.reasons(result), ["not-loaded"])
        self.assertIn("libc.so", self.symbol(result, "malloc")["provider"])

    def test_under_corbel_run(self):
        self.assertTrue(self.check("--pid", self.start(CORBEL, "run", "--", "cat"))["active"])

    def test_the_calls_really_lead_there(self):
        program = self.compile("echo", "#include <stdio.h>\n#include <stdlib.h>\nint main(void) {"
                               "char *p = malloc(100); while (fgets(p, 100, stdin)) "
                               "{ fputs(p, stdout); fflush(stdout); } free(p); return 0; }")
        result = self.check("--pid", self.start(program, LD_PRELOAD=LIBRARY))
        bindings = self.symbol(result, "malloc")["bindings"]
        self.assertIn(str(program), [each["from"] for each in bindings])
        self.assertTrue(all(each["to"].endswith(LIBRARY.name) for each in bindings), bindings)

    def test_another_preload_before(self):
        other = self.compile("libother.so", OWN_MALLOC, "-shared", "-fPIC")
        pid = self.start("cat", LD_PRELOAD=f"{other}:{LIBRARY}")
        self.assertEqual(self.reasons(self.check("--pid", pid)), ["another-preload"])

    def test_a_program_with_a_malloc_of_its_own(self):
        program = self.compile("own", OWN_MALLOC + "#include <unistd.h>\nint main(void) { char c; "
                               "while (read(0, &c, 1) > 0) write(1, &c, 1); return malloc(9) == 0; }")
        result = self.check("--pid", self.start(program, LD_PRELOAD=LIBRARY))
        self.assertEqual(self.reasons(result), ["own-malloc"])

    def test_a_static_program(self):
        program = self.compile("static-echo", "#include <unistd.h>\nint main(void) { char c; "
                               "while (read(0, &c, 1) > 0) write(1, &c, 1); return 0; }", "-static")
        result = self.check("--pid", self.start(program, LD_PRELOAD=LIBRARY))
        self.assertEqual(self.reasons(result), ["static"])

    def test_a_file_that_was_replaced_while_it_ran(self):
        for name in LIBRARY.parent.glob("libcorbelmalloc*.so.1"):
            shutil.copy(name, self.folder)
        copy = self.folder / LIBRARY.name
        pid = self.start("cat", LD_PRELOAD=copy)
        copy.unlink()
        self.assertTrue(self.check("--pid", pid)["active"])

    def test_a_preload_that_does_not_exist(self):
        missing = self.folder / "libcorbelmalloc_proxy.so.1"
        process = self.start("cat", LD_PRELOAD=missing)
        self.assertEqual(self.reasons(self.check("--pid", process))[0], "missing-file")

    def test_no_such_process(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        done = corbel("check", "--pid", gone.pid)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1)
        self.assertIn(f"no process {gone.pid}", done.stderr)


if __name__ == "__main__":
    unittest.main()
