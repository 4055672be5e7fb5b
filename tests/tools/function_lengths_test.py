#!/usr/bin/env python3
"""tools/checks/function_lengths.py on sources as clang-format writes them."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/checks"))
from function_lengths import UnmatchedBraces, functions  # noqa: E402


class FunctionLengths(unittest.TestCase):
    def assert_functions(self, text, *expected):
        """expected: (line, name, count of lines)."""
        self.assertEqual([tuple(function) for function in functions(text)], list(expected))

    def test_a_function_goes_from_its_first_line_to_its_last(self):
        self.assert_functions("""\
namespace weir {
namespace {

// Of the function, and not a line of it.
std::vector<int> Numbers(int first,
                         int second = 3) {
  if (first) {
    return {first};
  }
  return {second};
}

}  // namespace

int One() { return 1; }
}  // namespace weir
""", (5, "Numbers", 7), (15, "One", 1))

    def test_methods_constructors_and_operators_are_functions(self):
        self.assert_functions("""\
class A : public B<int()> {
 public:
  explicit A(int a)
      : B{1, 2}, options_{.a = a, .b = 2}, c_(a) {}
  A& operator=(const A& other) { return *this; }
  bool operator()(int a) const noexcept {
    return a == 1;
  }
  operator bool() const { return true; }
  ~A() override { Close(); }
  struct Inside {
    void F() {}
  };

 private:
  int d_ = 3;
};
A::A() : B<int>{1}, c_([] { return 1; }()) {
}
""", (3, "A", 2), (5, "operator=", 1), (6, "operator()", 3), (9, "bool", 1), (10, "~A", 1),
            (12, "F", 1), (18, "A::A", 2))

    def test_templates_are_functions_and_their_first_line_is_the_templates(self):
        self.assert_functions("""\
template <typename T, size_t kSize = 3, typename = std::enable_if_t<(kSize == 3)>>
T Sum(const std::array<T, kSize>& all) {
  return all[0];
}
""", (1, "Sum", 4))

    def test_tests_have_the_names_of_their_macros_arguments(self):
        self.assert_functions("TEST(Suite, IsFast) {\n  EXPECT_TRUE(true);\n}\n",
                              (1, "TEST(Suite, IsFast)", 3))

    def test_values_are_no_functions(self):
        self.assert_functions("""\
constexpr std::array<int, 2> kPair = {
    1,
    2,
};
enum class Kind : uint64_t {
  kA,
};
const auto kCompute = [](int a) {
  return a;
};
std::atomic<int> count{0};
struct Options {
  std::function<void()> stop = [] {};
};
""")

    def test_local_classes_and_lambdas_are_lines_of_the_function(self):
        self.assert_functions("""\
void F() {
  struct Local {
    void G() {}
  };
  const auto h = [&] {
    return 1;
  };
}
""", (1, "F", 8))

    def test_braces_of_literals_comments_and_directives_do_not_count(self):
        self.assert_functions("""\
#define OPEN {
#define LONG_OPEN \\
  {
extern "C" {
void F() {
  a = '{', b = "{\\"{", c = 1'000'000;  // {
  d = R"x({ "{ )x"; /* {
  { */
}
}
""", (5, "F", 5))

    def test_macros_that_stand_alone_are_not_of_the_function(self):
        self.assert_functions("""\
PUSH_ATTRIBUTES("")
namespace weir {
POP_ATTRIBUTES

void F() {
}
}
""", (5, "F", 2))

    def test_braces_that_do_not_match_are_told_with_their_line(self):
        for text, line in (("void F() {\n", 2), ("namespace a {\n", 2), ("\n}\nvoid F() {}\n", 2)):
            with self.subTest(text=text), self.assertRaises(UnmatchedBraces) as raised:
                functions(text)
            self.assertEqual(raised.exception.args, (line,))


if __name__ == "__main__":
    unittest.main()
