// Which chunk of the input goes to whom, as parts of what is saved.
#include <algorithm>

#include "common/cluster/lease_book.h"

namespace weir::cluster {

void LeaseBook::SaveChanges(SavedParts* parts) {
  saved_leases_.SaveChanges(*this, parts);
  order_.SaveChanges(parts);
  places_.SaveChanges(parts);
  chunks_with_rows_.SaveChanges(parts);
  lent_.SaveChanges(parts);
  tellers_.SaveChanges(parts);
}

Status LeaseBook::Load(PartSource* source) {
  WEIR_RETURN_IF_ERROR(saved_leases_.Load(source, this));
  WEIR_RETURN_IF_ERROR(order_.Load(source));
  WEIR_RETURN_IF_ERROR(places_.Load(source, order_.file_count()));
  WEIR_RETURN_IF_ERROR(chunks_with_rows_.Load(source));
  WEIR_RETURN_IF_ERROR(lent_.Load(source));
  WEIR_RETURN_IF_ERROR(tellers_.Load(source));
  lent_counts_.clear();
  for (const auto& [id, lent] : lent_) ++lent_counts_[lent.member];
  return HoldsTogether() ? OkStatus() : source->Damaged("leases");
}

// Every file that is spoken of is there, and no lease has the number of one to come.
bool LeaseBook::HoldsTogether() const {
  const auto is_file = [this](uint32_t file) { return file < order_.file_count(); };
  return next_id_ > 0 &&
         std::ranges::all_of(lent_.values(),
                             [&](const auto& entry) {
                               return entry.first < next_id_ &&
                                      is_file(entry.second.lease.key.file);
                             }) &&
         std::ranges::all_of(returned_,
                             [&](const Lease& lease) { return is_file(lease.key.file); }) &&
         std::ranges::all_of(tellers_.values(),
                             [&](const auto& entry) { return is_file(entry.second.file); }) &&
         std::ranges::all_of(chunks_with_rows_.values(),
                             [&](const auto& entry) { return is_file(entry.first); });
}

}  // namespace weir::cluster
