// Bytes from a peer on a shared engine's socket: frames, messages, texts as changes. What is taken
// for a message must come out of another trip unchanged, and no text may outgrow its limit.
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "lsp/framing.h"
#include "lsp/share_messages.h"
#include "lsp/share_texts.h"

namespace {

using namespace foretoken::lsp;

constexpr TextMemory::Limits kLimits{.documents = 4, .bytes = 4096, .longest = 2048};

void take(std::string_view bytes, TextMemory& texts) {
  auto decoded = share::decode(bytes);
  auto* message = std::get_if<share::Message>(&decoded);
  if (message == nullptr) return;
  const std::string again = share::encode(*message);
  const auto twice = share::decode(again);
  if (!std::holds_alternative<share::Message>(twice)) std::abort();
  if (share::encode(std::get<share::Message>(twice)) != again) std::abort();
  std::visit(
      [&](auto& body) {
        if constexpr (requires { body.request, body.text; }) {
          std::string fault;
          body.request.text = texts.apply(body.request.document, body.text, &fault);
          if ((body.request.text == nullptr) == fault.empty()) std::abort();
          if (body.request.text && body.request.text->size() > kLimits.longest) std::abort();
          share::fault_of(body.request);
        }
      },
      *message);
  if (texts.documents() > kLimits.documents) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  TextMemory texts(kLimits);
  take(bytes, texts);  // one message without its frame, so that mutations reach it
  FrameReader reader({.body = 1u << 20});
  reader.feed(bytes, [&](const Frame& frame) {
    if (frame.kind == Frame::Kind::message) take(frame.text, texts);
  });
  return 0;
}
