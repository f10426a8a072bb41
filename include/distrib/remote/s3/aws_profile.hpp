// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/shortest_text.hpp>

#include <map>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// What the files ~/.aws/credentials and ~/.aws/config say, by profile and name. A value.
class AwsProfiles {
 public:
  using Section = std::map<std::string, std::string, std::less<>>;

  /// Adds the file of credentials. Its values win over those of the other file.
  void add_credentials(std::string_view text) { add(text, false); }
  /// Adds the file of settings, whose sections are called "profile NAME", and "default".
  void add_config(std::string_view text) { add(text, true); }

  /// Returns the settings of a profile; null if no file has it. Valid as long as this object is not changed.
  [[nodiscard]] auto find(std::string_view profile) const -> const Section* {
    const auto found = profiles_.find(profile);
    return found == profiles_.end() ? nullptr : &found->second;
  }
  /// Returns a setting of a profile; empty if there is none.
  [[nodiscard]] auto get(std::string_view profile, std::string_view name) const -> std::string {
    const Section* const section = find(profile);
    if (section == nullptr) return {};
    const auto found = section->find(name);
    return found == section->end() ? std::string{} : found->second;
  }

 private:
  static auto trimmed(std::string_view text) -> std::string_view {
    const std::size_t first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
  }

  /// Lines that are neither a section nor NAME = VALUE are left out, and so are nested settings, which are indented.
  void add(std::string_view text, bool config) {
    Section* section = nullptr;
    while (!text.empty()) {
      std::string_view line = detail::cut_before(text, '\n');
      const bool indented = line.starts_with(' ') || line.starts_with('\t');
      line = trimmed(line);
      if (line.empty() || line.front() == '#' || line.front() == ';') continue;
      if (line.front() == '[') {
        std::string_view name = trimmed(line.substr(1, line.find(']') - 1));
        section = nullptr;
        if (line.find(']') == std::string_view::npos) continue;
        if (config && name != "default") {
          if (!name.starts_with("profile ")) continue;  // sso-session and others
          name = trimmed(name.substr(8));
        }
        section = &profiles_[std::string{name}];
        continue;
      }
      const std::size_t equals = line.find('=');
      if (section == nullptr || indented || equals == std::string_view::npos) continue;
      const std::string name{trimmed(line.substr(0, equals))};
      std::string_view value = trimmed(line.substr(equals + 1));
      if (const std::size_t comment = value.find(" #"); comment != std::string_view::npos)
        value = trimmed(value.substr(0, comment));
      if (config) section->emplace(name, value);
      else section->insert_or_assign(name, std::string{value});
    }
  }

  std::map<std::string, Section, std::less<>> profiles_;
};

}  // namespace v0
}  // namespace distrib
