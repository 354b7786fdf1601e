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

//! Write the page with what is known so far.
void SavePage(const Settings& settings, const Results& results);

} // namespace study
} // namespace dasgd

#endif
