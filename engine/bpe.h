// Byte-pair merging: one piece of text to token ids.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer.h"

namespace foretoken::engine {

/// Symbols are byte strings: the vocabulary's tokens, and what only merges speak of. Build it (one
/// thread), then it is thread-safe; merge() is a pure function, whose flags only remember what is
/// known.
class Bpe {
 public:
  using Symbol = uint32_t;
  static constexpr Symbol kNone = ~0u;

  /// `whole_pieces`: a piece that is a token is that token, whatever the merges say.
  Bpe(size_t expected_symbols, size_t expected_merges, bool whole_pieces);

  /// The first id given to a byte string stays. `bytes` must outlive this object.
  void add_token(std::string_view bytes, TokenId id);

  /// `left` and `right` need not be tokens. The first rank given to a pair stays.
  void add_merge(std::string_view left, std::string_view right, uint32_t rank);

  void finish();  // no more tokens or merges

  /// The id of a single byte; -1 where the vocabulary has none.
  TokenId byte_id(unsigned char byte) const { return byte_ids_[byte]; }

  /// Appends the ids of `piece`: the adjacent pair of lowest rank, leftmost first, is merged until
  /// none is left. What is then no token falls apart into bytes; a byte without a token is left
  /// out.
  void merge(std::string_view piece, std::vector<TokenId>& ids) const;

 private:
  struct Entry {
    std::string_view bytes;
    TokenId id;  // -1: no token
  };
  struct Slot {
    uint32_t hash;
    Symbol symbol;
  };
  struct Pair {
    uint64_t key;  // left << 32 | right; all ones: free
    uint32_t rank;
    Symbol result;
  };

  uint32_t hash(std::string_view bytes) const;
  Symbol find(std::string_view bytes, uint32_t hash) const;
  Symbol intern(std::string_view bytes);
  Symbol insert(std::string_view bytes, uint32_t hash, TokenId id);
  const Pair* find_pair(Symbol left, Symbol right) const;
  size_t pair_slot(uint64_t key) const;
  size_t merge_short(std::string_view piece, Symbol* symbols) const;
  void merge_long(std::string_view piece, std::vector<Symbol>& symbols) const;
  void emit(const Symbol* symbols, size_t count, std::vector<TokenId>& ids) const;

  bool whole_pieces_;
  uint64_t seed_;  // of the hash: no file can be made to collide
  size_t longest_ = 0;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;
  std::vector<Pair> pairs_;
  size_t pair_count_ = 0;
  std::deque<std::string> own_bytes_;
  std::string scratch_;
  std::array<TokenId, 256> byte_ids_;
  std::array<Symbol, 256> byte_symbols_;

  // For each symbol: whether merging its bytes gives that one token. Found out on first use.
  enum : uint8_t { kUnknown, kWhole, kParts };
  std::unique_ptr<std::atomic<uint8_t>[]> whole_;
};

}  // namespace foretoken::engine
