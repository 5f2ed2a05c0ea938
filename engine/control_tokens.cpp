#include "engine/control_tokens.h"

#include <algorithm>
#include <utility>

namespace foretoken::engine {

namespace {

using R = ControlRole;
constexpr std::pair<std::string_view, ControlRole> kRoles[] = {
    {"<|fim_prefix|>", R::fim_prefix},
    {"<|fim_suffix|>", R::fim_suffix},
    {"<|fim_middle|>", R::fim_middle},
    {"<fim_prefix>", R::fim_prefix},
    {"<fim_suffix>", R::fim_suffix},
    {"<fim_middle>", R::fim_middle},
    {"<fim-prefix>", R::fim_prefix},
    {"<fim-suffix>", R::fim_suffix},
    {"<fim-middle>", R::fim_middle},
    {"<｜fim▁begin｜>", R::fim_prefix},
    {"<｜fim▁hole｜>", R::fim_suffix},
    {"<｜fim▁end｜>", R::fim_middle},
    {"<[fim-prefix]>", R::fim_prefix},
    {"<[fim-suffix]>", R::fim_suffix},
    {"<[fim-middle]>", R::fim_middle},
    {"<|code_prefix|>", R::fim_prefix},
    {"<|code_suffix|>", R::fim_suffix},
    {"<|code_middle|>", R::fim_middle},
    {"<|prefix|>", R::fim_prefix},
    {"<|suffix|>", R::fim_suffix},
    {"<|middle|>", R::fim_middle},
    {"▁<PRE>", R::fim_prefix},
    {"▁<SUF>", R::fim_suffix},
    {"▁<MID>", R::fim_middle},
    {"<PRE>", R::fim_prefix},
    {"<SUF>", R::fim_suffix},
    {"<MID>", R::fim_middle},
    {"[PREFIX]", R::fim_prefix},
    {"[SUFFIX]", R::fim_suffix},
    {"[MIDDLE]", R::fim_middle},
    {"<|fim_pad|>", R::fim_pad},
    {"<fim_pad>", R::fim_pad},
    {"<fim-pad>", R::fim_pad},
    {"<PAD>", R::fim_pad},
    {"[PAD]", R::fim_pad},
    {"<|repo_name|>", R::repository},
    {"<|fim_repo|>", R::repository},
    {"<repo_name>", R::repository},
    {"<fim-repo>", R::repository},
    {"<reponame>", R::repository},
    {"<REPO>", R::repository},
    {"<|file_sep|>", R::file},
    {"<file_sep>", R::file},
    {"<filename>", R::file},
    {"<|file_separator|>", R::file},
    {"<|endoftext|>", R::end},
    {"<|end_of_text|>", R::end},
    {"<|im_end|>", R::end},
    {"<|end|>", R::end},
    {"<|eot_id|>", R::end},
    {"<|eom_id|>", R::end},
    {"<|return|>", R::end},
    {"<|call|>", R::end},
    {"<|flush|>", R::end},
    {"<|calls|>", R::end},
    {"<|EOT|>", R::end},
    {"<end_of_turn>", R::end},
    {"<end_of_utterance>", R::end},
    {"<｜end▁of▁sentence｜>", R::end},
    {"<[end▁of▁sentence]>", R::end},
    {"</s>", R::end},
    {"<eos>", R::end},
    {"<EOT>", R::end},
    {"▁<EOT>", R::end},
    {"_<EOT>", R::end},
    {"[EOT]", R::end},
    {"[EOS]", R::end},
    {"<turn|>", R::end},
    {"<|tool_response>", R::end},
    {"[e~[", R::end},
};

}  // namespace

ControlRole control_role(std::string_view text) {
  constexpr std::string_view kFirstBytes = "<[_\xE2";  // of all spellings above
  if (text.empty() || text.size() > 32 || kFirstBytes.find(text[0]) == text.npos) return R::none;
  const auto* row = std::find_if(std::begin(kRoles), std::end(kRoles),
                                 [&](const auto& r) { return r.first == text; });
  return row != std::end(kRoles) ? row->second : R::none;
}

bool looks_like_control(std::string_view text) {
  constexpr std::string_view kOpen = "<｜", kClose = "｜>";
  if (text.size() > 4 && text.starts_with("<|") && text.ends_with("|>")) return true;
  if (text.size() > kOpen.size() + kClose.size() && text.starts_with(kOpen) &&
      text.ends_with(kClose)) {
    return true;
  }
  return (text.starts_with("<unused") && text.ends_with(">")) || text == "<pad>" ||
         text == "<mask>" || text == "<2mass>" || text == "[@BOS@]";
}

}  // namespace foretoken::engine
