/**
 * @file documentation.hpp
 *
 * How parameters, files and calls are written in the documentation of a
 * binding: what the PRINT_*() macros stand for on the command line.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_FRONT_END_DOCUMENTATION_HPP
#define DASGD_FRONT_END_DOCUMENTATION_HPP

#include "kind.hpp"
#include "value_text.hpp"

namespace dasgd {
namespace cli {

//! The name of the binding that this program runs; set by RunProgram(), before
//! any documentation is asked for.
std::string& BindingName();

//! The name of a binding's program.
std::string ProgramName(const std::string& binding);

//! A parameter of this binding: '--training_file (-t)'.
std::string ParamText(const std::string& name);

//! The name of a file with a data set, and of one with a model.
std::string DatasetText(const std::string& name);
std::string ModelText(const std::string& name);

//! Add a parameter with its value to a call.
void AddToCall(Params& params,
               std::string& call,
               const std::string& name,
               const std::string& value);

//! The same for all parameters of a call.
inline void AddAllToCall(Params& /* params */, std::string& /* call */) { }

template<typename T, typename... Args>
void AddAllToCall(Params& params,
                  std::string& call,
                  const std::string& name,
                  const T& value,
                  const Args&... rest)
{
  AddToCall(params, call, name, ValueText(value, false));
  AddAllToCall(params, call, rest...);
}

//! A call of a program as one types it.
template<typename... Args>
std::string CallText(const std::string& binding, const Args&... args)
{
  Params params = mlpack::IO::Parameters(binding);
  std::string call = "$ " + ProgramName(binding);
  AddAllToCall(params, call, args...);
  return call;
}

// Some bindings tell their example step by step, for languages with objects.

//! Fetch a data set.
std::string FetchText(const std::string& name, const std::string& url);

//! Divide a data set and its labels.
std::string SplitText(const std::string& points,
                      const std::string& labels,
                      const std::string& trainPoints,
                      const std::string& trainLabels,
                      const std::string& testPoints,
                      const std::string& testLabels,
                      const std::string& ratio);

//! Checks are ignored in languages that do without them; not here.
template<typename T>
bool IgnoreCheck(const T& /* parameters */) { return false; }

} // namespace cli
} // namespace dasgd

#endif
