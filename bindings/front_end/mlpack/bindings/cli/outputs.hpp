/**
 * @file outputs.hpp
 *
 * What a program writes: whole files, or none.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_FRONT_END_OUTPUTS_HPP
#define DASGD_FRONT_END_OUTPUTS_HPP

#include "kind.hpp"

namespace dasgd {
namespace cli {

/**
 * Before the work begins: can all outputs be written?
 *
 * @return What is wrong; empty if nothing is.
 */
std::string OutputProblem(Params& params);

/**
 * Write all outputs, each by one rename.  If some cannot be written, the others
 * are, before it is fatal.
 */
void WriteOutputs(Params& params);

//! Print the outputs that are not in files: numbers and texts.
void PrintOutputs(Params& params);

//! Delete all models; several parameters may share one.
void DeleteModels(Params& params);

} // namespace cli
} // namespace dasgd

#endif
