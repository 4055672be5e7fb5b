#include "worker/server_client.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/store/update_rule.h"
#include "common/wire/row_frame.h"

namespace weir::worker {
namespace {

// Which of the batch's rows each server was asked for, and which were at hand, as positions among
// all unique rows.
struct ServerPull : RowPull {
  struct Table {
    uint32_t table = 0;
    std::vector<size_t> positions;
    std::vector<uint64_t> ids;  // of the positions
  };
  bool read_only = false;
  uint64_t step = 0;  // when it was asked for; of no meaning if read_only
  uint64_t request_id = 0;
  std::vector<std::vector<Table>> servers;
  std::vector<size_t> cached_positions;
  std::vector<float> cached_rows;  // [cached_positions, dimension]
};

std::unique_ptr<RowCache> MakeCache(const v1::RowCacheConfig& config, const ModelLayout& layout) {
  if (config.rows() == 0 || layout.tables().empty()) return nullptr;
  return std::make_unique<RowCache>(static_cast<size_t>(config.rows()),
                                    static_cast<uint64_t>(config.max_age()),
                                    static_cast<size_t>(layout.embedding_dimension()));
}

size_t UniqueCount(const data::Batch& batch) {
  size_t total = 0;
  for (const data::TableIds& ids : batch.tables) total += ids.unique.size();
  return total;
}

StepEncoder::Scratch& ThreadScratch() {
  thread_local StepEncoder::Scratch scratch;
  return scratch;
}

}  // namespace

ServerClient::ServerClient(const v1::Config& config, const ModelLayout& layout, LinkOptions options,
                           std::unique_ptr<transport::ClientTransport> transport)
    : layout_(layout),
      cache_(MakeCache(config.compression().row_cache(), layout)),
      encoder_(config, layout, options.trainer),
      link_(config, layout, std::move(options), std::move(transport)) {
  if (store::MakeUpdateRule(config.update().dense())->dense_semantics()) {
    LOG(WARNING) << "update.dense.dense_semantics: every step moves every element of the MLPs, so "
                    "every answer carries all of them, "
                 << layout.dense_element_count() << " numbers";
  }
}

std::unique_ptr<RowPull> ServerClient::PullRows(const data::Batch& batch, bool read_only) {
  const uint32_t servers = layout_.server_count();
  const auto dimension = static_cast<size_t>(layout_.embedding_dimension());
  auto pull = std::make_unique<ServerPull>();
  pull->read_only = read_only;
  if (!read_only) pull->step = pull_step_.fetch_add(1, std::memory_order_relaxed);
  pull->servers.resize(servers);
  std::vector<Bytes> bodies(servers);
  std::vector<float> cached(dimension);
  size_t next_position = 0;
  for (uint32_t table = 0; table < batch.tables.size(); ++table) {
    for (auto& tables : pull->servers)
      tables.push_back({.table = table, .positions = {}, .ids = {}});
    for (const uint64_t id : batch.tables[table].unique) {
      const size_t position = next_position++;
      if (cache_ && !read_only && cache_->Find(table, id, pull->step, cached)) {
        pull->cached_positions.push_back(position);
        pull->cached_rows.insert(pull->cached_rows.end(), cached.begin(), cached.end());
        continue;
      }
      ServerPull::Table& asked = pull->servers[RowServer(table, id, servers)].back();
      asked.positions.push_back(position);
      asked.ids.push_back(id);
    }
    for (uint32_t server = 0; server < servers; ++server) {
      const std::vector<uint64_t>& ids = pull->servers[server].back().ids;
      if (ids.empty()) {
        pull->servers[server].pop_back();
      } else {
        wire::AppendRowIds(&bodies[server], table, static_cast<uint32_t>(dimension), ids);
      }
    }
  }
  std::vector<Body> requests(servers);
  for (uint32_t server = 0; server < servers; ++server) {
    if (!bodies[server].empty()) requests[server].emplace_back(std::move(bodies[server]));
  }
  if (read_only) CountDense(batch, false);
  pull->request_id = link_.SubmitRowPull(std::move(requests), read_only);
  return pull;
}

Status ServerClient::AwaitRows(RowPull* base, std::span<float> rows) {
  auto& pull = static_cast<ServerPull&>(*base);
  WEIR_ASSIGN_OR_RETURN(const std::vector<Body> replies, link_.AwaitRowReplies(pull.request_id));
  const auto dimension = static_cast<size_t>(layout_.embedding_dimension());
  for (size_t i = 0; i < pull.cached_positions.size(); ++i) {
    std::copy_n(pull.cached_rows.data() + i * dimension, dimension,
                rows.data() + pull.cached_positions[i] * dimension);
  }
  std::vector<float> values;
  for (size_t server = 0; server < replies.size(); ++server) {
    if (pull.servers[server].empty()) continue;
    if (replies[server].size() != 1) {
      return InvalidData(StrCat("server ", server, " answers a row pull with ",
                                replies[server].size(), " parts instead of 1"));
    }
    wire::FrameCursor cursor(replies[server][0].span());
    for (const ServerPull::Table& table : pull.servers[server]) {
      WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, cursor.Next());
      if (frame.header.tensor != table.table) {
        return InvalidData(StrCat("server ", server, " answers with rows of table ",
                                  frame.header.tensor, " instead of ", table.table));
      }
      WEIR_RETURN_IF_ERROR(wire::DecodeRowValues(frame, static_cast<uint32_t>(dimension),
                                                 static_cast<uint32_t>(table.positions.size()),
                                                 &values));
      for (size_t i = 0; i < table.positions.size(); ++i) {
        const std::span<const float> row = std::span(values).subspan(i * dimension, dimension);
        std::ranges::copy(row, rows.data() + table.positions[i] * dimension);
        if (cache_ && !pull.read_only) cache_->Put(table.table, table.ids[i], pull.step, row);
      }
    }
    if (!cursor.done()) {
      return InvalidData(StrCat("server ", server, " answers with rows nobody asked for"));
    }
  }
  return OkStatus();
}

