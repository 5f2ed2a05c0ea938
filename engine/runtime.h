// A loaded model ready to run: everything one engine thread needs, put together once.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/fim.h"
#include "engine/forward.h"
#include "engine/kv_tree.h"
#include "engine/model.h"
#include "engine/tokenizer.h"
#include "kernels/ops.h"

namespace foretoken::engine {

struct RuntimeOptions {
  std::string model_path;
  std::string name;      // what answers call the model; never a path
  std::unique_ptr<kernels::Backend> backend;
  uint64_t kv_bytes = 0;           // memory for keys and values; 0: from memory_available
  uint64_t memory_available = 0;   // bytes free now; 0: unknown
  int chunk = 256;                 // most tokens per prefill pass; see Runtime::prefill
  int window = 2048;     // prompt tokens wanted; shortened to what the model's context holds
  int longest_output = 160;
};

/// Engine thread, except for the const members, which are immutable and thread-safe.
class Runtime {
 public:
  /// Throws ModelError, std::bad_alloc.
  explicit Runtime(RuntimeOptions options);

  const std::string& name() const { return name_; }
  const kernels::Backend& backend() const { return *backend_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const Fim& fim() const { return fim_; }
  const Model& model() const { return *model_; }
  int window() const { return window_; }                 // tokens, after the context limit
  int longest_sequence() const { return longest_; }      // tokens that fit the KV pool and the context
  int kv_pages() const { return tree_->pages(); }
  size_t kv_bytes() const { return kv_bytes_; }
  size_t kv_bytes_per_token() const;

  KvTree& tree() { return *tree_; }

  /// Computes `ids` behind the sequence in chunks; nullopt where all are done, else why not. A chunk is
  /// as long as one layer of it takes kLayerMs, so that a stop is noticed in time; what is computed
  /// does not depend on it.
  enum class Trouble : uint8_t { stopped, no_room };
  std::optional<Trouble> prefill(KvTree::Sequence& sequence, std::span<const TokenId> ids,
                                 std::stop_token stop);
  /// The end of a prompt whose keys and values are all cached needs no pass through the model: what the
  /// last layer gave there is kept for the last few prompts. remember_end() after a prefill of all of
  /// `ids`; recall_end() stands in for the pass, false where it cannot. Same bits as computed.
  void remember_end(std::span<const TokenId> ids);
  bool remembers_end(std::span<const TokenId> ids) const;
  bool recall_end(std::span<const TokenId> ids);

  /// The best k after the last computed token (prefill or step). See kernels::Stream::select.
  kernels::Selection select(std::span<const uint8_t> banned, std::span<const TokenId> only, int k);
  /// All logits after the last computed token.
  std::vector<float> logits();

 private:
  static constexpr double kLayerMs = 4;
  static constexpr size_t kEnds = 32;
  struct End {
    std::vector<TokenId> ids;
    std::vector<float> hidden;  // the residual stream after the last layer
  };

  kernels::Matrix last_logits();
  void fit_chunk(int rows, double pass_ms);

  std::string name_;
  std::unique_ptr<kernels::Backend> backend_;
  std::unique_ptr<Tokenizer> tokenizer_;
  Fim fim_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<kernels::KvPool> pool_;
  std::unique_ptr<KvTree> tree_;
  std::unique_ptr<Forward> forward_;
  int window_ = 0, longest_ = 0, last_row_ = 0;
  bool logits_ready_ = false;
  kernels::Matrix logits_;
  size_t kv_bytes_ = 0;
  int chunk_ = 64;          // tokens per pass now
  std::deque<End> ends_;    // the newest first
};

}  // namespace foretoken::engine
