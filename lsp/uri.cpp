// The URI half of documents.h: file URIs to paths and back, and the spelling that serves as key.
#include <optional>

#include "lsp/documents.h"

namespace foretoken::lsp {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_unreserved(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The byte that "%XY" at `at` stands for, -1 where it is no escape.
int escaped_byte(std::string_view text, size_t at) {
  if (text[at] != '%' || at + 2 >= text.size()) return -1;
  const int high = hex(text[at + 1]), low = hex(text[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

void append_escaped(char c, std::string& to) {
  constexpr char digits[] = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  to += {'%', digits[byte >> 4], digits[byte & 15]};
}

std::string lowered(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) c = lower(c);
  return lowered;
}

// Length of "scheme:", 0 where there is none.
size_t scheme_length(std::string_view uri) {
  const size_t colon = uri.find(':');
  if (colon == std::string_view::npos || colon == 0 || !is_letter(uri[0])) return 0;
  for (const char c : uri.substr(0, colon)) {
    if (!is_unreserved(c) && c != '+') return 0;
  }
  return colon + 1;
}

struct FileUri {
  std::string host;       // lower case; "" for this machine
  std::string_view path;  // still percent-encoded, begins with '/'
  std::string_view rest;  // from '?' or '#'
};

std::optional<FileUri> parse_file_uri(std::string_view uri) {
  const size_t scheme = scheme_length(uri);
  if (scheme != 5 || lowered(uri.substr(0, scheme)) != "file:") return std::nullopt;
  uri.remove_prefix(scheme);
  FileUri file;
  if (uri.starts_with("//")) {
    uri.remove_prefix(2);
    const size_t slash = uri.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    file.host = lowered(uri.substr(0, slash));
    if (file.host == "localhost") file.host.clear();
    uri.remove_prefix(slash);
  }
  if (!uri.starts_with('/')) return std::nullopt;
  const size_t end = uri.find_first_of("?#");
  file.path = uri.substr(0, end);
  if (end != std::string_view::npos) file.rest = uri.substr(end);
  return file;
}

// "/c:/…", with any spelling of the colon already undone.
bool has_drive(std::string_view path) {
  return path.size() >= 3 && path[0] == '/' && is_letter(path[1]) && path[2] == ':' &&
         (path.size() == 3 || path[3] == '/');
}

// Every byte escaped that need not stand plain, '/' kept apart from "%2F".
std::string canonical_path(std::string_view encoded) {
  std::string bytes;  // an escaped '/' or '%' stays escaped
  for (size_t i = 0; i < encoded.size(); ++i) {
    const int byte = escaped_byte(encoded, i);
    const char c = byte < 0 ? encoded[i] : static_cast<char>(byte);
    if (is_unreserved(c) || (byte < 0 && c == '/') || (c == ':' && bytes.size() == 2)) {
      bytes.push_back(c);
    } else {
      append_escaped(c, bytes);
    }
    if (byte >= 0) i += 2;
  }
  if (has_drive(bytes)) bytes[1] = lower(bytes[1]);
  return bytes;
}

}  // namespace

std::string path_of_uri(std::string_view uri) {
  const auto file = parse_file_uri(uri);
  if (!file || !file->host.empty()) return "";
  std::string path;
  path.reserve(file->path.size());
  for (size_t i = 0; i < file->path.size(); ++i) {
    if (file->path[i] != '%') {
      if (file->path[i] == '\0') return "";
      path.push_back(file->path[i]);
      continue;
    }
    const int byte = escaped_byte(file->path, i);
    if (byte <= 0 || byte == '/') return "";  // no escape, NUL, or a '/' inside a name
    path.push_back(static_cast<char>(byte));
    i += 2;
  }
  return path;
}

std::string uri_of_path(std::string_view absolute_path) {
  std::string uri = "file://";
  for (const char c : absolute_path) {
    if (is_unreserved(c) || c == '/') {
      uri.push_back(c);
    } else {
      append_escaped(c, uri);
    }
  }
  return uri;
}

std::string canonical_uri(std::string_view uri) {
  if (const auto file = parse_file_uri(uri)) {
    std::string canonical = "file://" + file->host + canonical_path(file->path);
    return canonical.append(file->rest);
  }
  // Another scheme: only what every reader must take for the same (RFC 3986, 6.2.2).
  const size_t scheme = scheme_length(uri);
  std::string canonical = lowered(uri.substr(0, scheme));
  for (size_t i = scheme; i < uri.size(); ++i) {
    const int byte = escaped_byte(uri, i);
    if (byte < 0) {
      canonical.push_back(uri[i]);
      continue;
    }
    if (is_unreserved(static_cast<char>(byte))) {
      canonical.push_back(static_cast<char>(byte));
    } else {
      append_escaped(static_cast<char>(byte), canonical);
    }
    i += 2;
  }
  return canonical;
}

}  // namespace foretoken::lsp
