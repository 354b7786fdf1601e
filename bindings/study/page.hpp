/**
 * @file page.hpp
 *
 * The report of a study as one page for a browser.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_PAGE_HPP
#define DASGD_BINDINGS_STUDY_PAGE_HPP

#include "plan.hpp"
#include "results.hpp"

namespace dasgd {
namespace study {

//! Are there more processes than cores?  There is one on virtual time.
bool Oversubscribed(const Settings& settings, const size_t ranks);

//! The file in a study's folder with what its page shows.
constexpr const char* ReportName = "report.json";

//! Write the page with what is known so far, and that file.
void SavePage(const Settings& settings, const Results& results);

/**
 * Write one page of several studies.
 *
 * @param folders Where their results are.
 * @throw std::invalid_argument that names the folder which is none of a study.
 */
void SavePageOf(const std::vector<std::string>& folders,
                const std::string& file);

} // namespace study
} // namespace dasgd

#endif
