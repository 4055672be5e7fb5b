#include "common/base/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "common/base/exit_code.h"

namespace weir {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return InvalidData("odd");
  return value / 2;
}

Result<int> Quarter(int value) {
  WEIR_ASSIGN_OR_RETURN(const int half, Half(value));
  WEIR_ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

Status CheckQuarter(int value) {
  WEIR_RETURN_IF_ERROR(Quarter(value).status());
  return OkStatus();
}

TEST(Status, IsOkByDefault) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().ToString(), "OK");
  EXPECT_EQ(Status().message(), "");
}

TEST(Status, CarriesCodeAndMessage) {
  const Status status = DeadlineExceeded("server 1 at tcp://h1:7100 is silent");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(status.message(), "server 1 at tcp://h1:7100 is silent");
  std::ostringstream out;
  out << status;
  EXPECT_EQ(out.str(), "DEADLINE_EXCEEDED: server 1 at tcp://h1:7100 is silent");
}

TEST(Status, EveryFactoryHasItsCode) {
  const std::pair<Status, const char*> cases[] = {
      {InvalidConfig("m"), "INVALID_CONFIG: m"},
      {InvalidData("m"), "INVALID_DATA: m"},
      {NotFound("m"), "NOT_FOUND: m"},
      {Unavailable("m"), "UNAVAILABLE: m"},
      {DeadlineExceeded("m"), "DEADLINE_EXCEEDED: m"},
      {FailedPrecondition("m"), "FAILED_PRECONDITION: m"},
      {ResourceExhausted("m"), "RESOURCE_EXHAUSTED: m"},
      {Interrupted("m"), "INTERRUPTED: m"},
      {Internal("m"), "INTERNAL: m"},
  };
  for (const auto& [status, text] : cases) EXPECT_EQ(status.ToString(), text);
}

TEST(Result, HoldsAValueOrAReason) {
  const Result<int> good = 7;
  EXPECT_TRUE(good.ok());
  EXPECT_TRUE(good.status().ok());
  EXPECT_EQ(*good, 7);
  const Result<int> bad = NotFound("no such file");
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().code(), StatusCode::kNotFound);
}

TEST(Result, PassesMoveOnlyValues) {
  Result<std::unique_ptr<std::string>> result = std::make_unique<std::string>("weir");
  EXPECT_EQ((*result)->size(), 4u);
  const std::unique_ptr<std::string> taken = *std::move(result);
  EXPECT_EQ(*taken, "weir");
}

TEST(Result, TheMacrosReturnTheFirstError) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(6).status().message(), "odd");
  EXPECT_TRUE(CheckQuarter(8).ok());
  EXPECT_EQ(CheckQuarter(7).code(), StatusCode::kInvalidData);
}

TEST(ResultDeathTest, TakingTheValueOfAnErrorDies) {
  Result<int> bad = NotFound("no such file");
  EXPECT_DEATH(bad.value(), "no such file");
  EXPECT_DEATH({ const Result<int> nothing{OkStatus()}; }, "needs a reason");
}

TEST(ExitCode, TellsConfigInterruptionAndFailureApart) {
  EXPECT_EQ(ExitCode(OkStatus()), 0);
  EXPECT_EQ(ExitCode(Unavailable("")), 1);
  EXPECT_EQ(ExitCode(InvalidData("")), 1);
  EXPECT_EQ(ExitCode(InvalidConfig("")), 2);
  EXPECT_EQ(ExitCode(Interrupted("")), 130);
}

}  // namespace
}  // namespace weir
