#include "lsp/share_connection.h"

#include <utility>
#include <variant>

namespace foretoken::lsp {
namespace {

/// A text of the longest kind and what stands around it.
constexpr FrameLimits kFrames{.body = 65u << 20, .line = 256, .headers = 1024, .skippable = 65u << 20};

template <class T>
concept HasText = requires(T message) { message.request, message.text; };

}  // namespace

ShareConnection::ShareConnection(Fd socket, std::shared_ptr<Loop> loop, Handlers handlers,
                                 OutboxLimits outbox)
    : handlers_(std::move(handlers)),
      self_(std::make_shared<ShareConnection*>(this)),
      transport_(std::move(socket), Fd(), kFrames, outbox) {
  transport_.start(std::move(loop), {[self = self_](std::string body) {
                                       if (*self != nullptr) (*self)->receive(body);
                                     },
                                     [self = self_](std::string reason) {
                                       if (*self != nullptr) (*self)->end(std::move(reason));
                                     },
                                     [self = self_](const std::string& fault) {
                                       if (*self == nullptr) return;
                                       // A sender that died inside a message has ended, no more.
                                       (*self)->end(fault == kCutShort ? std::string() : fault);
                                     }});
}

ShareConnection::~ShareConnection() {
  *self_ = nullptr;
  transport_.close(std::chrono::milliseconds(0));
}

void ShareConnection::send(share::Message message) {
  std::visit(
      [&](auto& body) {
        if constexpr (HasText<decltype(body)>) {
          if (body.request.text == nullptr) body.request.text = std::make_shared<std::string>();
          body.text = sent_.change_to(body.request.document, body.request.text);
        }
      },
      message);
  transport_.send({.body = share::encode(message)});
}

void ShareConnection::receive(std::string_view bytes) {
  if (ended_) return;
  auto decoded = share::decode(bytes);
  if (auto* fault = std::get_if<std::string>(&decoded)) return end(std::move(*fault));
  auto& message = std::get<share::Message>(decoded);
  std::string fault;
  std::visit(
      [&](auto& body) {
        if constexpr (HasText<decltype(body)>) {
          body.request.text = received_.apply(body.request.document, body.text, &fault);
          body.text = {};
          if (fault.empty()) fault = share::fault_of(body.request);
        }
      },
      message);
  if (!fault.empty()) return end(std::move(fault));
  const auto handler = handlers_.message;  // may end this object
  handler(std::move(message));
}

void ShareConnection::end(std::string fault) {
  if (std::exchange(ended_, true)) return;
  const auto handler = handlers_.ended;  // may end this object
  handler(std::move(fault));
}

}  // namespace foretoken::lsp
