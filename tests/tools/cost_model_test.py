#!/usr/bin/env python3
"""The model of what compression saves (tools/pages/cost_model.py), against sums by hand."""

import sys
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.dont_write_bytecode = True
sys.path[:0] = [str(TOOLS), str(TOOLS / "pages")]
import cost_model  # noqa: E402

FREE = cost_model.Link(startup=0, byte=1)


class Exchanges(unittest.TestCase):
    def test_the_paper_s_example(self):
        """Eight workers at a ratio of 120.7: 2 * 7 * 120.7 / 64."""
        self.assertAlmostEqual(cost_model.paper_speedup(8, 120.7), 26.403125)

    def test_without_start_up_the_times_give_what_is_printed(self):
        for trainers in (2, 8, 100):
            times = (cost_model.all_reduce_seconds(FREE, trainers, 1000)
                     / cost_model.all_gather_seconds(FREE, trainers, 10))
            self.assertAlmostEqual(times, cost_model.paper_speedup(trainers, 100))

    def test_start_up_counts_for_each_message(self):
        slow = cost_model.Link(startup=5, byte=1)
        self.assertEqual(cost_model.all_reduce_seconds(slow, 4, 100), 6 * (5 + 25))
        self.assertEqual(cost_model.all_gather_seconds(slow, 4, 10), 3 * 5 + 40)
        self.assertEqual(cost_model.server_seconds(slow, 100, 30), 10 + 100)

    def test_answers_have_what_any_trainer_changed_and_no_more_than_everything(self):
        policy = cost_model.Policy("a", up=10, down=20, density=0.5)
        self.assertEqual(cost_model.answer_bytes(policy, 1, 1000), 20)
        self.assertEqual(cost_model.answer_bytes(policy, 2, 1000), 30)
        self.assertEqual(cost_model.answer_bytes(policy, 2, 25), 25)

    def test_sending_everything_takes_servers_once_the_bytes_and_an_all_reduce_nearly_twice(self):
        everything = cost_model.Policy("none", up=100, down=100, density=1.0)
        self.assertEqual(cost_model.speedups(FREE, everything, 8, 100)[2], 2 * 7 / 8)


class Tables(unittest.TestCase):
    TRAFFIC = {"tables": {"traffic": {"columns": ["policy", "density", "push, kB/step", "pull, kB/step"], "rows": [
        ["none", "1.0000", "1000", "1000"], ["dct", "0.0100", "10.0", "20.0"]]}}}
    TRANSPORT = {"lines": [{"name": "transport/round_trip", "value": 200.0}]}

    def test_have_a_line_for_each_exchange_and_bold_what_is_slower(self):
        text = cost_model.speedup_table(self.TRAFFIC, self.TRANSPORT, "dct;none", "2;8")
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.strip().splitlines()]
        self.assertEqual(rows[0], ["policy", "exchange", "2 trainers", "8 trainers"])
        self.assertEqual(rows[2], ["`dct`", "all-gather, as printed", "50", "21.9"])
        self.assertEqual(rows[3][2], "%.3g" % ((2 * (1e-4 + 4e-3)) / (1e-4 + 1.6e-4)))
        self.assertEqual(rows[4][2], "%.3g" % ((2e-4 + 8e-3) / (2e-4 + 8e-9 * 20e3 * 1.99)))
        self.assertEqual(rows[5], ["`none`", "all-gather, as printed", "**0.5**", "**0.22**"])
        self.assertEqual(rows[7], ["`none`", "servers", "1", "1.88"])

    def test_name_what_a_record_does_not_have(self):
        with self.assertRaisesRegex(ValueError, "rows are called 'sidco'"):
            cost_model.speedup_table(self.TRAFFIC, self.TRANSPORT, "sidco", "2")


if __name__ == "__main__":
    unittest.main()
