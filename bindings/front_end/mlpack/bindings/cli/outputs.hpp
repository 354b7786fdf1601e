/**
 * @file outputs.hpp
 *
 * What a program leaves behind: whole files, or none.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_FRONT_END_OUTPUTS_HPP
#define DASGD_FRONT_END_OUTPUTS_HPP

#include "kinds.hpp"

#include <common/ranks.hpp>

#include <dasgd/core/whole_file.hpp>

#include <filesystem>

namespace dasgd {
namespace cli {

//! One name for one file, however it is written.
inline std::string RealPath(const std::string& path)
{
  std::error_code ignored;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path,
      ignored), ignored).string();
}

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

/**
 * Before the work begins: can all outputs be written?
 *
 * @return What is wrong; empty if nothing is.
 */
inline std::string OutputProblem(Params& params)
{
  std::string problem;
  // What would be overwritten; but a model may take its own place.
  std::map<std::string, std::string> taken, read;
  for (auto& entry : params.Parameters())
  {
    ParamData& data = entry.second;
    const Kind& kind = KindOf(params, data);
    if (data.input && data.wasPassed && kind.InFile() && !kind.HoldsModel())
      read.emplace(RealPath(kind.Path(data)), FullName(kind, data));
  }
  ForOutputs(params, [&](const Kind& kind, ParamData& data,
                         const std::string& path)
  {
    const std::vector<std::string> endings = kind.Endings();
    const size_t dot = path.find_last_of("./");
    const std::string ending = (dot == std::string::npos || path[dot] == '/') ?
        "" : CLI::detail::to_lower(path.substr(dot + 1));
    const std::string real = RealPath(path);
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
    else if (read.count(real) != 0)
    {
      reason = "is also the input of " + read[real] + "; choose another name";
    }
    else if (!taken.emplace(real, FullName(kind, data)).second)
    {
      reason = "is already the output of " + taken[real] + "; choose another "
          "name";
    }
    if (!reason.empty() && problem.empty())
      problem = OutputText(path, FullName(kind, data)) + ", " + reason + "!";
  });
  return problem;
}

/**
 * Write all outputs, each by one rename.  What can be written is, whatever
 * cannot be.
 */
inline void WriteOutputs(Params& params)
{
  std::vector<std::string>& problems = NotWritten();
  size_t written = 0;
  ForOutputs(params, [&](const Kind& kind, ParamData& data,
                         const std::string& path)
  {
    // A binding may have nothing to say, for want of test data.
    const bool nothing = kind.Model(data) == nullptr && kind.Printable(data) ==
        "'" + path + "'";
    if (nothing)
      return;
    const std::string name = OutputText(path, FullName(kind, data));
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
        // What writes it does not tell why it cannot.
        throw WriteError(path, file.Reason(errno));
      }
      file.Commit();
      ++written;
    }
    catch (const WriteError& e)
    {
      problems.push_back(name + ", cannot be written: " + e.Reason());
    }
    catch (const std::exception& e)
    {
      problems.push_back(name + ", cannot be written: " + InWords(e));
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

//! Print what was not asked to go to a file: numbers and texts.
inline void PrintOutputs(Params& params)
{
  for (auto& entry : params.Parameters())
  {
    ParamData& data = entry.second;
    const Kind& kind = KindOf(params, data);
    if (!data.input && !kind.InFile())
      std::cout << data.name << ": " << kind.Printable(data) << std::endl;
  }
}

//! Delete all models; several parameters may share one.
inline void DeleteModels(Params& params)
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

#endif
