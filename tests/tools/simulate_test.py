"""tools/simulate: what it records of many simulated runs."""

import importlib.machinery
import importlib.util
import os
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOADER = importlib.machinery.SourceFileLoader("simulate", os.path.join(ROOT, "tools", "simulate"))
SPEC = importlib.util.spec_from_loader("simulate", LOADER)
simulate = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(simulate)

SAID = ("[ RUN      ] Simulation.NothingIsLostOrTakenTwice\n"
        "100000 seeds from 1 on: 638.284 simulated hours, 0.448125 in each second, 271727 deaths, 2935246 pushes; "
        "trace 1cd4c06c31cea951\n")


class SimulateTest(unittest.TestCase):
    def test_what_a_simulation_says_at_its_end_is_a_table(self):
        rows = dict(simulate.table(SAID)["rows"])
        self.assertEqual(rows["runs"], "100,000")
        self.assertEqual(rows["hours"], "638")
        self.assertEqual(rows["hours in each second"], "0.45")
        self.assertEqual(rows["ends of processes and machines"], "271,727")
        self.assertEqual(rows["pushes"], "2,935,246")

    def test_of_one_that_does_not_get_there_is_none(self):
        self.assertIsNone(simulate.table(SAID.partition("\n")[0]))


if __name__ == "__main__":
    unittest.main()
