/**
 * @file filled_page.hpp
 *
 * Pages for a browser: a template with its data, and what programs are made of.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_PAGE_FILLED_PAGE_HPP
#define DASGD_BINDINGS_PAGE_FILLED_PAGE_HPP

#include <string>
#include <utility>
#include <vector>

namespace dasgd {
namespace study {

//! Write a page.
//! @param page Has the mark @DATA@ once.
//! @param json What takes its place, within a script.
void SaveFilledPage(const std::string& path,
                    const std::string& page,
                    std::string json);

//! Names and versions of what the program is made of.
std::vector<std::pair<std::string, std::string>> Versions();

} // namespace study
} // namespace dasgd

#endif
