/**
 * @file help.hpp
 *
 * The documentation of a binding as --help prints it, as a manual page and as
 * Markdown.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_FRONT_END_HELP_HPP
#define DASGD_FRONT_END_HELP_HPP

#include "kind.hpp"

namespace dasgd {
namespace cli {

//! What --help prints.
std::string Help(Params& params);

//! What --info prints of one parameter, by its name or its alias.
std::string Info(Params& params, const std::string& asked);

//! The manual page.
std::string ManPage(Params& params, const std::string& version);

//! A script by which bash completes the names of options.
std::string Completion(Params& params);

//! A section of a Markdown page, in the form of mlpack's reference.
std::string Markdown(Params& params);

} // namespace cli
} // namespace dasgd

#endif
