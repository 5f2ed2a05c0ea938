// Is a body being begun? What the line above a cursor, or left of it, opens, and whether what it
// opens is closed below. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/code_scan.h"

namespace foretoken::engine {

struct Opener {
  enum class Kind : uint8_t { none, bracket, colon, word, tag };
  Kind kind = Kind::none;
  size_t indent = 0;      // columns of the statement that opens
  size_t bracket_at = 0;  // of a bracket: its place in the scanned text
  char bracket = 0;
  std::string tag;  // of an HTML or XML tag: its name
};

/// The lines around a cursor, as every rule wants them.
struct Surroundings {
  Surroundings(std::string_view before, std::string_view after);

  std::string_view left;       // of the cursor's line
  std::string_view rest;       // right of the cursor in its line, trailing blanks left out
  std::string_view below;      // the lines under the cursor's
  std::string_view next_line;  // the first of them that is not blank, trailing blanks left out
  bool has_next = false;
  bool left_blank = false, rest_blank = false;
};

/// What the cursor's line opens at its end, or, where that is blank, the line directly above it.
/// `scanned` are the bytes left of the cursor that scanner positions count from.
Opener find_opener(std::string_view scanned, const Surroundings& around, const Lexical& lexical);

/// True where a line begins with a word that ends a block: end, fi, done, esac, …
bool is_end_word_line(std::string_view line);

/// For each bracket open at `scanner`'s place: does `after` close it?
std::vector<bool> closed_in(CodeScanner scanner, std::string_view after);

}  // namespace foretoken::engine
