// How soon the next answer starts when a cold prefill is in the way: a prompt of some 2,000 tokens is
// begun, at a random instant a request of another document arrives (every second time after a
// cancel), and its time in the queue is what the long prompt made it wait.
//
//   bench_cancel MODEL.gguf [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "kernels/backend.h"

using namespace foretoken;

namespace {

engine::Request request(const std::string& document, std::string text) {
  engine::Request r;
  r.document = r.path = document;
  r.cursor = text.size();
  r.text = std::make_shared<const std::string>(std::move(text));
  r.max_tokens = 1;
  return r;
}

/// A text of some `lines` lines that no other round has cached.
std::string fresh_text(int round, int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) {
    text += "value_" + std::to_string(round * 1000 + i) + " = compute(" + std::to_string(i) + ")\n";
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_cancel MODEL.gguf [ROUNDS]\n");
    return 2;
  }
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 40;
  engine::RuntimeOptions options;
  options.model_path = argv[1];
  options.backend = kernels::make_backend("auto", 0);
  engine::Engine engine(std::make_unique<engine::Runtime>(std::move(options)), {.idle_budget = {}});
  const auto ask = [&](engine::Request r) {
    std::promise<engine::Completion> answered;
    engine.submit(std::move(r), [&](engine::Completion c) { answered.set_value(std::move(c)); });
    return answered.get_future().get();
  };
  ask(request("warm-up", fresh_text(999, 140)));
  const double whole = ask(request("whole", fresh_text(998, 140))).timings.prefill_ms;

  std::mt19937 random(1);
  std::vector<double> waits;
  for (int i = 0; i < rounds; ++i) {
    std::promise<engine::Completion> long_one;
    const auto ticket = engine.submit(request("long" + std::to_string(i), fresh_text(i, 140)),
                                      [&](engine::Completion c) { long_one.set_value(std::move(c)); });
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(whole * (random() % 900) / 1000.0));
    if (i % 2) {
      engine.cancel(ticket);
    }
    // The other half: a newer request of the same document at another place supersedes it.
    const std::string document = i % 2 ? "short" : "long" + std::to_string(i);
    waits.push_back(ask(request(document, "import sys\nx" + std::to_string(i) + " = 1\n")).timings.queue_ms);
    long_one.get_future().get();
  }
  std::sort(waits.begin(), waits.end());
  std::printf("%d rounds, cold prefill of %.0f ms; wait of the next answer: median %.2f ms, p95 %.2f ms, most %.2f ms\n",
              rounds, whole, waits[waits.size() / 2], waits[waits.size() * 95 / 100], waits.back());
}
