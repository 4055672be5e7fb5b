// Cuts, read while their shard goes on, and shards made of them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/text_format.h"
#include "server/shard/shard_cut.h"
#include "tests/server/server_test_support.h"
#include "tests/server/shard/running_shard.h"

namespace weir::server {

// Two stages, two tables, two partitions.
inline v1::Config CutConfig(const std::string& dense_rule, const std::string& row_rule,
                            int partitions = 2) {
  v1::Config config = TinyConfig();
  config.mutable_model()->set_embedding_dimension(kWidth);
  config.mutable_model()->set_bottom_widths(2, kWidth);
  config.mutable_data()->mutable_synthetic()->set_rows_per_table(kCutTableRows);
  config.mutable_pipeline()->add_split()->set_after("bottom/0");
  config.mutable_cluster()->set_row_partitions(partitions);
  config.clear_update();
  CHECK(google::protobuf::TextFormat::MergeFromString(
      "dense {" + dense_rule + "} rows {" + row_rule + "}", config.mutable_update()));
  config::FillDefaults(&config);
  return config;
}

struct WrittenCut {
  std::vector<Bytes> sections;
  Bytes summary;
  Status status;  // of all sections
  uint64_t steps = 0;
};

// Asks for a section whenever the one before is there.
class CutReader {
 public:
  explicit CutReader(Shard* shard, CutForm form = CutForm::kBits)
      : shard_(shard), cut_(shard, form) {
    written_.steps = cut_.steps();
    is_done_ = !Ask();
  }

  // What was asked for comes into the outbox.
  ~CutReader() { shard_->WaitIdle(); }

  // Whether all has been read.
  bool Look() {
    const auto sections = outbox_.TakeAll().sections;
    if (is_done_ || sections.empty()) return is_done_;
    if (written_.status.ok()) written_.status = sections[0]->status;
    written_.sections.push_back(std::move(sections[0]->frames));
    is_done_ = !Ask();
    if (is_done_) written_.summary = cut_.summary().Encode();
    return is_done_;
  }
  WrittenCut ReadAll() {
    while (!Look()) shard_->WaitIdle();
    return std::move(written_);
  }

 private:
  bool Ask() {
    const bool is_asked = cut_.Ask(&outbox_) != nullptr;
    shard_->HandOver();
    return is_asked;
  }

  Shard* const shard_;
  Outbox outbox_{[] {}};
  ShardCut cut_;
  WrittenCut written_;
  bool is_done_ = false;
};

inline Status RestoreFrom(const WrittenCut& written, Shard* shard) {
  WEIR_ASSIGN_OR_RETURN(const CutSummary summary, CutSummary::Decode(written.summary));
  size_t next = 0;
  return shard->Restore(summary, [&]() -> Result<std::optional<Bytes>> {
    if (next == written.sections.size()) return std::optional<Bytes>();
    return std::optional(written.sections[next++]);
  });
}

}  // namespace weir::server
