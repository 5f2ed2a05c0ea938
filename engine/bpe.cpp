#include "engine/bpe.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <queue>
#include <random>

namespace foretoken::engine {

namespace {

constexpr uint64_t kFree = ~0ull;
constexpr size_t kShort = 48;          // pieces up to this length are merged by scanning
constexpr size_t kLongest = 1u << 20;  // longer pieces are merged in parts: a bound on memory

uint64_t mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

size_t table_size(size_t expected) {
  return std::bit_ceil(std::max<size_t>(expected * 2, 64));
}

}  // namespace

Bpe::Bpe(size_t expected_symbols, size_t expected_merges, bool whole_pieces)
    : whole_pieces_(whole_pieces) {
  std::random_device random;
  seed_ = uint64_t(random()) << 32 | random() | 1;
  slots_.assign(table_size(expected_symbols + 256), Slot{0, kNone});
  pairs_.assign(table_size(expected_merges), Pair{kFree, 0, 0});
  entries_.reserve(expected_symbols + 256);
  byte_ids_.fill(-1);
  static constexpr auto kBytes = [] {
    std::array<char, 256> bytes{};
    for (int b = 0; b < 256; ++b) bytes[size_t(b)] = static_cast<char>(b);
    return bytes;
  }();
  for (size_t b = 0; b < 256; ++b) byte_symbols_[b] = intern({&kBytes[b], 1});
}

uint32_t Bpe::hash(std::string_view bytes) const {
  uint64_t h = seed_ ^ bytes.size();
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    h = mix(h ^ word, 0x9E3779B97F4A7C15ull ^ seed_);
  }
  uint64_t tail = 0;
  std::memcpy(&tail, bytes.data() + i, bytes.size() - i);
  return static_cast<uint32_t>(mix(h ^ tail, 0xD6E8FEB86659FD93ull ^ seed_));
}

Bpe::Symbol Bpe::find(std::string_view bytes, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot slot = slots_[i];
    if (slot.symbol == kNone) return kNone;
    if (slot.hash == hash && entries_[slot.symbol].bytes == bytes) return slot.symbol;
  }
}

Bpe::Symbol Bpe::insert(std::string_view bytes, uint32_t hash, TokenId id) {
  if ((entries_.size() + 1) * 4 > slots_.size() * 3) {
    std::vector<Slot> old(slots_.size() * 2, Slot{0, kNone});
    old.swap(slots_);
    for (const Slot slot : old) {
      if (slot.symbol == kNone) continue;
      size_t i = slot.hash & (slots_.size() - 1);
      while (slots_[i].symbol != kNone) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = slot;
    }
  }
  size_t i = hash & (slots_.size() - 1);
  while (slots_[i].symbol != kNone) i = (i + 1) & (slots_.size() - 1);
  const auto symbol = static_cast<Symbol>(entries_.size());
  slots_[i] = {hash, symbol};
  entries_.push_back({bytes, id});
  return symbol;
}

Bpe::Symbol Bpe::intern(std::string_view bytes) {
  const uint32_t h = hash(bytes);
  const Symbol symbol = find(bytes, h);
  return symbol != kNone ? symbol : insert(bytes, h, -1);
}

void Bpe::add_token(std::string_view bytes, TokenId id) {
  const Symbol symbol = intern(bytes);
  if (entries_[symbol].id >= 0) return;
  entries_[symbol].id = id;
  longest_ = std::max(longest_, bytes.size());
  if (bytes.size() == 1) byte_ids_[static_cast<unsigned char>(bytes[0])] = id;
}

size_t Bpe::pair_slot(uint64_t key) const {
  const size_t mask = pairs_.size() - 1;
  size_t i = mix(key ^ seed_, 0x9E3779B97F4A7C15ull) & mask;
  while (pairs_[i].key != key && pairs_[i].key != kFree) i = (i + 1) & mask;
  return i;
}

const Bpe::Pair* Bpe::find_pair(Symbol left, Symbol right) const {
  const Pair& pair = pairs_[pair_slot(uint64_t(left) << 32 | right)];
  return pair.key != kFree ? &pair : nullptr;
}

void Bpe::add_merge(std::string_view left, std::string_view right, uint32_t rank) {
  const auto own = [&](std::string_view bytes) {
    const uint32_t h = hash(bytes);
    const Symbol symbol = find(bytes, h);
    return symbol != kNone ? symbol : insert(own_bytes_.emplace_back(bytes), h, -1);
  };
  const Symbol l = own(left), r = own(right);
  scratch_.assign(left).append(right);
  const Symbol result = own(scratch_);
  if ((pair_count_ + 1) * 4 > pairs_.size() * 3) {
    std::vector<Pair> old(pairs_.size() * 2, Pair{kFree, 0, 0});
    old.swap(pairs_);
    for (const Pair& pair : old) {
      if (pair.key != kFree) pairs_[pair_slot(pair.key)] = pair;
    }
  }
  Pair& pair = pairs_[pair_slot(uint64_t(l) << 32 | r)];
  if (pair.key != kFree) return;
  pair = {uint64_t(l) << 32 | r, rank, result};
  ++pair_count_;
}

