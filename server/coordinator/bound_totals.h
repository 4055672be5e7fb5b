// What all servers have scaled down of each trainer's pushes, as they told last.
//
// Place in the life of a batch: after it (the final report).
// Thread rule: owner thread only (the coordinator's).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "common/proto/report.pb.h"

namespace weir::server {

class BoundTotals {
 public:
  using Reports = google::protobuf::RepeatedPtrField<v1::BoundedReport>;

  // Of this server: asked whenever a sum is.
  void SetOwn(std::function<void(Reports* own)> fill) { fill_own_ = std::move(fill); }
  // In the place of what the server told before.
  void Take(uint32_t server, const Reports& reports) { others_[server] = reports; }

  // By trainer, in order.
  Reports Sum() const {
    std::map<uint32_t, v1::BoundedReport> sums;
    Reports all;
    if (fill_own_) fill_own_(&all);
    Add(all, &sums);
    for (const auto& [server, reports] : others_) Add(reports, &sums);
    all.Clear();
    for (auto& [trainer, sum] : sums) *all.Add() = std::move(sum);
    return all;
  }

 private:
  static void Add(const Reports& reports, std::map<uint32_t, v1::BoundedReport>* sums) {
    for (const v1::BoundedReport& report : reports) {
      v1::BoundedReport& sum = (*sums)[report.trainer()];
      sum.set_trainer(report.trainer());
      sum.set_pushes(sum.pushes() + report.pushes());
      sum.set_pieces(sum.pieces() + report.pieces());
      sum.set_rows(sum.rows() + report.rows());
    }
  }

  std::function<void(Reports* own)> fill_own_;
  std::map<uint32_t, Reports> others_;
};

}  // namespace weir::server
