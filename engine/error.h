// The one error type of the engine: thrown at start (bad model, no memory, no device) only. Steady
// state returns values (Finish, reasons), never exceptions.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace foretoken::engine {

/// One line for a person: what is wrong, where (file, field, offset), what to do. Printable text
/// only: names taken from files are escaped by whoever builds the message (see printable()).
class ModelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `text` with control, bidirectional and invalid bytes written as \xNN or \u{N}, cut to `limit`
/// bytes.
std::string printable(std::string_view text, size_t limit = 80);

}  // namespace foretoken::engine
