#include "engine/runtime.h"

#include <algorithm>
#include <chrono>

#include "engine/gguf.h"

namespace foretoken::engine {

using kernels::kPageTokens;

Runtime::Runtime(RuntimeOptions options)
    : name_(std::move(options.name)), backend_(std::move(options.backend)) {
  const GgufFile file(options.model_path);
  tokenizer_ = std::make_unique<Tokenizer>(file);
  fim_ = detect_fim(file, *tokenizer_);
  const ModelConfig config = read_config(file);
  if (tokenizer_->size() > config.vocabulary) {
    file.fail("tokenizer.ggml.tokens has " + std::to_string(tokenizer_->size()) +
              " entries, token_embd.weight only " + std::to_string(config.vocabulary) + " rows");
  }
  model_ = std::make_unique<Model>(file, *backend_);

  // P and S fill the window, T may grow by half of it, context takes up to a quarter, then the answer; the header and control
  // tokens take a few dozen.
  constexpr int kHeader = 64;
  const int for_prompt = config.context - options.longest_output - kHeader;
  window_ = std::clamp(options.window, 16, std::max(16, for_prompt * 4 / 7));
  const int longest_request =
      std::min(config.context, window_ * 7 / 4 + options.longest_output + kHeader);

  const kernels::KvShape shape{config.layers, config.kv_heads, config.head_dim, 1};
  const size_t page = backend_->kv_bytes_per_page(shape);
  const int least = longest_request / kPageTokens + 2;
  uint64_t budget = options.kv_bytes;
  if (budget == 0) {
    // Room for half a dozen buffers' prompts, as far as a thirty-second of what is free goes.
    budget = std::clamp<uint64_t>(options.memory_available / 32, 128u << 20, 512u << 20);
    budget = std::min<uint64_t>(budget, 6 * size_t(least) * page);
  }
  const int pages = std::clamp<int>(static_cast<int>(std::min<uint64_t>(budget / page, 1 << 20)),
                                    least, 1 << 20);
  kv_bytes_ = size_t(pages) * page;
  longest_ = std::min(config.context, (pages - 1) * kPageTokens);

  stream_ = backend_->make_stream();
  pool_ = backend_->make_kv({config.layers, config.kv_heads, config.head_dim, pages});
  tree_ = std::make_unique<KvTree>(*stream_, *pool_, pages);
  forward_ = std::make_unique<Forward>(*model_, *backend_, *stream_, options.chunk);
  chunk_ = std::min(options.chunk, backend_->name() == "reference" ? options.chunk : chunk_);
}

size_t Runtime::kv_bytes_per_token() const { return pool_->bytes_per_page() / kPageTokens; }

std::optional<Runtime::Trouble> Runtime::prefill(KvTree::Sequence& sequence,
                                                 std::span<const TokenId> ids,
                                                 std::stop_token stop) {
  logits_ready_ = false;
  while (!ids.empty()) {
    if (stop.stop_requested()) return Trouble::stopped;
    const int n = std::min({forward_->max_rows(), chunk_, static_cast<int>(ids.size())});
    if (sequence.length() + n > model_->config.context || !tree_->reserve(sequence, n)) {
      return Trouble::no_room;
    }
    const auto start = std::chrono::steady_clock::now();
    if (!forward_->run(ids.first(size_t(n)), sequence.length(), sequence.pages(), *pool_, stop)) {
      return Trouble::stopped;
    }
    fit_chunk(n, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    tree_->append(sequence, ids.first(size_t(n)));
    ids = ids.subspan(size_t(n));
    last_row_ = n - 1;
  }
  return std::nullopt;
}

void Runtime::fit_chunk(int rows, double pass_ms) {
  if (rows < 16 || backend_->name() == "reference") return;  // the dull backend is exempt
  const double rows_in_time = rows * kLayerMs * model_->config.layers / std::max(pass_ms, 1e-3);
  // Halfway there: one slow pass on a busy machine must not make the next ones tiny.
  const int wanted = static_cast<int>(std::min(rows_in_time, 4096.0) + chunk_) / 2;
  chunk_ = std::clamp(wanted / 16 * 16, 32, forward_->max_rows());
}

void Runtime::remember_end(std::span<const TokenId> ids) {
  if (remembers_end(ids)) return;
  End end{{ids.begin(), ids.end()}, forward_->hidden(last_row_)};
  ends_.push_front(std::move(end));
  if (ends_.size() > kEnds) ends_.pop_back();
}

bool Runtime::remembers_end(std::span<const TokenId> ids) const {
  return std::any_of(ends_.begin(), ends_.end(),
                     [&](const End& end) { return std::ranges::equal(end.ids, ids); });
}

bool Runtime::recall_end(std::span<const TokenId> ids) {
  const auto end = std::find_if(ends_.begin(), ends_.end(),
                                [&](const End& e) { return std::ranges::equal(e.ids, ids); });
  if (end == ends_.end()) return false;
  forward_->set_hidden(end->hidden);
  last_row_ = 0;
  logits_ready_ = false;
  std::rotate(ends_.begin(), end, end + 1);
  return true;
}

kernels::Matrix Runtime::last_logits() {
  if (!logits_ready_) logits_ = forward_->logits(last_row_);
  logits_ready_ = true;
  return logits_;
}

kernels::Selection Runtime::select(std::span<const uint8_t> banned, std::span<const TokenId> only,
                                   int k) {
  kernels::Selection selection;
  stream_->select(last_logits(), banned, only, k, &selection);
  stream_->synchronize();
  return selection;
}

std::vector<float> Runtime::logits() {
  const kernels::Matrix m = last_logits();
  std::vector<float> out(static_cast<size_t>(m.cols));
  stream_->download(m, out);
  stream_->synchronize();
  return out;
}

}  // namespace foretoken::engine
