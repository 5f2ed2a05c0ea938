#include <curl/curl.h>
#include <strings.h>

#include <charconv>
#include <chrono>
#include <exception>
#include <thread>

#include "lsp/pull_source.h"

namespace foretoken::lsp {
namespace {

std::string host_of(const std::string& url) {
  const size_t begin = url.find("://") + 3;
  return url.substr(begin, url.find('/', begin) - begin);
}

std::string escaped_path(const std::string& path) {
  std::string text;
  for (const char c : path) {
    if (std::isalnum(static_cast<unsigned char>(c)) ||
        std::string_view("/-._~").find(c) != std::string_view::npos) {
      text += c;
    } else {
      char code[4];
      std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
      text += code;
    }
  }
  return text;
}

/// One HTTP exchange that appends to a PartFile. Callbacks come from curl on the calling thread.
class HubTransfer {
 public:
  HubTransfer(const PullContext& context, PartFile& part, std::string url)
      : context_(context), part_(part), url_(std::move(url)), curl_(curl_easy_init()) {
    if (!curl_) throw SourceFailed("libcurl cannot start");
  }
  ~HubTransfer() {
    curl_slist_free_all(headers_);
    curl_easy_cleanup(curl_);
  }
  HubTransfer(const HubTransfer&) = delete;
  HubTransfer& operator=(const HubTransfer&) = delete;

  CURLcode run() {
    const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(curl_, option, value); };
    set(CURLOPT_URL, url_.c_str());
    set(CURLOPT_PROTOCOLS_STR, "https");
    set(CURLOPT_REDIR_PROTOCOLS_STR, "https");
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, 5L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT, long(context_.settings.connect_seconds));
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, long(context_.settings.stall_seconds));
    set(CURLOPT_USERAGENT, "foretoken/" FORETOKEN_VERSION);
    if (!context_.settings.certificates.empty()) {
      set(CURLOPT_CAINFO, context_.settings.certificates.c_str());
    }
    // The file's own bytes: no compression on the way, ranges count them.
    headers_ = curl_slist_append(headers_, "Accept-Encoding: identity");
    if (part_.size() > 0) {
      headers_ = curl_slist_append(headers_,
                                   ("Range: bytes=" + std::to_string(part_.size()) + "-").c_str());
      if (!part_.mark().empty()) {
        headers_ = curl_slist_append(headers_, ("If-Range: " + part_.mark()).c_str());
      }
    }
    set(CURLOPT_HTTPHEADER, headers_);
    set(CURLOPT_HEADERFUNCTION, &HubTransfer::on_header);
    set(CURLOPT_HEADERDATA, static_cast<void*>(this));
    set(CURLOPT_WRITEFUNCTION, &HubTransfer::on_bytes);
    set(CURLOPT_WRITEDATA, static_cast<void*>(this));
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &HubTransfer::on_progress);
    set(CURLOPT_XFERINFODATA, static_cast<void*>(this));
    const CURLcode code = curl_easy_perform(curl_);
    if (failure_) std::rethrow_exception(failure_);
    return code;
  }

  long status() const {
    long code = 0;
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &code);
    return code;
  }
  std::string linked_sha256() const { return linked_.size() == 64 ? linked_ : std::string(); }
  uint64_t total() const { return total_; }

 private:
  static size_t on_header(char* data, size_t, size_t size, void* self) {
    return static_cast<HubTransfer*>(self)->header({data, size}), size;
  }
  static size_t on_bytes(char* data, size_t, size_t size, void* self) {
    auto* transfer = static_cast<HubTransfer*>(self);
    try {
      return transfer->bytes({data, size}) ? size : 0;
    } catch (...) {
      transfer->failure_ = std::current_exception();
      return 0;
    }
  }
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<HubTransfer*>(self)->context_.interrupted() ? 1 : 0;
  }

  void header(std::string_view line) {
    if (line.starts_with("HTTP/")) {  // the next response of a chain: what counts is the last one
      etag_.clear();
      range_begin_ = length_ = total_ = 0;
      begun_ = false;
      return;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string name(line.substr(0, colon));
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && std::isspace(static_cast<unsigned char>(value.front())))
      value.remove_prefix(1);
    while (!value.empty() && std::isspace(static_cast<unsigned char>(value.back())))
      value.remove_suffix(1);
    const auto is = [&](const char* other) { return strcasecmp(name.c_str(), other) == 0; };
    if (is("etag") && value.size() < 200 && !value.starts_with("W/")) etag_ = value;
    if (is("content-length")) std::from_chars(value.begin(), value.end(), length_);
    if (is("content-range") && value.starts_with("bytes ")) {
      std::from_chars(value.begin() + 6, value.end(), range_begin_);
      const size_t slash = value.find('/');
      if (slash != std::string_view::npos) {
        std::from_chars(value.begin() + slash + 1, value.end(), total_);
      }
    }
    if (is("x-linked-etag") && linked_.empty()) {  // only the hub itself says this, not its storage
      for (const char c : value) {
        if (c != '"') linked_ += char(std::tolower(static_cast<unsigned char>(c)));
      }
      if (linked_.find_first_not_of("0123456789abcdef") != std::string::npos) linked_.clear();
    }
  }

  /// Before the first byte of the body: does it go on where the part ends, and will it fit?
  bool begin() {
    const long code = status();
    if (code == 206 && range_begin_ != part_.size()) return false;
    if (code == 200) {
      part_.restart();  // the file changed, or the server knows no ranges
      total_ = length_;
    }
    if (code != 200 && code != 206) return false;
    const Entry& entry = context_.entry;
    const uint64_t cap = entry.sha256.empty() ? entry.bytes + entry.bytes / 2 : entry.bytes;
    if (total_ == 0 || total_ > cap || (!entry.sha256.empty() && total_ != entry.bytes)) {
      throw SourceFailed("the hub offers " + human_bytes(total_) + " (" + std::to_string(total_) +
                         " bytes) where the catalogue says " + std::to_string(entry.bytes));
    }
    context_.need_room(total_ - part_.size());
    part_.checkpoint(etag_);
    return true;
  }

  bool bytes(std::string_view data) {
    if (!begun_ && !begin()) return false;
    begun_ = true;
    if (part_.size() + data.size() > total_) throw SourceFailed("the hub sends more than it said");
    part_.append(data);
    context_.reporter.progress(part_.size(), total_);
    return true;
  }

  const PullContext& context_;
  PartFile& part_;
  std::string url_, etag_, linked_;
  CURL* curl_;
  curl_slist* headers_ = nullptr;
  uint64_t length_ = 0, range_begin_ = 0, total_ = 0;
  bool begun_ = false;
  std::exception_ptr failure_;
};

