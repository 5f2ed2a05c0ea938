#include "engine/runtime.h"

#include <algorithm>

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

  // P and S fill the window, T may grow by a quarter of it, then the answer; the header and control
  // tokens take a few dozen.
  constexpr int kHeader = 64;
  const int for_prompt = config.context - options.longest_output - kHeader;
  window_ = std::clamp(options.window, 16, std::max(16, for_prompt * 4 / 5));
  const int longest_request =
      std::min(config.context, window_ * 5 / 4 + options.longest_output + kHeader);

  const kernels::KvShape shape{config.layers, config.kv_heads, config.head_dim, 1};
  const size_t page = backend_->kv_bytes_per_page(shape);
  const int least = longest_request / kPageTokens + 2;
  const int pages = std::clamp<int>(static_cast<int>(std::min<uint64_t>(options.kv_bytes / page, 1 << 20)),
                                    least, 1 << 20);
  kv_bytes_ = size_t(pages) * page;
  longest_ = std::min(config.context, (pages - 1) * kPageTokens);

  stream_ = backend_->make_stream();
  pool_ = backend_->make_kv({config.layers, config.kv_heads, config.head_dim, pages});
  tree_ = std::make_unique<KvTree>(*stream_, *pool_, pages);
  forward_ = std::make_unique<Forward>(*model_, *backend_, *stream_, options.chunk);
}

size_t Runtime::kv_bytes_per_token() const { return pool_->bytes_per_page() / kPageTokens; }

std::optional<Runtime::Trouble> Runtime::prefill(KvTree::Sequence& sequence,
                                                 std::span<const TokenId> ids,
                                                 std::stop_token stop) {
  logits_ready_ = false;
  while (!ids.empty()) {
    if (stop.stop_requested()) return Trouble::stopped;
    const int n = std::min(forward_->max_rows(), static_cast<int>(ids.size()));
    if (sequence.length() + n > model_->config.context || !tree_->reserve(sequence, n)) {
      return Trouble::no_room;
    }
    if (!forward_->run(ids.first(size_t(n)), sequence.length(), sequence.pages(), *pool_, stop)) {
      return Trouble::stopped;
    }
    tree_->append(sequence, ids.first(size_t(n)));
    ids = ids.subspan(size_t(n));
    last_row_ = n - 1;
  }
  return std::nullopt;
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
