#include "worker/link/wire_meter.h"

#include <gtest/gtest.h>

#include "common/metrics/report.h"
#include "common/wire/piece_frame.h"
#include "common/wire/row_frame.h"
#include "common/wire/score_frame.h"

namespace weir::worker {
namespace {

constexpr size_t kHeaderBytes = 20;
constexpr uint64_t kHeaderCost = kHeaderBytes + 2;  // ZMTP: 2 bytes before a short part

transport::Part PieceFrame(wire::FrameKind kind, uint32_t elements) {
  Bytes bytes;
  wire::PieceFrameWriter writer;
  writer.Open(&bytes, kind, 0, 0, wire::ValueCoding::kF32);
  writer.AppendDense(0, std::vector<float>(elements, 1));
  writer.Finish();
  return transport::Part(std::move(bytes));
}

transport::Part RowIds() {
  Bytes bytes;
  wire::AppendRowIds(&bytes, 0, 4, std::vector<uint64_t>{1, 2, 3});
  return transport::Part(std::move(bytes));
}
transport::Part RowValues() {
  Bytes bytes;
  wire::AppendRowValues(&bytes, 0, 4, std::vector<float>(8), wire::ValueCoding::kF32);
  return transport::Part(std::move(bytes));
}
transport::Part RowGradients() {
  Bytes bytes;
  wire::AppendRowGradients(&bytes, 0, 4, std::vector<uint64_t>{7}, std::vector<float>(4),
                           wire::ValueCoding::kF32);
  return transport::Part(std::move(bytes));
}
transport::Part Scores() {
  Bytes bytes;
  wire::AppendScores(&bytes, std::vector<float>{0.5f}, std::vector<uint8_t>{1});
  return transport::Part(std::move(bytes));
}

transport::Message MessageOf(std::vector<transport::Part> body) {
  transport::Message message;
  message.parts.emplace_back(Bytes(kHeaderBytes));
  for (transport::Part& part : body) message.parts.push_back(std::move(part));
  return message;
}

v1::WorkerReport ReportOf(const WireMeter& meter) {
  v1::WorkerReport report;
  meter.FillReport(&report);
  return report;
}

TEST(WireMeter, CountsAMessageWithoutABodyAsControl) {
  WireMeter meter;
  meter.AddSent(MessageOf({}));
  EXPECT_EQ(ReportOf(meter).sent().control(), kHeaderCost);
  EXPECT_EQ(metrics::TotalBytes(ReportOf(meter).sent()), kHeaderCost);
}

TEST(WireMeter, CountsTheHeaderForTheFirstFramesKind) {
  const transport::Part gradients = PieceFrame(wire::FrameKind::kGradient, 100);
  const transport::Part rows = RowGradients();
  WireMeter meter;
  meter.AddSent(MessageOf({gradients, rows}));
  const v1::WorkerReport report = ReportOf(meter);
  EXPECT_EQ(report.sent().push(), kHeaderCost + transport::WireBytes(gradients));
  EXPECT_EQ(report.sent().row_push(), transport::WireBytes(rows));

  WireMeter rows_first;
  rows_first.AddSent(MessageOf({rows}));
  EXPECT_EQ(ReportOf(rows_first).sent().row_push(), kHeaderCost + transport::WireBytes(rows));
}

TEST(WireMeter, CountsLongPartsWithTheirLongZmtpHeader) {
  const transport::Part gradients = PieceFrame(wire::FrameKind::kGradient, 100);
  ASSERT_GT(gradients.size(), 255u);
  WireMeter meter;
  meter.AddSent(MessageOf({gradients}));
  EXPECT_EQ(ReportOf(meter).sent().push(), kHeaderCost + gradients.size() + 9);
}

TEST(WireMeter, KnowsEveryKindOfFrame) {
  WireMeter meter;
  const transport::Part values = PieceFrame(wire::FrameKind::kValues, 3);
  meter.AddReceived(MessageOf({values}));
  meter.AddReceived(MessageOf({RowValues()}));
  meter.AddSent(MessageOf({RowIds()}));
  meter.AddSent(MessageOf({Scores()}));
  const v1::WorkerReport report = ReportOf(meter);
  EXPECT_EQ(report.received().pull(), kHeaderCost + transport::WireBytes(values));
  EXPECT_EQ(report.received().row_pull(), kHeaderCost + transport::WireBytes(RowValues()));
  EXPECT_EQ(report.sent().row_pull(), kHeaderCost + transport::WireBytes(RowIds()));
  EXPECT_EQ(report.sent().control(), kHeaderCost + transport::WireBytes(Scores()));
}

TEST(WireMeter, KindsAddUpToWhatTheMessagesOccupy) {
  const std::vector<transport::Message> messages = {
      MessageOf({}),
      MessageOf({PieceFrame(wire::FrameKind::kGradient, 10), RowGradients()}),
      MessageOf({PieceFrame(wire::FrameKind::kValues, 900)}),
      MessageOf({RowIds()}),
      MessageOf({RowValues()}),
      MessageOf({Scores(), Scores()}),
      MessageOf({transport::Part(Bytes{1, 2, 3})}),   // no frame
      MessageOf({transport::Part(Bytes(40, 0xee))}),  // no kind
      MessageOf({transport::Part()})};
  WireMeter meter;
  uint64_t total = 0;
  for (const transport::Message& message : messages) {
    meter.AddSent(message);
    meter.AddReceived(message);
    total += transport::WireBytes(message);
  }
  EXPECT_EQ(metrics::TotalBytes(ReportOf(meter).sent()), total);
  EXPECT_EQ(metrics::TotalBytes(ReportOf(meter).received()), total);
}

TEST(WireMeter, AddsUpTheDenseBaselineApart) {
  WireMeter meter;
  v1::KindBytes bytes;
  bytes.set_push(4);
  bytes.set_pull(3);
  bytes.set_row_push(2);
  bytes.set_row_pull(1);
  meter.AddDense(bytes);
  meter.AddDense(bytes);
  const v1::WorkerReport report = ReportOf(meter);
  EXPECT_EQ(report.dense().push(), 8u);
  EXPECT_EQ(report.dense().pull(), 6u);
  EXPECT_EQ(report.dense().row_push(), 4u);
  EXPECT_EQ(report.dense().row_pull(), 2u);
  EXPECT_EQ(metrics::TotalBytes(report.sent()), 0u);
}

TEST(WireMeter, TellsWhatAnswersBroughtAtFirstAndInTheEnd) {
  WireMeter meter;
  v1::KindBytes dense;
  dense.set_pull(4000);
  for (int step = 0; step < 100; ++step) {
    meter.AddDense(dense);
    meter.AddReceived(MessageOf({PieceFrame(wire::FrameKind::kValues, step < 50 ? 900 : 100)}));
    meter.AddReceived(MessageOf({RowValues()}));
  }
  const v1::AnswerPartsReport parts = ReportOf(meter).answer_parts();
  const auto share = [](uint64_t bytes, uint64_t whole) {
    return static_cast<double>(bytes) / static_cast<double>(whole);
  };
  EXPECT_NEAR(share(parts.first_bytes(), parts.first_dense_bytes()), 0.9, 0.2);
  EXPECT_NEAR(share(parts.last_bytes(), parts.last_dense_bytes()), 0.1, 0.05);
}

}  // namespace
}  // namespace weir::worker
