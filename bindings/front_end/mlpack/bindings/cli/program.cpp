/**
 * @file program.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "program.hpp"
#include "command_line.hpp"
#include "documentation.hpp"
#include "help.hpp"
#include "outputs.hpp"

#include <terminal/log.hpp>
#include <terminal/params.hpp>
#include <training/check_training.hpp>
#include <dasgd/version.hpp>
#include <ranks/failure.hpp>
#include <ranks/job_channel.hpp>
#include <ranks/ranks.hpp>
#include <ranks/termination.hpp>

#include <csignal>
#include <iostream>

namespace dasgd {
namespace cli {

namespace {

//! Does the binding have this parameter, and was it given?
bool Passed(Params& params, const std::string& name)
{
  const auto found = params.Parameters().find(name);
  return found != params.Parameters().end() && found->second.wasPassed;
}

//! The version, as --version prints it.
std::string Version(const std::string& binding)
{
  const bool ours = binding.rfind("dasgd_", 0) == 0;
  return (ours ? "dasgd " + std::to_string(DASGD_VERSION_MAJOR) + "." +
      std::to_string(DASGD_VERSION_MINOR) + "." +
      std::to_string(DASGD_VERSION_PATCH) + ", with " : "") +
      mlpack::util::GetVersion();
}

/**
 * Handle the options that only print.
 *
 * @return True if there was one: the program is over.
 */
bool PrintInformation(Params& params)
{
  const std::string& binding = params.BindingName();
  if (params.Has("version"))
  {
    std::cout << ProgramName(binding) << ": part of " << Version(binding)
        << "." << std::endl;
  }
  else if (params.Has("help") || (params.Has("info") &&
      params.Get<std::string>("info").empty()))
    std::cout << Help(params) << std::flush;
  else if (params.Has("info"))
    std::cout << Info(params, params.Get<std::string>("info")) << std::flush;
  else
    return false;
  return true;
}

/**
 * Look for the files to read, and put the rank into names that ask for it.
 * Nothing is read yet: it need not be, if all that follows is to start ranks.
 */
void FindInputs(Params& params)
{
  for (auto& entry : params.Parameters())
  {
    ParamData& data = entry.second;
    const Kind& kind = KindOf(params, data);
    if (!data.input || !data.wasPassed || !kind.InFile())
      continue;
    std::string& path = kind.Path(data);
    const size_t at = path.find("{rank}");
    if (at != std::string::npos && Passed(params, "sharded"))
    {
      if (!Launched() && Passed(params, "ranks"))
        continue; // This is not one of the ranks.
      path.replace(at, 6, std::to_string(Rank()));
    }
    kind.Check(data);
  }
}

//! On several ranks a file may be damaged on one of them only: read all files
//! before any rank goes where it would wait for the others.
void LoadInputs(Params& params)
{
  for (auto& entry : params.Parameters())
  {
    if (entry.second.input && entry.second.wasPassed)
      KindOf(params, entry.second).Get(entry.second);
  }
}

//! With --verbose: what it was told to do, and how long it took.
void PrintVerbose(Params& params, mlpack::util::Timers& timers)
{
  using mlpack::Log::Info;
  Info << std::endl << "Execution parameters:" << std::endl;
  for (auto& entry : params.Parameters())
  {
    ParamData& data = entry.second;
    const Kind& kind = KindOf(params, data);
    Info << "  " << data.name << ": " << kind.Printable(data) << std::endl;
  }
  Info << "Program timers:" << std::endl;
  for (const auto& timer : timers.GetAllTimers())
  {
    // Its text ends in a line break.
    Info << "  " << timer.first << ": "
        << mlpack::util::Timers::Print(timer.second);
  }
}

/**
 * Do what the command line asks for.
 *
 * @param binding The binding's name.
 * @param function What it does.
 */
void RunBinding(const int argc,
                char** argv,
                const std::string& binding,
                void (*function)(Params&, mlpack::util::Timers&))
{
  Params params = mlpack::IO::Parameters(binding);
  SwitchLog(false, true);
  if (argc == 2 && std::string(argv[1]) == "--man_page")
  {
    std::cout << ManPage(params, Version(binding)) << std::flush;
    return;
  }
  if (argc == 2 && std::string(argv[1]) == "--bash_completion")
  {
    std::cout << Completion(params) << std::flush;
    return;
  }
  if (argc == 2 && std::string(argv[1]) == "--markdown_page")
  {
    std::cout << Markdown(params) << std::flush;
    return;
  }
  ParseCommandLine(params, argc, argv);
  if (PrintInformation(params))
    return;
  // The ranks print the same warnings.
  const bool starts = !Launched() && CheckRanks(params) > 1;
  SwitchLog(!starts && params.Has("verbose"), !starts);
  CheckRequired(params);

  mlpack::util::Timers timers;
  timers.Enabled() = true;
  timers.Start("total_time");
  OnAllRanks([&]()
  {
    const std::string problem = (Rank() == 0) ? OutputProblem(params) : "";
    if (!problem.empty())
      throw std::invalid_argument(problem);
    FindInputs(params);
  });
  // Bindings that can start ranks do so once they have checked what can be
  // checked before.
  if (Ranks() > 1)
  {
    timers.Start("loading_data");
    OnAllRanks([&]() { LoadInputs(params); });
    timers.Stop("loading_data");
  }
  function(params, timers);

  timers.Start("saving_data");
  OnAllRanks([&]()
  {
    if (Writes())
      WriteOutputs(params);
  });
  timers.Stop("saving_data");
  PrintOutputs(params);
  timers.Stop("total_time");
  PrintVerbose(params, timers);
  DeleteModels(params);
}

} // namespace

int RunProgram(const int argc,
               char** argv,
               const std::string& binding,
               void (*function)(Params&, mlpack::util::Timers&))
{
  // A file that grows too large becomes an error of write().
  std::signal(SIGXFSZ, SIG_IGN);
  HandleTermination();
  BindingName() = binding;
  ReportsUnwritten() = true;
  RankOutput output(Rank());
  try
  {
    RunBinding(argc, argv, binding, function);
    JobChannel::Get().Send(RankMessage::Finished, 0);
    return 0;
  }
  catch (const Interrupted& e)
  {
    return ReportInterruption(e);
  }
  catch (const std::exception& e)
  {
    try
    {
      return ReportFailure(output.Text(e), output);
    }
    catch (const std::bad_alloc&)
    {
      return ReportOutOfMemory();
    }
  }
}

} // namespace cli
} // namespace dasgd
