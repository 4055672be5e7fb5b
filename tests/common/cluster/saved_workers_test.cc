// What is known of workers, after the death of who knew it.
#include "common/base/strings.h"
#include "common/cluster/pipeline_book.h"
#include "common/cluster/report_book.h"
#include "tests/common/cluster/saved_books.h"

namespace weir::cluster {
namespace {

Seat AnyStage(RandomStream& random) {
  return {static_cast<uint32_t>(random.NextBelow(3)), static_cast<uint32_t>(random.NextBelow(2))};
}

int64_t SomeTime(RandomStream& random) { return static_cast<int64_t>(random.NextBelow(100'000)); }

std::string ChangeStage(PipelineBook& book, RandomStream& random) {
  const Seat seat = AnyStage(random);
  const uint64_t generation = book.Generation(seat.trainer) - random.NextBelow(2);
  const uint64_t kind = random.NextBelow(7);
  if (kind == 0) book.Leave(seat, SomeTime(random));
  if (kind == 1) book.Renew(seat, generation);
  if (kind == 2) book.Revoke(seat.trainer);
  if (kind == 3) {
    const std::string address = StrCat("tcp://h:", random.NextBelow(9));
    book.Join(seat, 2, 1 + random.NextBelow(3), address, SomeTime(random));
  }
  if (kind > 3) book.Adopt(seat, generation, random.NextUnit() < 0.5);
  v1::PipelineView view;
  book.FillView(seat.trainer, &view);
  return StrCat(view.ShortDebugString(), book.DescribeMissing(), book.IsAnyReady(),
                book.IncompleteSince(seat.trainer).value_or(-1),
                book.none_complete_since_ms().value_or(-1));
}

TEST(SavedPipelineBook, GoesOn) {
  Trial<PipelineBook> trial;
  trial.make = [] { return std::make_unique<PipelineBook>(uint64_t{77} << 40); };
  trial.act = ChangeStage;
  ExpectSurvives(trial);
}

v1::WorkerReport AnyReport(RandomStream& random) {
  v1::WorkerReport report;
  report.set_samples(random.NextBelow(1000));
  report.set_logloss_sum(random.NextUnit() * 1e9);
  report.mutable_staleness()->add_counts(random.NextBelow(10));
  v1::LayerReport& layer = *report.add_layers();
  layer.set_name(StrCat("top/", random.NextBelow(2), "/weight"));
  layer.set_elements(random.NextUnit() < 0.1 ? 9 : 8);
  layer.set_threshold(random.NextUnit());
  return report;
}

// Sums of floating point are the same only if they are made in the same order.
std::string Count(ReportBook& book, RandomStream& random) {
  const Seat seat{static_cast<uint32_t>(random.NextBelow(9)), 0};
  const uint64_t kind = random.NextBelow(6);
  if (kind == 0) book.Close(seat);
  const Status status = kind < 5 ? book.Take(seat, AnyReport(random)) : OkStatus();
  return StrCat(status, book.MergedNow().SerializeAsString());
}

TEST(SavedReportBook, GoesOn) {
  Trial<ReportBook> trial;
  trial.act = Count;
  trial.events = 40;
  ExpectSurvives(trial);
}

TEST(SavedReportBook, WritesWhoseReportIsNew) {
  ReportBook book;
  KeptParts kept;
  for (uint32_t trainer = 0; trainer < 5; ++trainer) {
    EXPECT_TRUE(book.Take({trainer, 0}, v1::WorkerReport()).ok());
  }
  book.SaveChanges(&kept);
  const PartMap before = kept.parts();
  v1::WorkerReport report;
  report.set_samples(9);
  EXPECT_TRUE(book.Take({3, 0}, report).ok());
  book.SaveChanges(&kept);
  EXPECT_EQ(kept.parts().size(), before.size() + 1) << "those of the others say nothing";
}

}  // namespace
}  // namespace weir::cluster
