// Requests that editor plugins written for Copilot's server send to any server they start. There is
// nobody to sign in to here, so the answers say that all is well. Never the words "not signed in":
// one plugin starts a login when it reads them.
#include <utility>

#include "lsp/server.h"

namespace foretoken::lsp {

void Server::answer_null(Reply reply, const Value& params) {
  auto parsed = parse_anything(params);
  if (expect(parsed, reply) != nullptr) std::move(reply).null();
}

void Server::answer_ok(Reply reply, const Value& params) {
  auto parsed = parse_anything(params);
  if (expect(parsed, reply) != nullptr) std::move(reply).result(text_payload("OK"));
}

void Server::sign_in(Reply reply, const Value& params) {
  auto parsed = parse_anything(params);
  if (expect(parsed, reply) == nullptr) return;
  std::move(reply).result(object_payload({{"status", "AlreadySignedIn"}, {"user", "local"}}));
}

void Server::check_status(Reply reply, const Value& params) {
  auto parsed = parse_anything(params);
  if (expect(parsed, reply) == nullptr) return;
  std::move(reply).result(object_payload({{"status", "OK"}, {"user", "local"}}));
}

void Server::get_version(Reply reply, const Value& params) {
  auto parsed = parse_anything(params);
  if (expect(parsed, reply) == nullptr) return;
  std::move(reply).result(object_payload({{"version", setup_.version}}));
}

void Server::check_file_status(Reply reply, const Value& params) {
  auto parsed = parse_anything(params);
  if (expect(parsed, reply) == nullptr) return;
  std::move(reply).result(object_payload({{"status", "included"}}));
}

void Server::no_edits(Reply reply, const Value& params) {
  auto parsed = parse_anything(params);
  if (expect(parsed, reply) != nullptr) std::move(reply).result(empty_list_payload("edits"));
}

void Server::no_items(Reply reply, const Value& params) {
  auto parsed = parse_anything(params);
  if (expect(parsed, reply) != nullptr) std::move(reply).result(empty_list_payload("items"));
}

void Server::no_completions(Reply reply, const Value& params) {
  auto parsed = parse_anything(params);
  if (expect(parsed, reply) != nullptr) std::move(reply).result(empty_list_payload("completions"));
}

}  // namespace foretoken::lsp
