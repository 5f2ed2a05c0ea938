// Brings a model of the catalogue onto this machine: tries its sources in order, goes on where an
// earlier pull stopped, checks the hash, and lands the file by rename. The only part of Foretoken
// that uses the network, and only when it is asked to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lsp/catalogue.h"
#include "lsp/paths.h"

namespace foretoken::lsp {

/// Told what happens, on the front thread. `lsp/progress` draws it on a terminal.
class PullReporter {
 public:
  virtual ~PullReporter() = default;
  virtual void say(const std::string& line) = 0;
  virtual void progress(uint64_t done, uint64_t total) = 0;
  virtual void finished() = 0;  // after the last progress of a source, good or bad
};

struct PullSettings {
  std::string hub;                 // base address of the hub; "": the catalogue's
  std::string certificates;        // file of trusted roots; "": the system's
  int connect_seconds = 10;        // a host that answers at all answers in that time
  int stall_seconds = 30;          // without a byte: the connection is given up and resumed
  int tries = 4;                   // connections of one hub download that brought something
  std::string python = "python3";  // makes the private environment of the pip sources
  bool again = false;              // even though the file is here
};

/// The user stopped it; what came is kept.
class PullInterrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Pulled {
  std::filesystem::path path;
  std::string sha256;
  bool was_here = false;  // nothing had to be done
};

/// Front thread (of `model pull`). Throws std::runtime_error with one line for people; after that
/// no file that failed its check is left. Two pulls of one model at once: the second waits and says
/// so.
Pulled pull(const Entry& entry, const Catalogue& catalogue, const Paths& paths,
            const PullSettings& settings, PullReporter& reporter,
            const std::function<bool()>& interrupted);

/// What `model list` shows of an entry.
enum class ModelState : uint8_t { available, partial, unverified, verified, changed, built_in };
struct LocalModel {
  ModelState state = ModelState::available;
  std::filesystem::path path;  // of the whole file; "" where it is not here
  uint64_t bytes = 0;          // on disk, the finished part of a partial pull included
};
/// Looks at names, sizes and times only; never hashes. Never throws for what it finds.
LocalModel local_model(const Entry& entry, const Paths& paths);

}  // namespace foretoken::lsp
