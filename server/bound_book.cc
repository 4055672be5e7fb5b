#include "server/bound_book.h"

#include "common/base/strings.h"

namespace weir::server {

void BoundBook::Add(uint32_t trainer, const BoundedParts& parts) {
  if (parts.pieces == 0 && parts.rows == 0) return;
  uint64_t pushes = 0;
  {
    const MutexLock lock(mutex_);
    v1::BoundedReport& sum = trainers_[trainer];
    sum.set_trainer(trainer);
    sum.set_pushes(pushes = sum.pushes() + 1);
    sum.set_pieces(sum.pieces() + parts.pieces);
    sum.set_rows(sum.rows() + parts.rows);
  }
  const std::string name = StrCat("trainer ", trainer);
  lines_.Warn(name, StrCat(name, " pushed more than max_push_norm allows (update.dense, ",
                           "update.rows): ", parts.pieces, " pieces and ", parts.rows,
                           " rows were scaled down; such pushes so far: ", pushes));
}

void BoundBook::Fill(google::protobuf::RepeatedPtrField<v1::BoundedReport>* reports) const {
  const MutexLock lock(mutex_);
  reports->Clear();
  for (const auto& [trainer, report] : trainers_) *reports->Add() = report;
}

}  // namespace weir::server
