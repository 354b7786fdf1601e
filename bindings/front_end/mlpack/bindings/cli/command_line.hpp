/**
 * @file command_line.hpp
 *
 * From words to parameters.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_FRONT_END_COMMAND_LINE_HPP
#define DASGD_FRONT_END_COMMAND_LINE_HPP

#include "kind.hpp"

namespace dasgd {
namespace cli {

/**
 * Set all parameters that the words name.  Every mistake is fatal.
 *
 * @param params The parameters of the binding.
 */
void ParseCommandLine(Params& params, const int argc, char** argv);

//! Fatal if a required parameter is missing.
void CheckRequired(Params& params);

} // namespace cli
} // namespace dasgd

#endif
