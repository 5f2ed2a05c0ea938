#include "lsp/share_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <variant>

namespace foretoken::lsp {
namespace {

/// For a last word to somebody whose buffer is empty.
constexpr std::chrono::milliseconds kFarewell{100};
/// Pause where no connection can be accepted (too many open files).
constexpr int kAcceptPauseMs = 100;
/// Names are shown to people.
constexpr size_t kLongestName = 64;

}  // namespace

ShareServer::ShareServer(std::unique_ptr<Ownership> ownership, Setup setup)
    : setup_(std::move(setup)),
      ownership_(std::move(ownership)),
      listening_(ownership_->listen()),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread_ = std::thread([this] { loop_->run(); });
  acceptor_ = std::thread([this] { accept_loop(); });
}

ShareServer::~ShareServer() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t woken = ::write(wake_.get(), &one, sizeof one);
  acceptor_.join();
  listening_ = Fd();
  ownership_.reset();
  loop_->stop();
  thread_.join();
  while (!clients_.empty()) drop(clients_.begin()->first);
}

void ShareServer::accept_loop() {
  while (true) {
    std::array<pollfd, 2> fds = {pollfd{wake_.get(), POLLIN, 0}, pollfd{listening_.get(), POLLIN, 0}};
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return;
    if (fds[0].revents != 0) return;
    if (fds[1].revents == 0) continue;
    auto socket = std::make_shared<Fd>(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (*socket) {
      loop_->post([this, socket] { welcome(std::move(*socket)); });
    } else if (errno != EINTR && errno != EAGAIN && errno != ECONNABORTED) {
      ::poll(fds.data(), 1, kAcceptPauseMs);
    }
  }
}

void ShareServer::welcome(Fd socket) {
  const std::optional<Peer> peer = peer_of(socket);
  if (!peer || peer->user != setup_.user) return;  // closes it
  const uint64_t number = ++numbers_;
  Client& client = clients_[number];
  client.hello.pid = peer->pid;
  client.connection = std::make_unique<ShareConnection>(
      std::move(socket), loop_,
      ShareConnection::Handlers{
          [this, number](share::Message message) { receive(number, std::move(message)); },
          [this, number](const std::string&) { drop(number); }});
  if (clients_.size() > setup_.limits.clients) {
    return turn_away(number, "the engine has " + std::to_string(setup_.limits.clients) +
                                 " clients already");
  }
  client.hello_timer = loop_->after(setup_.limits.hello, [this, number] {
    Client* silent = find(number);
    if (silent != nullptr && !silent->greeted) drop(number);
  });
}

ShareServer::Client* ShareServer::find(uint64_t number) {
  const auto found = clients_.find(number);
  return found == clients_.end() ? nullptr : &found->second;
}

void ShareServer::send(uint64_t number, share::Message message) {
  Client* client = find(number);
  if (client == nullptr) return;
  client->connection->send(std::move(message));
  if (client->connection->waiting_bytes() > setup_.limits.waiting_bytes) drop(number);
}

void ShareServer::turn_away(uint64_t number, const std::string& why) {
  send(number, share::Refused{why});
  if (Client* client = find(number)) client->connection->close(kFarewell);
  drop(number);
}

void ShareServer::drop(uint64_t number) {
  const auto found = clients_.find(number);
  if (found == clients_.end()) return;
  const Client client = std::move(found->second);
  clients_.erase(found);
  loop_->cancel(client.hello_timer);
  for (const auto& [id, ticket] : client.open) engine_->cancel(ticket);
}

void ShareServer::ready(std::shared_ptr<EngineLink> engine) {
  loop_->post([this, engine = std::move(engine)] {
    engine_ = engine;
    for (auto next = clients_.begin(); next != clients_.end();) {
      const auto [number, client] = std::pair(next->first, &next->second);
      ++next;  // send may drop the client
      if (client->greeted) send(number, share::Ready{engine_->model_name(), engine_->backend_name()});
    }
  });
}

void ShareServer::refuse(std::string why) {
  loop_->post([this, why = std::move(why)] {
    refusal_ = why;
    while (!clients_.empty()) turn_away(clients_.begin()->first, refusal_);
  });
}

void ShareServer::status(std::function<void(std::string)> done) {
  loop_->post([this, done = std::move(done)] {
    if (engine_ == nullptr) return done(status_json("", facts()));
    engine_->status([done, facts = facts()](const std::string& engine) {
      done(status_json(engine, facts));
    });
  });
}

OwnerFacts ShareServer::facts() const {
  OwnerFacts facts;
  facts.version = setup_.version;
  facts.owner = {::getpid(), setup_.name, 0};
  facts.uptime_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  for (const auto& [number, client] : clients_) {
    if (client.greeted && client.hello.name != share::kStatusName) {
      facts.clients.push_back({client.hello.pid, client.hello.name, client.open.size()});
    }
  }
  return facts;
}

void ShareServer::receive(uint64_t number, share::Message message) {
  Client* client = find(number);
  if (client == nullptr) return;
  // Hello first, and once; what needs the engine only after Ready.
  const bool hello = std::holds_alternative<share::Hello>(message);
  const bool small = std::holds_alternative<share::Ping>(message) ||
                     std::holds_alternative<share::AskStatus>(message);
  if (hello == client->greeted || (!hello && !small && engine_ == nullptr)) return drop(number);
  std::visit([&](auto& body) { on(number, body); }, message);
}

void ShareServer::on(uint64_t number, share::Hello& hello) {
  Client& client = *find(number);
  client.greeted = true;
  hello.pid = client.hello.pid;  // the kernel has said it, and knows better
  client.hello = std::move(hello);
  client.hello.name.resize(std::min(client.hello.name.size(), kLongestName));
  loop_->cancel(client.hello_timer);
  const bool alike =
      client.hello.protocol == share::kProtocol && client.hello.version == setup_.version;
  send(number, share::Hello{share::kProtocol, setup_.version, ::getpid(), setup_.name});
  if (!alike) return turn_away(number, "this engine is version " + setup_.version);
  if (!refusal_.empty()) return turn_away(number, refusal_);
  if (engine_ != nullptr) {
    send(number, share::Ready{engine_->model_name(), engine_->backend_name()});
  }
}

void ShareServer::on(uint64_t number, share::Submit& submit) {
  Client& client = *find(number);
  if (client.open.size() >= setup_.limits.open_requests || client.open.contains(submit.id)) {
    return drop(number);
  }
  // Documents of the same name in two editors are two documents.
  submit.request.document.insert(0, "client " + std::to_string(number) + ":");
  const uint64_t id = submit.id;
  client.open[id] = 0;  // the engine may answer others of this client before submit returns
  const EngineLink::Ticket ticket = engine_->submit(
      std::move(submit.request), [this, loop = loop_, number, id](engine::Completion completion) {
        loop->post([this, number, id, completion = std::move(completion)]() mutable {
          answer(number, id, std::move(completion));
        });
      });
  client.open[id] = ticket;  // its own answer comes by way of the loop, so later than this
}

void ShareServer::answer(uint64_t number, uint64_t id, engine::Completion completion) {
  Client* client = find(number);
  if (client == nullptr || client->open.erase(id) == 0) return;
  send(number, share::Answer{id, std::move(completion)});
}

void ShareServer::on(uint64_t number, share::Observe& observe) {
  observe.request.document.insert(0, "client " + std::to_string(number) + ":");
  engine_->observe(std::move(observe.request));
}

void ShareServer::on(uint64_t number, share::Cancel& cancel) {
  const Client& client = *find(number);
  const auto found = client.open.find(cancel.id);
  if (found != client.open.end()) engine_->cancel(found->second);
}

void ShareServer::on(uint64_t, share::Account& account) {
  engine_->account(account.cost);
}

void ShareServer::on(uint64_t number, share::AskStatus& ask) {
  status([this, loop = loop_, number, id = ask.id](std::string json) {
    loop->post([this, number, id, json = std::move(json)] {
      send(number, share::Status{id, json});
    });
  });
}

void ShareServer::on(uint64_t number, share::Ping& ping) {
  send(number, share::Pong{ping.id});
}

}  // namespace foretoken::lsp
