/**
 * @file page.hpp
 *
 * A plan as a table, and as a page for a browser.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_PLAN_PAGE_HPP
#define DASGD_BINDINGS_PLAN_PAGE_HPP

#include "learn.hpp"

#include <iosfwd>
#include <utility>

namespace dasgd {
namespace planning {

//! All that was found.
struct Findings
{
  std::string title;
  std::string advice;
  //! What a reader should know of the measurements; mostly nothing.
  std::string warning;
  //! Which of the rows is recommended.
  size_t best = 0;
  std::vector<PlanRow> rows;
  std::vector<LearnedRow> learned;
  double target = 0;
  //! What it was made from.
  std::vector<std::pair<std::string, std::string>> settings;
  std::string command;
};

//! For a terminal.
void PrintTable(std::ostream& out, const Findings& findings);

//! One line for each row.
void SaveRows(const std::string& path, const Findings& findings);

void SavePage(const std::string& path, const Findings& findings);

//! Seconds and bytes as one reads them.
std::string SecondsText(double seconds);
std::string BytesText(double bytes);

} // namespace planning
} // namespace dasgd

#endif
