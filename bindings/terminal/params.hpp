/**
 * @file params.hpp
 *
 * Parameters of a binding: their names in messages, and outputs that could not
 * be written.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_TERMINAL_PARAMS_HPP
#define DASGD_BINDINGS_TERMINAL_PARAMS_HPP

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace mlpack { namespace util { class Params; struct ParamData; } }

namespace dasgd {
namespace cli {

//! The name of a parameter on the command line, without the dashes.
std::string OptionName(const mlpack::util::ParamData& data);

//! A parameter as PRINT_PARAM_STRING() prints it, '--training_file (-t)', but
//! in code that does not know the name of the binding.
std::string OptionText(const mlpack::util::ParamData& data);
std::string OptionText(mlpack::util::Params& params, const std::string& name);

//! The output of an option, for messages.
std::string OutputText(const std::string& path, const std::string& option);

//! What could not be written though the training has succeeded.  Messages are
//! collected so that all other outputs are written first.
std::vector<std::string>& UnwrittenOutputs();

//! What to do once the model is written; may be empty.
std::function<void()>& AfterModel();

//! Names of the values of outputs, to be written in place of whole numbers.
std::map<std::string, std::vector<std::string>>& ValueNames();

//! Does the front end report them at the end?  mlpack's own does not.
bool& ReportsUnwritten();

} // namespace cli
} // namespace dasgd

#endif
