// stdin, stdout and stderr of a command: never another file by accident, never a lost error.
#pragma once

#include <string_view>

namespace foretoken::lsp {

/// Puts something harmless where a standard stream is closed, so that no file opened later takes its
/// number. Reading such a stdin fails. Call first.
void hold_standard_streams();

/// Throws std::runtime_error where stdin cannot be read.
void require_stdin();

/// One line on stderr: "foretoken: " and `what`, control characters escaped.
void report(std::string_view what);

/// False, and reported, where what was printed on stdout could not be written.
bool flush_stdout();

}  // namespace foretoken::lsp
