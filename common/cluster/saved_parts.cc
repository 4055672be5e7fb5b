#include "common/cluster/saved_parts.h"

#include "common/base/strings.h"

namespace weir::cluster {

Result<ByteSpan> PartSource::Take(std::string_view name) {
  const auto found = parts_.find(StrCat(beginning_, name));
  if (found == parts_.end()) {
    return InvalidData(StrCat("what was saved of the run lacks \"", beginning_, name, "\""));
  }
  Count(*found);
  return ByteSpan(found->second);
}

void PartSource::Count(const PartMap::value_type& part) {
  ++taken_.count;
  if (taken_.copy != nullptr) taken_.copy->Put(part.first, part.second);
}

Status PartSource::TakeEach(const std::string& beginning, TakePart take) {
  const std::string start = beginning_ + beginning;
  for (auto part = parts_.lower_bound(start); part != parts_.end(); ++part) {
    const std::string_view name = part->first;
    if (!name.starts_with(start)) break;
    Count(*part);
    if (!take(name.substr(start.size()), part->second)) {
      return Damaged(name.substr(beginning_.size()));
    }
  }
  return OkStatus();
}

Status PartSource::Damaged(std::string_view name) const {
  return InvalidData(StrCat("what was saved of the run is damaged, or of another release: \"",
                            beginning_, name, "\""));
}

Status PartSource::CheckAllWereTaken() const {
  if (taken_.count == parts_.size()) return OkStatus();
  return InvalidData(StrCat("of what was saved of the run ", parts_.size() - taken_.count,
                            " parts are unknown: another release wrote it"));
}

}  // namespace weir::cluster
