#include "server/round_gate.h"

#include "common/base/strings.h"

namespace weir::server {

Status WhyNotKept(cluster::RoundBook::Verdict verdict, std::string_view what,
                  const RoundSender& sender) {
  using Verdict = cluster::RoundBook::Verdict;
  switch (verdict) {
    case Verdict::kKept:
      break;
    case Verdict::kLate:
      return FailedPrecondition(StrCat("round ", sender.round, " went on without trainer ",
                                       sender.trainer,
                                       ", which was silent for too long; start it again"));
    case Verdict::kNoMember:
      return InvalidData(StrCat("a ", what, " of round ", sender.round, ", in which trainer ",
                                sender.trainer, " is not"));
    case Verdict::kOtherMembers:
      return InvalidData(StrCat("a ", what, " of round ", sender.round,
                                " with other trainers in it than others say"));
  }
  return OkStatus();
}

AddressedNotice NoticeFor(const RoundSender& sender, const std::vector<uint32_t>& awaited) {
  AddressedNotice notice{sender.peer, {}};
  notice.notice.set_connection(sender.connection);
  notice.notice.set_round(sender.round);
  notice.notice.mutable_awaited()->Add(awaited.begin(), awaited.end());
  return notice;
}

}  // namespace weir::server
