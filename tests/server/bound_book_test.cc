#include "server/bound_book.h"

#include <gtest/gtest.h>

namespace weir::server {
namespace {

TEST(BoundBook, CountsWhatWasScaledDownByTrainer) {
  BoundBook book;
  book.Add(7, {.pieces = 0, .rows = 0});
  google::protobuf::RepeatedPtrField<v1::BoundedReport> reports;
  reports.Add()->set_trainer(99);
  book.Fill(&reports);
  EXPECT_TRUE(reports.empty()) << "nothing of it was";
  book.Add(7, {.pieces = 2, .rows = 30});
  book.Add(2, {.pieces = 1, .rows = 0});
  book.Add(7, {.pieces = 0, .rows = 5});
  book.Fill(&reports);
  ASSERT_EQ(reports.size(), 2);
  EXPECT_EQ(reports[0].trainer(), 2u);
  EXPECT_EQ(reports[1].trainer(), 7u);
  EXPECT_EQ(reports[1].pushes(), 2u);
  EXPECT_EQ(reports[1].pieces(), 2u);
  EXPECT_EQ(reports[1].rows(), 35u);
}

// The first at once; of what follows within a second no line of its own.
TEST(BoundBook, TheFirstOfATrainerIsAWarningWithItsName) {
  testing::internal::CaptureStderr();
  BoundBook book;
  book.Add(7, {.pieces = 2, .rows = 30});
  book.Add(2, {.pieces = 0, .rows = 1});
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("trainer 7 pushed more than max_push_norm allows"), std::string::npos) << log;
  EXPECT_NE(log.find("2 pieces and 30 rows were scaled down; such pushes so far: 1"),
            std::string::npos)
      << log;
  EXPECT_NE(log.find("trainer 2 pushed more than max_push_norm allows"), std::string::npos) << log;
}

}  // namespace
}  // namespace weir::server
