// A small push through everything that a worker and a server are: link, session, transport,
// dispatcher, strands, and the answer back.

#include <thread>
#include <utility>
#include <vector>

#include "common/config/load_config.h"
#include "common/transport/zmq_transport.h"
#include "common/wire/piece_frame.h"
#include "server/server.h"
#include "tools/bench/link_ends.h"
#include "worker/link/server_link.h"

namespace weir::bench {
namespace {

constexpr int kFirstWeights = 8 * 13;  // of 13 dense features
constexpr const char* kTinyModel = R"(
  model { bottom_widths: [8, 4] top_widths: 1 embedding_dimension: 4 }
  data { synthetic { rows: 10 } }
  cluster { server_threads: 1 })";

// Every second weight of the first layer's first 32, by an amount that does no harm however often
// it is pushed.
transport::Part SmallFrame() {
  std::vector<uint16_t> indexes;
  for (uint16_t i = 0; i < 32; i += 2) indexes.push_back(i);
  const std::vector<float> values(indexes.size(), 1e-9f);
  Bytes bytes;
  wire::PieceFrameWriter writer;
  writer.Open(&bytes, wire::FrameKind::kGradient, 0, 0, wire::ValueCoding::kF32);
  writer.Append(0, kFirstWeights, indexes, values);
  writer.Finish();
  return transport::Part(std::move(bytes));
}

}  // namespace

struct LinkEnds::Parts {
  explicit Parts(v1::Config the_config) : config(std::move(the_config)), layout(config, 1) {}
  ~Parts() {
    link.reset();
    if (server) server->Stop();
    if (thread.joinable()) thread.join();
  }

  const v1::Config config;
  const ModelLayout layout;
  const transport::Part frame = SmallFrame();
  std::unique_ptr<server::Server> server;
  std::thread thread;
  std::unique_ptr<worker::ServerLink> link;
};

LinkEnds::LinkEnds(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
LinkEnds::LinkEnds(LinkEnds&&) noexcept = default;
LinkEnds::~LinkEnds() = default;

Result<LinkEnds> LinkEnds::Make() {
  WEIR_ASSIGN_OR_RETURN(v1::Config config, config::LoadConfig({}, kTinyModel));
  auto parts = std::make_unique<Parts>(std::move(config));
  auto transport = transport::MakeZmqServerTransport({});
  WEIR_ASSIGN_OR_RETURN(const std::string address, transport->Bind("tcp://127.0.0.1:0"));
  parts->server = std::make_unique<server::Server>(parts->config, 1, 0, std::move(transport));
  parts->thread = std::thread([server = parts->server.get()] { (void)server->Run(); });
  parts->link = std::make_unique<worker::ServerLink>(
      parts->config, parts->layout, worker::LinkOptions{.server_addresses = {address}},
      transport::MakeZmqClientTransport({}));
  WEIR_RETURN_IF_ERROR(parts->link->Connect());
  return LinkEnds(std::move(parts));
}

Status LinkEnds::Push() {
  worker::ServerLink& link = *parts_->link;
  WEIR_RETURN_IF_ERROR(link.AcquireCredit());
  const uint64_t sequence =
      link.SubmitPush({}, std::vector<worker::Body>{{parts_->frame}}, link.MarkRead());
  return link.AwaitAccepted(sequence);
}

}  // namespace weir::bench
