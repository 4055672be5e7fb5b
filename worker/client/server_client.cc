#include "worker/client/server_client.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/store/update_rule.h"

namespace weir::worker {
namespace {

std::optional<uint32_t> StageNumber(const LinkOptions& options) {
  if (options.stage_count > 1) return options.stage;
  return std::nullopt;
}

size_t UniqueCount(const data::Batch& batch) {
  size_t total = 0;
  for (const data::TableIds& ids : batch.tables) total += ids.unique.size();
  return total;
}

}  // namespace

ServerClient::ServerClient(const v1::Config& config, const ModelLayout& layout, LinkOptions options,
                           std::unique_ptr<transport::ClientTransport> transport)
    : layout_(layout),
      stage_number_(StageNumber(options)),
      stage_(layout.stage_of(stage_number_)),
      device_(*options.compute.device),
      caches_(MakeRowCaches(config.compression().row_cache(), layout, options.compute)),
      encoder_(config, layout, options.trainer, stage_, options.compute),
      schedule_(config, layout, stage_, !stage_number_, device_, encoder_),
      link_(config, layout, std::move(options), std::move(transport)) {
  for (uint32_t tensor = stage_.first_tensor; tensor < stage_.end_tensor; ++tensor) {
    dense_bytes_ += static_cast<uint64_t>(layout.tensors()[tensor].element_count()) * sizeof(float);
  }
  if (store::MakeUpdateRule(config.update().dense())->dense_semantics()) {
    LOG(WARNING) << "update.dense.dense_semantics: every step moves every element of the MLPs, so "
                    "every answer carries all of them, "
                 << layout.dense_element_count() << " numbers";
  }
}

// Evaluation sees rows as the servers have them.
std::unique_ptr<RowPull> ServerClient::PullRows(const data::Batch& batch, bool read_only) {
  std::unique_ptr<ServerPull> pull = MakePull(batch, read_only);
  link_.SubmitRowPull(&pull->request);
  return pull;
}

std::unique_ptr<ServerPull> ServerClient::MakePull(const data::Batch& batch, bool read_only) {
  const uint64_t step = read_only ? 0 : pull_step_.fetch_add(1, std::memory_order_relaxed);
  auto pull = std::make_unique<ServerPull>(layout_, caches_, !read_only, step);
  if (read_only) CountDense(batch, false);
  pull->request.read_only = read_only;
  pull->Ask(batch);
  return pull;
}

Status ServerClient::AwaitRows(RowPull* base, std::span<float> rows) {
  auto& pull = static_cast<ServerPull&>(*base);
  WEIR_ASSIGN_OR_RETURN(const std::vector<Body> replies, link_.AwaitRowReplies(pull.request.id));
  return pull.Take(replies, rows, [this](size_t server) { return link_.PeerName(server); });
}

Status ServerClient::AwaitRowsOnDevice(RowPull* base, device::Stream& stream,
                                       device::Span<float> rows) {
  auto& pull = static_cast<ServerPull&>(*base);
  WEIR_ASSIGN_OR_RETURN(const std::vector<Body> replies, link_.AwaitRowReplies(pull.request.id));
  return pull.TakeOnDevice(replies, stream, rows.data,
                           [this](size_t server) { return link_.PeerName(server); });
}

void ServerClient::Forget(RowPull* pull) {
  link_.ForgetRowPull(static_cast<ServerPull&>(*pull).request.id);
}

ReadMark ServerClient::MarkRead() { return link_.MarkRead(); }

void ServerClient::SetWindow(int window, bool awaits_answers) {
  link_.SetWindow(window);
  schedule_.SetWaits(awaits_answers);
}

Status ServerClient::Refresh() { return Refresh(0); }

Status ServerClient::Refresh(uint64_t checkpoint) {
  WEIR_RETURN_IF_ERROR(link_.AcquireCredit());
  v1::Push push;
  push.set_is_refresh(true);
  push.set_checkpoint(checkpoint);
  const uint64_t sequence = link_.SubmitPush(
      std::move(push), std::vector<Body>(layout_.server_count()), link_.MarkRead());
  return link_.AwaitAccepted(sequence);
}

Result<v1::ReportReply> ServerClient::SendReport(v1::Report report) {
  return link_.SendReport(std::move(report));
}

Result<v1::WorkReply> ServerClient::RequestWork(v1::WorkRequest request,
                                                std::vector<Bytes> scores) {
  Body body;
  for (Bytes& frame : scores) body.emplace_back(std::move(frame));
  return link_.RequestWork(std::move(request), std::move(body));
}

Result<SavedSteps> ServerClient::Save(const std::function<Status(ByteSpan frames)>& take) {
  SavedSteps steps;
  for (uint32_t server = 0; server < layout_.server_count(); ++server) {
    for (std::optional<v1::ModelPlace> place(std::in_place); place;) {
      WEIR_ASSIGN_OR_RETURN(const Outstanding::Section section, link_.PullSection(server, *place));
      for (const transport::Part& frames : section.frames)
        WEIR_RETURN_IF_ERROR(take(frames.span()));
      steps.all = std::max<uint64_t>(steps.all, section.reply.version());
      steps.rows = std::max<uint64_t>(steps.rows, section.reply.row_version());
      place.reset();
      if (section.reply.has_next()) place = section.reply.next();
    }
  }
  return steps;
}

Status ServerClient::Connect() {
  WEIR_RETURN_IF_ERROR(link_.Connect());
  Status loaded = LoadPolicyStates();
  if (!loaded.ok()) Stop(loaded, true);  // who has joined is waited for, unless he says so
  return loaded;
}

// Evaluation pulls rows and nothing else.
void ServerClient::CountDense(const data::Batch& batch, bool is_step) {
  const uint64_t row_bytes =
      UniqueCount(batch) * sizeof(float) * static_cast<uint64_t>(layout_.embedding_dimension());
  v1::KindBytes bytes;
  bytes.set_row_pull(row_bytes);
  if (is_step) {
    bytes.set_push(dense_bytes_);
    bytes.set_pull(dense_bytes_);
    bytes.set_row_push(row_bytes);
  }
  link_.meter().AddDense(bytes);
}

void ServerClient::FillReport(v1::WorkerReport* report) {
  link_.FillReport(report);
  encoder_.FillReport(report);
  schedule_.FillReport(report);
  if (caches_.empty()) return;
  const RowSlots::Counts counts = caches_.counts();
  v1::RowReport& rows = *report->mutable_rows();
  rows.set_cache_lookups(counts.lookups);
  rows.set_cache_hits(counts.hits);
  rows.set_cache_age_steps(counts.age_steps);
}

}  // namespace weir::worker
