/**
 * @file report_text.hpp
 *
 * What the report as text is made of.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_REPORT_REPORT_TEXT_HPP
#define DASGD_REPORT_REPORT_TEXT_HPP

#include "report.hpp"

namespace dasgd {
namespace report {

//! The advice for gradients that take less time than an exchange.
const char* TooShort();

//! A number with up to four significant digits.
std::string Short(const double value);

//! A number of bytes, with its unit.
std::string Bytes(const std::uint64_t bytes);

//! Rows of equally many cells as a table, aligned to the right.
std::string Columns(const std::vector<std::vector<std::string>>& rows);

//! The formula of the first step limit, its value and what went into it.
std::string Limit(const Report& report);

//! How often each staleness was met, over all ranks, in powers of two.
std::string Histogram(const Report& report);

} // namespace report
} // namespace dasgd

#ifndef DASGD_COMPILED
#include "report_text_impl.hpp"
#endif

#endif