ReadMark ServerClient::MarkRead() {
  ServerLink::Progress progress = link_.progress();
  return {std::move(progress.versions), std::move(progress.accepted), progress.accepted_sequence};
}

Result<uint64_t> ServerClient::Push(const StepGradients& step) {
  // Credit first, then select: what is selected leaves at once and is never selected twice.
  if (!link_.TryAcquireCredit()) {
    if (encoder_.MayWait(*step.batch)) {
      encoder_.Accumulate({step.dense, step.squares}, *step.batch, {step.rows, step.row_squares});
      return uint64_t{0};
    }
    WEIR_RETURN_IF_ERROR(link_.AcquireCredit());
  }
  CountDense(*step.batch, true);
  auto bodies = encoder_.Encode({step.dense, step.squares}, *step.batch,
                                {step.rows, step.row_squares}, &ThreadScratch());
  v1::Push push;
  push.set_lease(step.lease);
  push.set_offset(step.offset);
  return link_.SubmitPush(std::move(push), std::move(bodies),
                          {step.mark.versions, step.mark.accepted, step.mark.accepted_sequence});
}

Status ServerClient::Refresh() {
  WEIR_RETURN_IF_ERROR(link_.AcquireCredit());
  v1::Push push;
  push.set_is_refresh(true);
  const uint64_t sequence = link_.SubmitPush(
      std::move(push), std::vector<Body>(layout_.server_count()), link_.progress());
  return link_.AwaitAccepted(sequence);
}

Result<v1::WorkReply> ServerClient::RequestWork(v1::WorkRequest request,
                                                std::vector<Bytes> scores) {
  Body body;
  for (Bytes& frame : scores) body.emplace_back(std::move(frame));
  return link_.RequestWork(std::move(request), std::move(body));
}

Result<uint64_t> ServerClient::Save(const std::function<Status(ByteSpan frames)>& take) {
  uint64_t steps = 0;
  for (uint32_t server = 0; server < layout_.server_count(); ++server) {
    for (std::optional<v1::ModelPlace> place(std::in_place); place;) {
      WEIR_ASSIGN_OR_RETURN(const Outstanding::Part part, link_.PullPart(server, *place));
      for (const transport::Part& frames : part.frames) WEIR_RETURN_IF_ERROR(take(frames.span()));
      steps = std::max<uint64_t>(steps, part.reply.version());
      place.reset();
      if (part.reply.has_next()) place = part.reply.next();
    }
  }
  return steps;
}

// Evaluation pulls rows and nothing else.
void ServerClient::CountDense(const data::Batch& batch, bool is_step) {
  const uint64_t row_bytes =
      UniqueCount(batch) * sizeof(float) * static_cast<uint64_t>(layout_.embedding_dimension());
  v1::KindBytes bytes;
  bytes.set_row_pull(row_bytes);
  if (is_step) {
    const uint64_t dense_bytes =
        static_cast<uint64_t>(layout_.dense_element_count()) * sizeof(float);
    bytes.set_push(dense_bytes);
    bytes.set_pull(dense_bytes);
    bytes.set_row_push(row_bytes);
  }
  link_.meter().AddDense(bytes);
}

void ServerClient::FillReport(v1::WorkerReport* report) {
  link_.FillReport(report);
  encoder_.FillReport(report);
  if (!cache_) return;
  const RowCache::Counts counts = cache_->counts();
  v1::RowReport& rows = *report->mutable_rows();
  rows.set_cache_lookups(counts.lookups);
  rows.set_cache_hits(counts.hits);
  rows.set_cache_age_steps(counts.age_steps);
}

}  // namespace weir::worker
