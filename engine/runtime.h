// A loaded model ready to run: everything one engine thread needs, put together once.
#pragma once

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
  uint64_t kv_bytes = 128u << 20;
  int chunk = 128;       // tokens per prefill pass: a layer of it ends within 5 ms on the CPUs at hand
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
  size_t kv_bytes() const { return kv_bytes_; }
  size_t kv_bytes_per_token() const;

  KvTree& tree() { return *tree_; }

  /// Computes `ids` behind the sequence in chunks; nullopt where all are done, else why not.
  enum class Trouble : uint8_t { stopped, no_room };
  std::optional<Trouble> prefill(KvTree::Sequence& sequence, std::span<const TokenId> ids,
                                 std::stop_token stop);
  /// The best k after the last computed token (prefill or step). See kernels::Stream::select.
  kernels::Selection select(std::span<const uint8_t> banned, std::span<const TokenId> only, int k);
  /// All logits after the last computed token.
  std::vector<float> logits();

 private:
  kernels::Matrix last_logits();

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
};

}  // namespace foretoken::engine
