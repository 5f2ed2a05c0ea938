#include "lsp/pull.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "lsp/pull_source.h"

namespace foretoken::lsp {
namespace {

/// Held while a model is pulled; other processes wait for it. The empty file stays.
Fd lock_pull(const PrivateFolder& folder, const Entry& entry, PullReporter& reporter,
             const std::function<bool()>& interrupted) {
  Fd fd = folder.open("." + entry.name + ".lock", O_RDWR | O_CREAT);
  bool said = false;
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (!said) reporter.say("another process is pulling " + entry.name + "; waiting for it");
    said = true;
    if (interrupted()) throw PullInterrupted("interrupted while waiting for another pull");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return fd;
}

std::string kind(const Source& source) {
  return source.hub.empty() ? "pip" : "hub";
}

/// What the present bytes of a part must have come from to be of use.
std::string origin(const Source& source) {
  if (!source.hub.empty()) return "hub " + source.hub + " " + source.revision + " " + source.file;
  std::string text = "pip";
  for (const PackagePart& part : source.pip) text += " " + part.package + "==" + part.version;
  return text;
}

/// "SHA256  NAME.gguf", as sha256sum writes and reads it: the pin of what was pulled.
std::string pin_name(const std::string& file) {
  return file + ".sha256";
}
std::string pin_text(const std::string& sha256, const std::string& file) {
  return sha256 + "  " + file + "\n";
}

/// Fetches and checks; returns the hash of the landed file.
std::string fetch(const Source& source, const std::string& hub, const PullContext& context) {
  const Entry& entry = context.entry;
  PartFile part(context.folder, entry.file_name(), kind(source), origin(source));
  std::string expected = entry.sha256;
  if (source.hub.empty()) {
    pull_from_pip(source, context, part);
  } else {
    const std::string announced = pull_from_hub(source, hub, context, part);
    if (expected.empty()) expected = announced;
  }
  const std::string sum = part.sha256();
  if (!expected.empty() && sum != expected) {
    part.discard();
    throw SourceFailed("its SHA-256 is " + sum.substr(0, 12) + "…, not the expected " +
                       expected.substr(0, 12) + "…; the file was deleted");
  }
  part.land();
  for (const char* other : {".hub", ".pip"}) {  // what another source began is of no more use
    context.folder.remove(entry.file_name() + other + ".part");
    context.folder.remove(entry.file_name() + other + ".from");
  }
  context.folder.write_small(pin_name(entry.file_name()), pin_text(sum, entry.file_name()));
  return sum;
}

}  // namespace

void PullContext::need_room(uint64_t more) const {
  const uint64_t reserve = 64 << 20, free = folder.free_bytes();
  if (free >= more + reserve) return;
  throw SourceFailed(human_bytes(more + reserve) + " needed in " + short_path(folder.path()) +
                     ", " + human_bytes(free) +
                     " free; make room, or set XDG_CACHE_HOME to a folder on another disk");
}

Pulled pull(const Entry& entry, const Catalogue& catalogue, const Paths& paths,
            const PullSettings& settings, PullReporter& reporter,
            const std::function<bool()>& interrupted) {
  const LocalModel here = local_model(entry, paths);
  if (here.state == ModelState::built_in) return {here.path, entry.sha256, true};
  PrivateFolder(paths.cache);
  const PrivateFolder folder(paths.models());
  const Fd lock = lock_pull(folder, entry, reporter, interrupted);

  const std::string file = entry.file_name();
  const LocalModel now = local_model(entry, paths);  // another process may have brought it
  const bool whole = now.state == ModelState::verified || now.state == ModelState::unverified;
  if (whole && !settings.again) {
    return {now.path, folder.read_small(pin_name(file)).value_or("").substr(0, 64), true};
  }
  if (now.state == ModelState::changed) {
    reporter.say(file + " was changed since it was pulled; pulling it again");
  }

  const PullContext context{entry, settings, folder, reporter, interrupted};
  const std::string hub = settings.hub.empty() ? catalogue.hub() : settings.hub;
  std::string failures;
  for (const Source& source : entry.sources) {
    try {
      const std::string sum = fetch(source, hub, context);
      reporter.finished();
      return {folder.path() / file, sum, false};
    } catch (const SourceFailed& failure) {
      reporter.finished();
      failures += (failures.empty() ? "" : "; ") + kind(source) + ": " + failure.what();
      if (&source != &entry.sources.back()) {
        reporter.say(kind(source) + ": " + failure.what() + "; trying the next source");
      }
    } catch (...) {
      reporter.finished();
      throw;
    }
  }
  throw std::runtime_error("could not pull " + entry.name + " (" + failures +
                           "); mend that and go on with: foretoken model pull " + entry.name);
}

LocalModel local_model(const Entry& entry, const Paths& paths) {
  std::error_code error;
  if (entry.built_in()) {
    const auto path = paths.share / entry.file_name();
    return {ModelState::built_in, path, uint64_t(std::filesystem::file_size(path, error))};
  }
  const auto path = paths.models() / entry.file_name();
  struct stat file{}, pin{};
  if (stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) {
    uint64_t bytes = 0;
    for (const char* kind : {".hub.part", ".pip.part"}) {
      if (stat((path.string() + kind).c_str(), &file) == 0)
        bytes = std::max(bytes, uint64_t(file.st_size));
    }
    return {bytes ? ModelState::partial : ModelState::available, {}, bytes};
  }
  LocalModel model{ModelState::unverified, path, uint64_t(file.st_size)};
  const std::string pin_path = pin_name(path.string());
  if (stat(pin_path.c_str(), &pin) != 0) return model;
  // The pin is written after the file: a file that is younger, or of another size than the pinned
  // one, is not what was checked.
  const bool younger = std::pair(file.st_mtim.tv_sec, file.st_mtim.tv_nsec) >
                       std::pair(pin.st_mtim.tv_sec, pin.st_mtim.tv_nsec);
  const bool size_fits = entry.sha256.empty() || model.bytes == entry.bytes;
  if (younger || !size_fits) {
    model.state = ModelState::changed;
  } else if (!entry.sha256.empty()) {
    model.state = ModelState::verified;
  }
  return model;
}

}  // namespace foretoken::lsp
