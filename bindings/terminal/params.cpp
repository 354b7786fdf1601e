/**
 * @file params.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "params.hpp"

#include <mlpack/core.hpp>

namespace dasgd {
namespace cli {

std::string OptionName(const mlpack::util::ParamData& data)
{
  // Everything but these types is in a file, in either front end.
  const bool plain = data.cppType == "bool" || data.cppType == "int" ||
      data.cppType == "double" || data.cppType == "std::string" ||
      data.cppType.rfind("std::vector", 0) == 0;
  return data.name + (plain ? "" : "_file");
}

std::string OptionText(const mlpack::util::ParamData& data)
{
  return "'--" + OptionName(data) + (data.alias == '\0' ? "" : " (-" +
      std::string(1, data.alias) + ")") + "'";
}

std::string OptionText(mlpack::util::Params& params, const std::string& name)
{
  const auto found = params.Parameters().find(name);
  if (found == params.Parameters().end())
    throw std::logic_error("there is no parameter '" + name + "'");
  return OptionText(found->second);
}

std::string OutputText(const std::string& path, const std::string& option)
{ return "The output '" + path + "', given with " + option; }

std::vector<std::string>& UnwrittenOutputs()
{
  static std::vector<std::string> texts;
  return texts;
}

std::function<void()>& AfterModel()
{
  static std::function<void()> action;
  return action;
}

std::map<std::string, std::vector<std::string>>& ValueNames()
{
  static std::map<std::string, std::vector<std::string>> names;
  return names;
}

bool& ReportsUnwritten()
{
  static bool reports = false;
  return reports;
}

} // namespace cli
} // namespace dasgd
