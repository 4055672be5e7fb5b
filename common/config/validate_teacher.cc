#include "common/config/validate_teacher.h"

#include <string>
#include <utility>

namespace weir::config {
namespace {

bool Varies(const v1::SyntheticConfig& synthetic) {
  const v1::TeacherConfig& teacher = synthetic.teacher();
  const int32_t tables = synthetic.tables(), dense = synthetic.dense_features();
  return (teacher.linear() > 0 && tables > 0) || (teacher.pairwise() > 0 && tables > 1) ||
         (teacher.waves() > 0 && dense > 0) || (teacher.gated() > 0 && tables > 0 && dense > 0);
}

}  // namespace

void ValidateTeacher(const v1::SyntheticConfig& synthetic, Violations* violations) {
  const v1::TeacherConfig& teacher = synthetic.teacher();
  const std::string path = "data.synthetic.teacher";
  double sum = 0;
  for (const auto& [term, share] : {std::pair(".linear", teacher.linear()),
                                    {".pairwise", teacher.pairwise()},
                                    {".waves", teacher.waves()},
                                    {".gated", teacher.gated()}}) {
    violations->RequireRange(path + term, share, 0, 1000);
    sum += share;
  }
  if (sum == 0) {
    violations->Add(path, "all shares are 0; give one of linear, pairwise, waves and gated more");
  } else if (!Varies(synthetic)) {
    violations->Add(
        path,
        "of so few features no term that has a share can vary, so labels would be chance; "
        "linear needs tables, pairwise two, waves dense_features, gated both");
  }
}

}  // namespace weir::config
