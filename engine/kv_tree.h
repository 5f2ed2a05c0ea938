// One tree of cached prefixes: keys and values of everything computed lately, keyed by token ids.
//
//   root ── [page: 64 tokens] ── [page: 64 tokens] ─┬─ [page: 20 tokens]     buffer A, now
//                                                   └─ [page: 64 tokens] …   buffer A, before an edit
//
// A node is one page of the KV pool (64 tokens on absolute positions) and the tokens in it. Only full
// pages have children. A Sequence is a path from the root that a computation holds; the nodes on it
// are pinned (users > 0) and survive until release. Nodes nobody holds stay for reuse and are evicted
// leaf by leaf, least recently used first, when pages run out.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/tokenizer.h"
#include "kernels/ops.h"

namespace foretoken::engine {

/// Engine thread. Owns the nodes; the pool and the stream belong to the engine and outlive it.
class KvTree {
 public:
  KvTree(kernels::Stream& stream, kernels::KvPool& pool, int pages);
  ~KvTree();

  struct Node;

  /// A pinned path. Move-only; release it through the tree that made it.
  class Sequence {
   public:
    int length() const { return length_; }                        // tokens with keys and values
    std::span<const int32_t> pages() const { return pages_; }     // also reserved, not yet filled
   private:
    friend class KvTree;
    std::vector<Node*> path_;
    std::vector<int32_t> pages_;
    int length_ = 0;
    bool shared_ = true;
  };

  /// The longest cached prefix of `tokens`, at most `limit` tokens of it. `reuse` false: an empty
  /// sequence that shares nothing and leaves nothing behind.
  Sequence acquire(std::span<const TokenId> tokens, int limit, bool reuse);

  /// Makes room for `more` tokens behind length(), evicting what nobody holds. False: the pool is
  /// too small (or held by others); the sequence is unchanged.
  bool reserve(Sequence& sequence, int more);

  /// The keys and values of `tokens` now lie behind length(), in reserved pages.
  void append(Sequence& sequence, std::span<const TokenId> tokens);

  void release(Sequence&& sequence);

  int pages() const { return total_pages_; }
  int free_pages() const { return static_cast<int>(free_.size()); }
  /// Drops every page nobody holds.
  void clear();

 private:
  Node* add_node(Node* parent, bool shared);
  bool evict_one();
  void remove(Node* node);
  int32_t take_page();

  kernels::Stream& stream_;
  kernels::KvPool& pool_;
  int total_pages_;
  uint64_t clock_ = 0;
  std::vector<int32_t> free_;
  std::unique_ptr<Node> root_;
  std::vector<std::unique_ptr<Node>> private_;  // first nodes of sequences that share nothing
};

}  // namespace foretoken::engine
