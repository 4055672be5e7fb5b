#include "common/transport/zap_handler.h"

#include <array>
#include <exception>
#include <iterator>
#include <string>
#include <utility>
#include <vector>
#include <zmq.hpp>
#include <zmq_addon.hpp>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::transport {
namespace {

constexpr const char* kRequests = "inproc://zeromq.zap.01";  // where ZeroMQ asks
constexpr const char* kEnd = "inproc://end-of-zap";

// The frames of a request: version, number, domain, address, routing id, mechanism, credentials.
enum Frame : size_t { kVersion, kNumber, kDomain, kAddress, kRoutingId, kMechanism, kCredentials };

// Empty: it has not proved to have any.
Key KeyIn(const std::vector<zmq::message_t>& request) {
  if (request.size() != kCredentials + 1 || request[kMechanism].to_string_view() != "CURVE") {
    return {};
  }
  const zmq::message_t& bytes = request[kCredentials];
  return EncodeKey({bytes.data<uint8_t>(), bytes.size()});
}

std::unique_ptr<zmq::socket_t> MakeSocket(zmq::context_t& context, zmq::socket_type type) {
  auto socket = std::make_unique<zmq::socket_t>(context, type);
  socket->set(zmq::sockopt::linger, 0);
  return socket;
}

}  // namespace

Result<std::unique_ptr<ZapHandler>> ZapHandler::Make(zmq::context_t& context,
                                                     std::shared_ptr<const KeyList> peers) {
  try {
    auto requests = MakeSocket(context, zmq::socket_type::rep);
    requests->bind(kRequests);
    auto end = MakeSocket(context, zmq::socket_type::pair);
    end->bind(kEnd);
    auto ended = MakeSocket(context, zmq::socket_type::pair);
    ended->connect(kEnd);
    return std::unique_ptr<ZapHandler>(
        new ZapHandler(std::move(requests), std::move(end), std::move(ended), std::move(peers)));
  } catch (const std::exception& error) {  // ZeroMQ's, or there is no thread to be had
    return Unavailable(StrCat("cannot ask who connects: ", error.what()));
  }
}

ZapHandler::ZapHandler(std::unique_ptr<zmq::socket_t> requests, std::unique_ptr<zmq::socket_t> end,
                       std::unique_ptr<zmq::socket_t> ended, std::shared_ptr<const KeyList> peers)
    : requests_(std::move(requests)),
      end_(std::move(end)),
      ended_(std::move(ended)),
      peers_(std::move(peers)),
      thread_([this] { Run(); }) {}

ZapHandler::~ZapHandler() {
  CHECK_EQ(zmq_send(ended_->handle(), nullptr, 0, 0), 0) << zmq_strerror(zmq_errno());
  thread_.join();
}

void ZapHandler::Run() {
  constexpr std::chrono::milliseconds kPause(1000);  // between two looks at what was counted
  std::vector<zmq::pollitem_t> items = {{requests_->handle(), 0, ZMQ_POLLIN, 0},
                                        {end_->handle(), 0, ZMQ_POLLIN, 0}};
  while (items[1].revents == 0) {
    try {
      zmq::poll(items, kPause);
    } catch (const zmq::error_t& error) {
      CHECK_EQ(error.num(), EINTR) << error.what();
      continue;
    }
    if (items[0].revents != 0) AnswerOne();
    complaints_.WarnOfCounted();
  }
}

void ZapHandler::AnswerOne() {
  std::vector<zmq::message_t> request;
  if (!zmq::recv_multipart(*requests_, std::back_inserter(request))) return;
  CHECK_GT(request.size(), size_t{kAddress}) << "ZeroMQ asks so";
  const Key key = KeyIn(request);
  const bool may_enter = !peers_->NameOf(key).empty();
  const std::string status = may_enter ? "200" : "400", who = may_enter ? key : "", nothing;
  const std::string reason = may_enter ? "OK" : "its key is not on the list";
  const std::array<zmq::const_buffer, 6> reply = {
      zmq::buffer(request[kVersion].data(), request[kVersion].size()),
      zmq::buffer(request[kNumber].data(), request[kNumber].size()),
      zmq::buffer(status),
      zmq::buffer(reason),
      zmq::buffer(who),
      zmq::buffer(nothing)};
  zmq::send_multipart(*requests_, reply);
  if (may_enter) return;
  const std::string host = request[kAddress].to_string();
  complaints_.Warn(host, StrCat("refused who connects from ", host, ": its public key, ", key,
                                ", is not on the list of this run's keys"));
}

}  // namespace weir::transport
