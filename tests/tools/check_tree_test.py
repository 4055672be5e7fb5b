#!/usr/bin/env python3
"""Runs tools/checks/check_tree.py on small trees, each with one thing wrong."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools/checks"
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOOLS))
import check_tree  # noqa: E402

# A tree with nothing wrong, which uses every permission that a rule below denies to others.
SOUND = {
    "README.md": "",
    ".gitignore": "/build/\n*.pyc\n",
    "build/anything.txt": "",
    "common/base/a.h": "#pragma once\n",
    "common/base/a.cc": '#include "common/base/a.h"\n',
    "common/config/b.h": '#pragma once\n#include "common/layout/c.h"\n#include "common/base/a.h"\n',
    "common/layout/c.h": '#pragma once\n#include "common/proto/config.pb.h"\n',
    "common/transport/d.cc": "#include <zmq.h>\n",
    "common/kernels/e.cc": "#include <libxsmm.h>\n#include <tbb/task_arena.h>\n",
    "common/metrics/f.cc": "#include <nlohmann/json.hpp>\n",
    "common/wire/g.cc": "#include <xxhash.h>\n",
    "worker/data/h.cc": "#include <zlib.h>\n",
    "worker/model/i.cc": '#include "worker/data/h.h"\n',
    "worker/data/h.h": "#pragma once\n",
    "worker/main.cc": '#include <gflags/gflags.h>\n#include "gpu/register.h"\n',
    "server/s.cc": "#include <tbb/task_arena.h>\n",
    "server/main.cc": '#include "gpu/register.h"\n#include "server/s.h"\n',
    "server/s.h": "#pragma once\n",
    "gpu/register.h": '#pragma once\n#include "gpu/cuda.h"\n#include "common/base/a.h"\n',
    "gpu/cuda.h": "#pragma once\n#include <cuda_runtime.h>\n#include <cuda/atomic>\n",
    "gpu/emulator/machine.cc": "#include <boost/context/detail/fcontext.hpp>\n",
    "gpu/kernels/k.cu": '#include "gpu/cuda.h"\n',
    "tools/bench/peer.cc": "#include <zmq.hpp>\n",
    "tests/support/both.h": '#pragma once\n#include "server/s.h"\n#include "worker/data/h.h"\n',
} | {f"tests/{folder}/x_test.cc": "" for folder in (
    "common/base", "common/transport", "common/kernels", "common/metrics", "common/wire",
    "gpu/emulator", "gpu/kernels", "worker/data", "worker/model", "server")}


def function_of(line_count, name="F"):
    return f"void {name}() {{\n" + "  G();\n" * (line_count - 2) + "}\n"


class CheckTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def violations(self, changes):
        """Lines of output for the sound tree with changes; None removes a file."""
        shutil.rmtree(self.root)
        for path, text in (SOUND | changes).items():
            if text is not None:
                file = self.root / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
        return [str(violation) for violation in check_tree.check(self.root)]

    def assert_only(self, changes, start, *words):
        lines = self.violations(changes)
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(start + ": "), lines)
        for word in words:
            self.assertIn(word, lines[0])

    def assert_include_refused(self, path, header, *words):
        quoted = header if header.startswith("<") else f'"{header}"'
        pragma = "#pragma once\n" if path.endswith(".h") else "\n"
        self.assert_only({path: f"{pragma}#include {quoted}\n"}, f"{path}:2", *words)

    def test_accepts_a_sound_tree(self):
        self.assertEqual(self.violations({}), [])

    def test_floors_never_include_each_other_or_upwards(self):
        for path, header in (
                ("server/s.h", "worker/data/h.h"), ("worker/data/h.h", "server/s.h"),
                ("gpu/k.h", "worker/data/h.h"), ("gpu/k.h", "server/s.h"),
                ("common/base/a.h", "server/s.h"), ("common/base/a.h", "worker/data/h.h"),
                ("common/wire/w.h", "gpu/register.h"), ("server/t.h", "tests/support/both.h"),
                ("common/base/a.h", "tools/bench/x.h")):
            with self.subTest(path=path, header=header):
                self.assert_include_refused(
                    path, header, f"{path.split('/')[0]} must not include {header.split('/')[0]}")

    def test_only_the_mains_include_gpu(self):
        for path in ("server/s.h", "worker/data/h.h", "worker/data/main.cc"):
            with self.subTest(path=path):
                self.assert_include_refused(path, "gpu/register.h",
                                            "only server/main.cc and worker/main.cc")

    def test_folders_of_common_keep_to_their_table(self):
        self.assert_include_refused("common/base/a.h", "common/layout/c.h",
                                    "it may include: nothing")
        self.assert_include_refused("common/wire/w.h", "common/proto/config.pb.h", "base")
        self.assert_include_refused("common/layout/c.h", "common/transport/t.h", "base, proto")

    def test_folders_of_common_need_a_row_in_the_table(self):
        self.assert_include_refused("common/base/a.h", "common/new/x.h", "common/new has no row")

    def test_data_does_not_know_the_model(self):
        self.assert_include_refused("worker/data/h.h", "worker/model/i.h",
                                    "worker/data must not include worker/model")

    def test_third_party_headers_stay_inside_their_fences(self):
        for path, header, name in (
                ("common/wire/g.h", "<zmq.hpp>", "ZeroMQ"), ("tools/peer.cc", "<zmq.h>", "ZeroMQ"),
                ("worker/data/h.h", "<cuda_runtime.h>", "CUDA"),
                ("server/s.h", "<cub/cub.cuh>", "CUDA"),
                ("gpu/kernels/k.cu", "<cuda_runtime.h>", "CUDA"),
                ("gpu/emulator/machine.cc", "<cuda/atomic>", "CUDA"),
                ("gpu/kernels/k.cu", "<cooperative_groups.h>", "CUDA"),
                ("gpu/kernels/k.cu", "<boost/context/fiber.hpp>", "Boost.Context"),
                ("server/s.h", "<gflags/gflags.h>", "gflags"),
                ("worker/model/i.h", "<dnnl.hpp>", "oneDNN"),
                ("worker/model/i.h", "<oneapi/dnnl/dnnl.h>", "oneDNN"),
                ("common/store/p.h", "<oneapi/tbb/task_arena.h>", "oneTBB"),
                ("server/s.h", "<nlohmann/json.hpp>", "nlohmann-json"),
                ("common/config/b.h", "<xxhash.h>", "xxHash"),
                ("server/s.h", "<zlib.h>", "zlib")):
            with self.subTest(path=path, header=header):
                self.assert_include_refused(path, header, f"{name} is fenced")

    def test_our_headers_are_included_with_quotes_and_full_paths(self):
        self.assert_include_refused("server/s.h", "<common/base/a.h>", "quotes")
        self.assert_include_refused("server/t.h", "s.h", "not a path from the repository root")
        self.assert_include_refused("server/t.h", "../server/s.h", "not a path from the repository")

    def test_headers_have_pragma_once(self):
        self.assert_only({"common/base/a.h": "int x;\n"}, "common/base/a.h:1", "#pragma once")

    def test_using_namespace_is_refused_but_not_in_prose(self):
        self.assert_only({"server/s.cc": "// Not using namespace here.\n  using namespace std;\n"},
                         "server/s.cc:2", "using namespace")

    def test_cycles_are_found_once(self):
        self.assert_only({
            "common/base/a.h": '#pragma once\n#include "common/base/m.h"\n',
            "common/base/m.h": '#pragma once\n#include "common/base/n.h"\n',
            "common/base/n.h": '#pragma once\n\n#include "common/base/a.h"\n',
        }, "common/base/n.h:3",
            "common/base/a.h -> common/base/m.h -> common/base/n.h -> common/base/a.h")

    def test_folders_have_tests(self):
        self.assert_only({"tests/common/wire/x_test.cc": None}, "common/wire/g.cc:1",
                         "common/wire has no test")
        self.assert_only({"tests/gpu/kernels/x_test.cc": None}, "gpu/kernels/k.cu:1",
                         "gpu/kernels has no test")

    def test_the_top_level_is_closed(self):
        self.assert_only({"scripts/go.sh": ""}, "scripts:1", "top level")

    def test_functions_have_at_most_25_lines(self):
        self.assertEqual(self.violations({"server/s.cc": function_of(25)}), [])
        self.assert_only({"server/s.cc": "\n" + function_of(26)}, "server/s.cc:2",
                         "F has 26 lines; server has 1 functions over 25 lines",
                         "tools/checks/long_code.txt allows 0")

    def test_kernels_are_measured_as_other_sources_are(self):
        head = '#include "gpu/cuda.h"\n__global__ void __launch_bounds__(kThreads)\n    '
        kernel = function_of(25).removeprefix("void ")
        self.assert_only({"gpu/kernels/k.cu": head + kernel}, "gpu/kernels/k.cu:2",
                         "F has 26 lines; gpu/kernels has 1 functions over 25 lines")
        self.assert_only({"gpu/kernels/k.cu": "int x;\n" * 201}, "gpu/kernels/k.cu:1",
                         "201 lines; gpu/kernels has 1 sources over 200 lines")

    def test_sources_have_at_most_200_lines_and_headers_120(self):
        for path, most in (("server/s.cc", 200), ("server/s.h", 120)):
            text = "#pragma once\n" + "int x;\n" * (most - 1)
            with self.subTest(path=path):
                self.assertEqual(self.violations({path: text}), [])
                self.assert_only({path: text + "\n"}, f"{path}:1", f"{most + 1} lines; server has")

    def test_one_long_function_too_many_names_all_of_the_folder(self):
        allowed = {"tools/checks/long_code.txt": "# a comment\n\nserver 1 0 0 0\n",
                   "server/old.cc": function_of(40, "Old")}
        self.assertEqual(self.violations(allowed), [])
        lines = self.violations(allowed | {"server/s.cc": function_of(30, "New")})
        self.assertEqual([line.partition(";")[0] for line in lines],
                         ["server/old.cc:1: Old has 40 lines", "server/s.cc:1: New has 30 lines"])

    def test_a_very_long_function_is_not_allowed_by_the_number_of_long_ones(self):
        allowed = {"tools/checks/long_code.txt": "server 1 0 0 0\n"}
        self.assert_only(allowed | {"server/s.cc": function_of(61)}, "server/s.cc:1",
                         "server has 1 functions over 60 lines")

    def test_what_became_shorter_lowers_the_bound(self):
        for folder in ("server", "server/gone"):
            with self.subTest(folder=folder):
                self.assert_only({"tools/checks/long_code.txt": f"{folder} 0 0 1 0\n"},
                                 "tools/checks/long_code.txt:1",
                                 f"{folder} has 0 sources over 200 lines, and 1 are allowed",
                                 "check_tree.py --sizes > tools/checks/long_code.txt")

    def test_a_line_of_the_bounds_that_says_nothing_is_refused(self):
        for line in ("server 1 0 0", "server 1 0 0 -1", "server"):
            with self.subTest(line=line):
                self.assert_only({"tools/checks/long_code.txt": f"#\n{line}\n"},
                                 "tools/checks/long_code.txt:2", "a folder and 4 numbers")

    def test_braces_that_do_not_match_are_told(self):
        self.assert_only({"server/s.cc": "#if A\nvoid F() {\n#else\nvoid F(int) {\n#endif\n}\n"},
                         "server/s.cc:6", "braces do not match")

    def test_the_sizes_that_the_command_prints_are_the_bounds(self):
        self.violations({"server/s.cc": function_of(61), "server/t.h": "#pragma once\n" * 121})
        command = [sys.executable, TOOLS / "check_tree.py", f"--root={self.root}"]
        sizes = subprocess.run(command + ["--sizes"], capture_output=True, text=True, check=True)
        self.assertEqual(sizes.stdout.splitlines()[3:], ["server 1 1 0 1"])
        (self.root / "tools/checks").mkdir()
        (self.root / "tools/checks/long_code.txt").write_text(sizes.stdout)
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_all_violations_are_reported_at_once(self):
        lines = self.violations({"server/s.h": '#include "worker/data/h.h"\n', "notes.txt": ""})
        self.assertEqual(len(lines), 3, lines)

    def test_the_command_prints_violations_and_exits_with_1(self):
        self.violations({"notes.txt": ""})
        result = subprocess.run([sys.executable, TOOLS / "check_tree.py", f"--root={self.root}"],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stdout.startswith("notes.txt:1: "), result.stdout)


if __name__ == "__main__":
    unittest.main()
