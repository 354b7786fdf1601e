/**
 * @file page_json.hpp
 *
 * Numbers and tables as pages read them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_PAGE_PAGE_JSON_HPP
#define DASGD_BINDINGS_PAGE_PAGE_JSON_HPP

#include <data/text.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace dasgd {
namespace study {

using Json = nlohmann::ordered_json;
using Pairs = std::vector<std::pair<std::string, std::string>>;

//! Six digits are enough for a page; null if it is not known.
inline Json PageNumber(const double value)
{
  return std::isfinite(value) ? Json(NumberOf(NumberText(value, 6))) : Json();
}

//! A list of lists of two, whatever the texts are.
inline Json PageTable(const Pairs& pairs)
{
  Json table = Json::array();
  for (const auto& pair : pairs)
    table.push_back(Json::array({ pair.first, pair.second }));
  return table;
}

} // namespace study
} // namespace dasgd

#endif