void Bpe::finish() {
  whole_ = std::make_unique<std::atomic<uint8_t>[]>(entries_.size());  // kUnknown
  scratch_ = {};
}

size_t Bpe::merge_short(std::string_view piece, Symbol* symbols) const {
  constexpr uint64_t kNoPair = ~0ull;
  uint64_t pairs[kShort];  // pairs[i]: rank << 32 | result of symbols i and i + 1
  const auto look_up = [&](size_t i) {
    const Pair* pair = find_pair(symbols[i], symbols[i + 1]);
    return pair != nullptr ? uint64_t(pair->rank) << 32 | pair->result : kNoPair;
  };
  size_t count = piece.size();
  for (size_t i = 0; i < count; ++i)
    symbols[i] = byte_symbols_[static_cast<unsigned char>(piece[i])];
  for (size_t i = 0; i + 1 < count; ++i) pairs[i] = look_up(i);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (pairs[i] >> 32 < pairs[best] >> 32) best = i;
    }
    if (pairs[best] == kNoPair) break;
    symbols[best] = static_cast<Symbol>(pairs[best]);
    for (size_t i = best + 1; i + 1 < count; ++i) {
      symbols[i] = symbols[i + 1];
      if (i + 2 < count) pairs[i] = pairs[i + 1];
    }
    --count;
    if (best > 0) pairs[best - 1] = look_up(best - 1);
    if (best + 1 < count) pairs[best] = look_up(best);
  }
  return count;
}

void Bpe::merge_long(std::string_view piece, std::vector<Symbol>& symbols) const {
  struct Node {
    Symbol symbol;
    uint32_t left, right;  // kNone at the ends
  };
  struct Candidate {
    uint32_t rank, left, right;
    Symbol left_symbol, right_symbol, result;
    bool operator>(const Candidate& o) const {
      return rank != o.rank ? rank > o.rank : left > o.left;
    }
  };
  std::vector<Node> nodes(piece.size());
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    nodes[i] = {byte_symbols_[static_cast<unsigned char>(piece[i])], i - 1, i + 1};
  }
  nodes.back().right = kNone;
  std::vector<Candidate> found;
  const auto candidate = [&](uint32_t left, uint32_t right, auto&& add) {
    if (left == kNone || right == kNone) return;
    const Symbol l = nodes[left].symbol, r = nodes[right].symbol;
    if (const Pair* pair = find_pair(l, r)) add({pair->rank, left, right, l, r, pair->result});
  };
  for (uint32_t i = 0; i + 1 < nodes.size(); ++i) {
    candidate(i, i + 1, [&](const Candidate& c) { found.push_back(c); });
  }
  std::priority_queue queue(std::greater<>(), std::move(found));
  const auto push = [&](const Candidate& c) { queue.push(c); };
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Node& left = nodes[best.left];
    if (left.symbol != best.left_symbol || left.right != best.right ||
        nodes[best.right].symbol != best.right_symbol) {
      continue;  // one of the two was merged since
    }
    left.symbol = best.result;
    left.right = nodes[best.right].right;
    nodes[best.right].symbol = kNone;
    if (left.right != kNone) nodes[left.right].left = best.left;
    candidate(left.left, best.left, push);
    candidate(best.left, left.right, push);
  }
  for (uint32_t i = 0; i != kNone; i = nodes[i].right) symbols.push_back(nodes[i].symbol);
}

void Bpe::emit(const Symbol* symbols, size_t count, std::vector<TokenId>& ids) const {
  for (size_t i = 0; i < count; ++i) {
    const Entry& entry = entries_[symbols[i]];
    if (entry.id >= 0) {
      ids.push_back(entry.id);
      continue;
    }
    for (const char c : entry.bytes) {
      const TokenId id = byte_id(static_cast<unsigned char>(c));
      if (id >= 0) ids.push_back(id);
    }
  }
}

void Bpe::merge(std::string_view piece, std::vector<TokenId>& ids) const {
  Symbol whole = kNone;
  if (piece.size() <= longest_) {
    whole = find(piece, hash(piece));
    if (whole != kNone && entries_[whole].id >= 0) {
      if (whole_pieces_ || whole_[whole].load(std::memory_order_relaxed) == kWhole) {
        ids.push_back(entries_[whole].id);
        return;
      }
    } else {
      whole = kNone;
    }
  }
  if (piece.size() <= kShort) {
    Symbol symbols[kShort];
    const size_t count = merge_short(piece, symbols);
    if (whole != kNone) {
      whole_[whole].store(count == 1 ? kWhole : kParts, std::memory_order_relaxed);
    }
    emit(symbols, count, ids);
    return;
  }
  std::vector<Symbol> symbols;
  for (size_t begin = 0; begin < piece.size(); begin += kLongest) {
    merge_long(piece.substr(begin, kLongest), symbols);
  }
  if (whole != kNone) {
    whole_[whole].store(symbols.size() == 1 ? kWhole : kParts, std::memory_order_relaxed);
  }
  emit(symbols.data(), symbols.size(), ids);
}

}  // namespace foretoken::engine
