/**
 * @file outputs.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "outputs.hpp"

#include <data/file_claims.hpp>
#include <data/load.hpp>
#include <terminal/params.hpp>
#include <dasgd/files/whole_file.hpp>
#include <ranks/rank_output.hpp>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <set>

namespace dasgd {
namespace cli {

using mlpack::Log::Fatal;

namespace {

//! Call an action for every file that the program was asked to write.
template<typename ActionType>
void ForOutputs(Params& params, ActionType&& action)
{
  for (auto& entry : params.Parameters())
  {
    ParamData& data = entry.second;
    const Kind& kind = KindOf(params, data);
    if (!data.input && kind.InFile() && (data.wasPassed ||
        !kind.Path(data).empty()))
      action(kind, data, kind.Path(data));
  }
}

//! Does this option take the name of a file to write, as a text?
bool NamesOutput(const ParamData& data)
{
  return data.name == "report_file" || data.name == "trace_file" ||
      data.name == "history_file" || data.name == "checkpoint_file" ||
      data.name == "output_model_file";
}

//! All files that are read.
FileClaims InputClaims(Params& params)
{
  FileClaims claims;
  for (auto& entry : params.Parameters())
  {
    ParamData& data = entry.second;
    const Kind& kind = KindOf(params, data);
    if (!data.input || !data.wasPassed)
      continue;
    const std::string name = OptionText(data);
    if (kind.InFile())
      claims.Read(kind.Path(data), name, kind.HoldsModel());
    const std::string* const text = std::any_cast<std::string>(&data.value);
    const std::string end = "_file";
    if (text && !NamesOutput(data) && data.name.size() > end.size() &&
        data.name.compare(data.name.size() - end.size(), end.size(), end) == 0)
      claims.Read(*text, name);
    if (text && text->rfind("file:", 0) == 0)
      claims.Read(text->substr(5), name);
  }
  return claims;
}

} // namespace

std::string OutputProblem(Params& params)
{
  std::string problem;
  FileClaims claims = InputClaims(params);
  for (auto& entry : params.Parameters())
  {
    ParamData& data = entry.second;
    if (!data.wasPassed || !NamesOutput(data))
      continue;
    const std::string& path = *std::any_cast<std::string>(&data.value);
    const std::string name = OptionText(data);
    const std::string reason = path.empty() ? "has no name" :
        claims.Write(path, name);
    if (!reason.empty() && problem.empty())
      problem = OutputText(path, name) + ", " + reason + "!";
  }
  ForOutputs(params, [&](const Kind& kind, ParamData& data,
                         const std::string& path)
  {
    const std::vector<std::string> endings = kind.Endings();
    const std::string ending = FileEnding(path);
    std::string reason = path.empty() ? "the name is empty" :
        WholeFile::Problem(path);
    if (!reason.empty())
      reason = "cannot be written: " + reason;
    else if (std::find(endings.begin(), endings.end(), ending) == endings.end())
    {
      reason = "has an unknown ending; use ";
      for (size_t i = 0; i < endings.size(); ++i)
        reason += (i ? ", ." : ".") + endings[i];
    }
    else
      reason = claims.Write(path, OptionText(data), kind.HoldsModel());
    if (!reason.empty() && problem.empty())
      problem = OutputText(path, OptionText(data)) + ", " + reason + "!";
  });
  return problem;
}

void WriteOutputs(Params& params)
{
  std::vector<std::string>& problems = UnwrittenOutputs();
  size_t written = 0;
  ForOutputs(params, [&](const Kind& kind, ParamData& data,
                         const std::string& path)
  {
    // Without test data a binding may have nothing to write.
    const bool nothing = kind.Model(data) == nullptr && kind.Printable(data) ==
        "'" + path + "'";
    if (nothing)
      return;
    const std::string name = OutputText(path, OptionText(data));
    try
    {
      WholeFile file(path);
      try
      {
        errno = 0;
        kind.Save(data, file.Path());
      }
      catch (const std::bad_alloc&)
      {
        throw;
      }
      catch (const std::exception&)
      {
        // The code that writes it does not tell why it cannot.
        throw WriteError(path, file.Reason(errno));
      }
      file.Commit();
      ++written;
      if (kind.HoldsModel() && AfterModel())
        AfterModel()();
    }
    catch (const WriteError& e)
    {
      problems.push_back(name + ", cannot be written: " + e.Reason());
    }
    catch (const std::exception& e)
    {
      problems.push_back(name + ", cannot be written: " + ErrorText(e));
    }
  });
  if (problems.empty())
    return;
  std::string all;
  for (const std::string& problem : problems)
    all += (all.empty() ? "T" : "t") + problem.substr(1) + "; ";
  Fatal << all << (written > 0 ? "the other outputs are complete; " : "")
      << "make room or choose another place!" << std::endl;
}

void PrintOutputs(Params& params)
{
  for (auto& entry : params.Parameters())
  {
    ParamData& data = entry.second;
    const Kind& kind = KindOf(params, data);
    if (!data.input && !kind.InFile())
      std::cout << data.name << ": " << kind.Printable(data) << std::endl;
  }
}

void DeleteModels(Params& params)
{
  std::set<void*> deleted;
  for (auto& entry : params.Parameters())
  {
    const Kind& kind = KindOf(params, entry.second);
    void* model = kind.Model(entry.second);
    if (model && deleted.insert(model).second)
      kind.DeleteModel(entry.second);
  }
}

} // namespace cli
} // namespace dasgd
