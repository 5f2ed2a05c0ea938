// One tree of cached prefixes: keys and values of everything computed lately, keyed by token ids.
//
//   root ── [segment: 8 pages] ── [segment: 3 pages] ─┬─ [segment: 1 page, 20 tokens]   buffer A, now
//                                                     └─ [segment: 5 pages] …           buffer A, before an edit
//
// A page is 64 tokens on absolute positions, the unit of memory. A segment is a run of up to eight
// pages, the unit of sharing and of eviction: where two prefixes part inside one, it is split at the
// page border above, and what they share of the page between is copied. Only segments that are full
// to their last page have children. A Sequence is a path from the root that a computation holds; it
// counts on its deepest segment, and a segment with children is never evicted, so the whole path
// survives until release. What nobody holds stays for reuse and is evicted leaf by leaf, least
// recently used first, when pages run out.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/tokenizer.h"
#include "kernels/ops.h"

namespace foretoken::engine {

/// Engine thread. Owns the segments; the pool and the stream belong to the engine and outlive it.
class KvTree {
 public:
  static constexpr int kSegmentPages = 8;

  KvTree(kernels::Stream& stream, kernels::KvPool& pool, int pages);
  ~KvTree();

  struct Segment;

  /// A pinned path. Move-only in use; release it through the tree that made it.
  class Sequence {
   public:
    int length() const { return length_; }                        // tokens with keys and values
    std::span<const int32_t> pages() const { return pages_; }     // also reserved, not yet filled
   private:
    friend class KvTree;
    Segment* last_ = nullptr;  // the deepest segment of the path; null: nothing yet
    std::vector<int32_t> pages_;
    int length_ = 0;
    bool shared_ = true;
  };

  /// The longest cached prefix of `tokens`, at most `limit` tokens of it. `reuse` false: an empty
  /// sequence that shares nothing and leaves nothing behind. `cut`: a leaf that parts from `tokens`
  /// only near its end is a stale guess of what would be typed, and is cut back in place; false: it
  /// will be wanted again.
  Sequence acquire(std::span<const TokenId> tokens, int limit, bool reuse, bool cut = true);

  /// Makes room for `more` tokens behind length(), evicting what nobody holds. False: the pool is
  /// too small (or held by others); length() and what was cached are unchanged.
  bool reserve(Sequence& sequence, int more);

  /// The keys and values of `tokens` now lie behind length(), in reserved pages.
  void append(Sequence& sequence, std::span<const TokenId> tokens);

  void release(Sequence&& sequence);

  int pages() const { return total_pages_; }
  int free_pages() const { return static_cast<int>(free_.size()); }
  uint64_t evicted_segments() const { return evicted_; }
  /// Drops every page nobody holds.
  void clear();

 private:
  Segment* add_segment(Segment* parent, int first_page, bool shared);
  Segment* split(Segment* segment, int pages);
  Segment* part_with_copy(Segment* from, int page, int tokens, bool shared);
  Segment* own_end(Sequence& sequence);
  bool add_page(Segment* segment);
  bool evict_one();
  void remove(Segment* segment);
  void drop_unfilled(Segment* segment);
  void touch(Segment* segment);

  kernels::Stream& stream_;
  kernels::KvPool& pool_;
  int total_pages_;
  uint64_t clock_ = 0, evicted_ = 0;
  std::vector<int32_t> free_;
  std::unique_ptr<Segment> root_;
  std::vector<std::unique_ptr<Segment>> private_;  // first segments of sequences that share nothing
};

}  // namespace foretoken::engine
