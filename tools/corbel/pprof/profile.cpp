// SPDX-License-Identifier: Apache-2.0
// A profile in memory: its texts and labels.
#include "pprof/profile.hpp"

namespace corbel::cli {

Texts::Id Texts::id(std::string_view text) {
  const auto [place, added] = ids_.try_emplace(std::string(text), static_cast<Id>(list_.size()));
  if (added) list_.push_back(&place->first);
  return place->second;
}

const std::string& Profile::label(const Sample& sample, std::string_view key) const {
  for (const Label& label : sample.labels) {
    if (texts[label.key] == key) return texts[label.text];
  }
  return texts[0];
}

void Profile::set_label(Sample& sample, std::string_view key, std::string_view text) {
  const Label label{texts.id(key), texts.id(text), 0, 0};
  for (Label& each : sample.labels) {
    if (each.key == label.key) {
      each = label;
      return;
    }
  }
  sample.labels.push_back(label);
}

std::size_t Profile::default_index() const {
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (default_type != 0 && types[i].type == default_type) return i;
  }
  // pprof, too, shows the last one.
  return types.empty() ? 0 : types.size() - 1;
}

std::string Profile::fact(std::string_view key) const {
  for (const Texts::Id comment : comments) {
    const std::string& text = texts[comment];
    if (text.size() > key.size() + 1 && text.compare(0, key.size(), key) == 0 &&
        text[key.size()] == ':') {
      return text.substr(text.find_first_not_of(' ', key.size() + 1) == std::string::npos
                             ? text.size()
                             : text.find_first_not_of(' ', key.size() + 1));
    }
  }
  return {};
}

}  // namespace corbel::cli
