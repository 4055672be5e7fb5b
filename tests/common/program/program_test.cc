#include "common/program/program.h"

#include <gflags/gflags.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

DEFINE_int32(program_test_number, 1, "a flag of this test");

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Outcome {
  int exit_code;
  std::string errors;
};

Program Working(std::function<Status(const Arguments&)> run) {
  return {.usage = "tests", .flags_in = "program_test", .short_of_memory = "it", .run = run};
}

Outcome RunWith(std::vector<std::string> arguments, const Program& program) {
  arguments.insert(arguments.begin(), "program");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const gflags::FlagSaver saver;
  testing::internal::CaptureStderr();
  const int exit_code = RunProgram(program, static_cast<int>(arguments.size()), pointers.data());
  return {exit_code, testing::internal::GetCapturedStderr()};
}

Outcome EndWith(const Status& status) {
  return RunWith({}, Working([&](const Arguments&) { return status; }));
}

TEST(Program, TakesFlagsOutOfItsArguments) {
  Arguments seen;
  int number = 0;
  const Outcome outcome =
      RunWith({"first", "--program_test_number=7", "second"}, Working([&](const Arguments& left) {
                seen = left;
                number = FLAGS_program_test_number;
                return OkStatus();
              }));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.errors, "");
  EXPECT_THAT(seen, ElementsAre("first", "second"));
  EXPECT_EQ(number, 7);
}

TEST(Program, EndsWithTheCodeOfItsStatusAndSaysWhy) {
  EXPECT_EQ(EndWith(Unavailable("gone")).exit_code, 1);
  EXPECT_EQ(EndWith(Unavailable("gone")).errors, "error: gone\n");
  EXPECT_EQ(EndWith(InvalidConfig("wrong")).exit_code, 2);
  EXPECT_EQ(EndWith(TooLate("over")).exit_code, 3);
  EXPECT_EQ(EndWith(Interrupted("stopped")).exit_code, 130);
}

TEST(Program, MayHaveAsManyFilesOpenAsTheMachineGrants) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few = {.rlim_cur = before.rlim_max / 2, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  rlimit seen = {};
  RunWith({}, Working([&](const Arguments&) {
            getrlimit(RLIMIT_NOFILE, &seen);
            return OkStatus();
          }));
  EXPECT_EQ(seen.rlim_cur, before.rlim_max);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(Program, HasALineForEachMistakeAndNoneForWhatBelongsToOne) {
  EXPECT_EQ(EndWith(InvalidConfig("one\ntwo")).errors, "error: one\nerror: two\n");
  EXPECT_EQ(EndWith(Unavailable("from its log:\n    error: full")).errors,
            "error: from its log:\n    error: full\n");
}

TEST(Program, TellsWhatCheckFindsBesideWrongFlagsAndDoesNotRun) {
  bool has_run = false;
  Program program = Working([&](const Arguments&) {
    has_run = true;
    return OkStatus();
  });
  program.check = [](const Arguments&) { return InvalidConfig("a field is wrong"); };
  const Outcome checked = RunWith({}, program);
  EXPECT_EQ(checked.exit_code, 2);
  EXPECT_EQ(checked.errors, "error: a field is wrong\n");
  const Outcome both = RunWith({"--no_such_flag", "--config=a", "--config=b"}, program);
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.errors, HasSubstr("no_such_flag"));
  EXPECT_THAT(both.errors, HasSubstr("error: --config is given 2 times"));
  EXPECT_THAT(both.errors, HasSubstr("error: a field is wrong"));
  EXPECT_FALSE(has_run);
  program.check = nullptr;
  EXPECT_EQ(RunWith({"--program_test_number=seven"}, program).exit_code, 2);
  EXPECT_FALSE(has_run);
}

TEST(Program, SaysThatMemoryIsShort) {
  const Outcome outcome =
      RunWith({}, Working([](const Arguments&) -> Status { throw std::bad_alloc(); }));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.errors, "error: not enough memory for it\n");
}

TEST(Program, SaysWhatAnExceptionOfALibrarySays) {
  const Outcome outcome = RunWith({}, Working([](const Arguments&) -> Status {
                                    throw std::runtime_error("too many open files");
                                  }));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.errors, "error: too many open files\n");
}

TEST(Program, HelpListsItsFlagsAndDoesNotRun) {
  testing::internal::CaptureStdout();
  const Outcome outcome =
      RunWith({"--help"}, Working([](const Arguments&) { return Internal("has run"); }));
  const std::string help = testing::internal::GetCapturedStdout();
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(help, HasSubstr("program_test_number"));
  EXPECT_THAT(help, Not(HasSubstr("logtostderr"))) << "a flag of a library";
}

}  // namespace
}  // namespace weir
