#include "common/config/validate_teacher.h"

#include <string>
#include <utility>

namespace weir::config {

void ValidateTeacher(const v1::TeacherConfig& teacher, Violations* violations) {
  const std::string path = "data.synthetic.teacher";
  double sum = 0;
  for (const auto& [term, share] : {std::pair(".linear", teacher.linear()),
                                    {".pairwise", teacher.pairwise()},
                                    {".waves", teacher.waves()},
                                    {".gated", teacher.gated()}}) {
    violations->RequireRange(path + term, share, 0, 1000);
    sum += share;
  }
  if (sum != 0) return;
  violations->Add(path, "all shares are 0; give one of linear, pairwise, waves and gated more");
}

}  // namespace weir::config