std::string explain(CURLcode code, const std::string& host) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return host + " is not known to this machine's network (offline?)";
    case CURLE_COULDNT_CONNECT:
      return host + " cannot be reached (offline?)";
    case CURLE_OPERATION_TIMEDOUT:
      return host + " does not answer";
    case CURLE_PEER_FAILED_VERIFICATION:
      return host + " has a certificate that this machine does not trust";
    case CURLE_UNSUPPORTED_PROTOCOL:
      return "only https is allowed";
    default:
      return host + ": " + curl_easy_strerror(code);
  }
}

std::string explain_status(long status, const std::string& host) {
  if (status == 404) return host + " does not have this file any more (HTTP 404)";
  if (status == 401 || status == 403) {
    return host + " refuses the file (HTTP " + std::to_string(status) + ")";
  }
  return host + " answered HTTP " + std::to_string(status);
}

}  // namespace

std::string pull_from_hub(const Source& source, const std::string& hub, const PullContext& context,
                          PartFile& part) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) throw SourceFailed("libcurl cannot start");
  const std::string url = hub + "/" + escaped_path(source.hub) + "/resolve/" +
                          escaped_path(source.revision) + "/" + escaped_path(source.file);
  const std::string host = host_of(hub);
  context.reporter.say("pulling " + context.entry.name + " from " + host +
                       (part.size() > 0 ? " (going on at " + human_bytes(part.size()) + ")" : ""));
  // An earlier pull may have stopped after the last byte and before the check.
  if (!context.entry.sha256.empty() && part.size() == context.entry.bytes) return "";
  for (int attempt = 1;; ++attempt) {
    const uint64_t before = part.size();
    HubTransfer transfer(context, part, url);
    const CURLcode code = transfer.run();
    if (code == CURLE_ABORTED_BY_CALLBACK) throw PullInterrupted("interrupted");
    const long status = transfer.status();
    if (code == CURLE_OK && (status == 200 || status == 206) && part.size() == transfer.total()) {
      return transfer.linked_sha256();
    }
    const bool odd_range =
        before > 0 &&
        (status == 416 || (status == 206 && part.size() == before && code == CURLE_WRITE_ERROR));
    if (odd_range) part.restart();  // what lies here is no beginning of what the hub has
    const bool worth_it = odd_range || part.size() != before || status >= 500;
    if (!worth_it || attempt >= context.settings.tries) {
      throw SourceFailed(status >= 400 ? explain_status(status, host) : explain(code, host));
    }
    context.reporter.say((status >= 400 ? explain_status(status, host)
                                        : "the connection broke at " + human_bytes(part.size())) +
                         "; going on");
    for (int tenth = 0; tenth < 10 * attempt; ++tenth) {
      if (context.interrupted()) throw PullInterrupted("interrupted");
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
}

}  // namespace foretoken::lsp
