/**
 * @file report_json.hpp
 *
 * What the report as JSON is made of.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_REPORT_REPORT_JSON_HPP
#define DASGD_REPORT_REPORT_JSON_HPP

#include "report.hpp"

namespace dasgd {
namespace report {

//! A number as JSON has it: null if it is not finite.
std::string JsonNumber(const double value);

//! A text in quotes, with its control characters escaped.
std::string JsonString(const std::string& value);

} // namespace report
} // namespace dasgd

#ifndef DASGD_COMPILED
#include "report_json_impl.hpp"
#endif

#endif
