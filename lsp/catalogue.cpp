#include "lsp/catalogue.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <stdexcept>

namespace foretoken::lsp {
namespace {

using Json = nlohmann::json;

/// Names become file names: nothing but these characters, and no leading dot.
bool plain_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= 64 && name[0] != '.' && std::ranges::all_of(name, plain);
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Source read_source(const Json& json) {
  Source source;
  source.hub = json.value("hub", "");
  source.revision = json.value("revision", "main");
  source.file = json.value("file", "");
  source.share = json.value("share", "");
  for (const Json& part : json.value("pip", Json::array())) {
    source.pip.push_back({part.at("package"), part.at("version"), part.at("file")});
  }
  if (!source.hub.empty() + !source.pip.empty() + !source.share.empty() != 1) {
    throw std::runtime_error("a source needs exactly one of hub, pip, share");
  }
  return source;
}

Entry read_entry(const Json& json) {
  Entry entry;
  entry.name = json.at("name");
  if (!plain_name(entry.name)) throw std::runtime_error("bad model name");
  entry.title = json.at("title");
  entry.licence = json.at("licence");
  entry.bytes = json.at("bytes");
  entry.architecture = json.at("architecture");
  entry.fim = json.at("fim");
  entry.runs = json.value("runs", true);
  std::set<std::string> sums;
  for (const Json& source : json.at("sources")) {
    entry.sources.push_back(read_source(source));
    sums.insert(source.value("sha256", ""));
  }
  if (sums.size() != 1) throw std::runtime_error(entry.name + ": sources must share one sha256");
  entry.sha256 = *sums.begin();
  if (!entry.sha256.empty() && !is_sha256(entry.sha256)) {
    throw std::runtime_error(entry.name + ": bad sha256");
  }
  return entry;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

Catalogue Catalogue::read(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) {
    throw std::runtime_error("the model catalogue " + file.string() +
                             " is missing; build again with ./run build");
  }
  try {
    const Json json = Json::parse(stream);
    Catalogue catalogue;
    catalogue.hub_ = json.at("hub");
    catalogue.default_ = json.at("default");
    for (const Json& entry : json.at("models")) {
      catalogue.entries_.push_back(read_entry(entry));
      const std::string& name = catalogue.entries_.back().name;
      if (catalogue.find(name) != &catalogue.entries_.back()) {
        throw std::runtime_error(name + " stands there twice");
      }
    }
    if (!catalogue.find(catalogue.default_)) throw std::runtime_error("the default is no model");
    return catalogue;
  } catch (const std::exception& error) {
    throw std::runtime_error("the model catalogue " + file.string() +
                             " is broken: " + error.what());
  }
}

const Entry* Catalogue::find(std::string_view name) const {
  const auto at = std::ranges::find(entries_, name, &Entry::name);
  return at == entries_.end() ? nullptr : &*at;
}

std::string Catalogue::suggestion(std::string_view name) const {
  std::string near;
  for (const Entry& entry : entries_) {
    const bool part = name.size() >= 3 && (entry.name.find(name) != std::string::npos ||
                                           name.find(entry.name) != std::string_view::npos);
    if (!part && edit_distance(name.substr(0, 100), entry.name) > entry.name.size() / 4) continue;
    near += (near.empty() ? "" : ", ") + entry.name;
  }
  return near.empty() ? " (foretoken model list shows those that can be had)"
                      : "; did you mean " + near + "?";
}

std::string human_bytes(uint64_t bytes) {
  char text[32];
  if (bytes >= 1000000000) {
    std::snprintf(text, sizeof text, "%.1f GB", double(bytes) / 1e9);
  } else if (bytes >= 1000000) {
    std::snprintf(text, sizeof text, "%.0f MB", double(bytes) / 1e6);
  } else {
    std::snprintf(text, sizeof text, "%.0f kB", double(bytes) / 1e3);
  }
  return text;
}

}  // namespace foretoken::lsp
