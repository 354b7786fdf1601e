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

#include "kinds.hpp"

namespace dasgd {
namespace cli {

//! The name of a binding's program.
inline std::string ProgramName(const std::string& binding)
{ return "mlpack_" + binding; }

//! A parameter of a binding: '--training_file (-t)'.
inline std::string ParamText(const std::string& binding,
                             const std::string& name)
{
  Params params = mlpack::IO::Parameters(binding);
  const auto found = params.Parameters().find(name);
  if (found == params.Parameters().end())
  {
    throw std::invalid_argument("the documentation of " +
        ProgramName(binding) + " names the parameter '" + name + "', which "
        "does not exist");
  }
  return FullName(KindOf(params, found->second), found->second);
}

//! The name of a file with a data set, and of one with a model.
inline std::string DatasetText(const std::string& name)
{ return "'" + name + ".csv'"; }
inline std::string ModelText(const std::string& name)
{ return "'" + name + ".bin'"; }

//! One parameter of a call after the other.
inline void AddToCall(Params& /* params */, std::string& /* call */) { }

template<typename T, typename... Args>
void AddToCall(Params& params,
               std::string& call,
               const std::string& name,
               const T& value,
               const Args&... rest)
{
  const auto found = params.Parameters().find(name);
  if (found == params.Parameters().end())
  {
    // Of a program that is not this one.
    call += " --" + name + " " + ValueText(value, false);
  }
  else
  {
    ParamData& data = found->second;
    const Kind& kind = KindOf(params, data);
    // A number that a program puts out is printed anyway.
    if (kind.InFile() || data.input)
      call += " --" + Name(kind, data);
    if (kind.InFile())
    {
      call += " " + ValueText(value, false) +
          (kind.HoldsModel() ? ".bin" : ".csv");
    }
    else if (!kind.Flag() && data.input)
    {
      const std::string text = ValueText(value, false);
      const bool plain = text.find_first_of(" {}") == std::string::npos;
      call += " " + (plain ? text : "'" + text + "'");
    }
  }
  AddToCall(params, call, rest...);
}

//! A call of a program as one types it.
template<typename... Args>
std::string CallText(const std::string& binding, const Args&... args)
{
  Params params = mlpack::IO::Parameters(binding);
  std::string call = "$ " + ProgramName(binding);
  AddToCall(params, call, args...);
  return call;
}

// Some bindings tell their example step by step, for languages with objects.

//! Fetch a data set.
inline std::string FetchText(const std::string& name, const std::string& url)
{ return "$ wget -O " + name + ".csv " + url; }

//! Divide a data set and its labels.
inline std::string SplitText(const std::string& points,
                             const std::string& labels,
                             const std::string& trainPoints,
                             const std::string& trainLabels,
                             const std::string& testPoints,
                             const std::string& testLabels,
                             const std::string& ratio)
{
  return "$ " + ProgramName("preprocess_split") + " --input_file " + points +
      ".csv --input_labels_file " + labels + ".csv --training_file " +
      trainPoints + ".csv --training_labels_file " + trainLabels +
      ".csv --test_file " + testPoints + ".csv --test_labels_file " +
      testLabels + ".csv --test_ratio " + ratio;
}

//! Checks are ignored in languages that do without them; not here.
template<typename T>
bool IgnoreCheck(const T& /* parameters */) { return false; }

} // namespace cli
} // namespace dasgd

#endif
