/**
 * @file documentation.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "documentation.hpp"

namespace dasgd {
namespace cli {

std::string& BindingName()
{
  static std::string name;
  return name;
}

std::string ProgramName(const std::string& binding)
{ return "mlpack_" + binding; }

std::string ParamText(const std::string& name)
{
  Params params = mlpack::IO::Parameters(BindingName());
  return OptionText(params, name);
}

std::string DatasetText(const std::string& name)
{ return "'" + name + ".csv'"; }

std::string ModelText(const std::string& name)
{ return "'" + name + ".bin'"; }

void AddToCall(Params& params,
               std::string& call,
               const std::string& name,
               const std::string& value)
{
  const auto found = params.Parameters().find(name);
  if (found == params.Parameters().end())
  {
    // Of a program that is not this one.
    call += " --" + name + " " + value;
    return;
  }
  ParamData& data = found->second;
  const Kind& kind = KindOf(params, data);
  // Numbers that a program puts out are printed in any case.
  if (kind.InFile() || data.input)
    call += " --" + OptionName(data);
  if (kind.InFile())
    call += " " + value + (kind.HoldsModel() ? ".bin" : ".csv");
  else if (!kind.Flag() && data.input)
  {
    const bool plain = value.find_first_of(" {}") == std::string::npos;
    call += " " + (plain ? value : "'" + value + "'");
  }
}

std::string FetchText(const std::string& name, const std::string& url)
{ return "$ wget -O " + name + ".csv " + url; }

std::string SplitText(const std::string& points,
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

} // namespace cli
} // namespace dasgd
