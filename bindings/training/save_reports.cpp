/**
 * @file save_reports.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "train.hpp"

#include <ranks/rank_output.hpp>
#include <ranks/ranks.hpp>
#include <terminal/params.hpp>

#include <dasgd.hpp>
#include <dasgd/staleness/history_file.hpp>
#include <dasgd/files/whole_file.hpp>
#include <dasgd/report/history_trace.hpp>
#include <dasgd/report/json_writer.hpp>
#include <dasgd/version.hpp>
#include <mlpack/core.hpp>

namespace dasgd {
namespace cli {

namespace {

//! The versions of all libraries, as a JSON object.
std::string VersionsJson()
{
  const auto number = [](const int major, const int minor, const int patch)
  {
    return std::to_string(major) + "." + std::to_string(minor) + "." +
        std::to_string(patch);
  };
  char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(mpi, &length);
  const std::string library(mpi);
  std::ostringstream text;
  report::JsonWriter<false> out(text);
  out.BeginObject();
  out.Field("dasgd", number(DASGD_VERSION_MAJOR, DASGD_VERSION_MINOR,
      DASGD_VERSION_PATCH));
  out.Field("mlpack", number(MLPACK_VERSION_MAJOR, MLPACK_VERSION_MINOR,
      MLPACK_VERSION_PATCH));
  out.Field("ensmallen", number(ENS_VERSION_MAJOR, ENS_VERSION_MINOR,
      ENS_VERSION_PATCH));
  out.Field("armadillo", number(ARMA_VERSION_MAJOR, ARMA_VERSION_MINOR,
      ARMA_VERSION_PATCH));
  out.Field("mpi", library.substr(0, library.find_first_of(",\n")));
  out.EndObject();
  return text.str();
}

} // namespace

void SaveReports(mlpack::util::Params& params,
                 const Trained& trained,
                 const double accuracy,
                 const Tags& more)
{
  if (!Writes())
    return;
  mlpack::Log::Info << trained.report << "mean loss "
      << report::Short(trained.meanLoss) << ", step size "
      << report::Short(trained.report.stepSize) << ", batch size "
      << trained.batchSize << ", seed " << trained.seed << std::endl;
  // A report that cannot be written must not cost the model.
  const auto save = [&](const std::string& name, const auto& action)
  {
    const std::string path = params.Get<std::string>(name);
    if (path.empty())
      return;
    try
    {
      action(path);
    }
    catch (const std::exception& e)
    {
      const WriteError* error = dynamic_cast<const WriteError*>(&e);
      UnwrittenOutputs().push_back(OutputText(path, "'--" + name + "'") +
          ", cannot be written: " + (error ? error->Reason() : ErrorText(e)));
      // mlpack's own front end does not print it later.
      if (!ReportsUnwritten())
        mlpack::Log::Warn << UnwrittenOutputs().back() << std::endl;
    }
  };
  save("report_file", [&](const std::string& path)
  {
    Tags all = {
        { "program", report::JsonString("mlpack_" + params.BindingName()) },
        { "versions", VersionsJson() },
        { "update", report::JsonString(params.Get<std::string>("update")) },
        { "batch_size", std::to_string(trained.batchSize) },
        { "seed", std::to_string(trained.seed) },
        { "mean_loss", report::JsonNumber(trained.meanLoss) },
        { "test_accuracy", report::JsonNumber(accuracy) } };
    Append(all, more);
    SaveFile(path, [&](std::ostream& out)
        { out << trained.report.Json(all); });
  });
  save("trace_file", [&](const std::string& path)
      { SaveTrace(trained.history, path); });
  save("history_file", [&](const std::string& path)
      { SaveHistory(trained.history, path); });
}

} // namespace cli
} // namespace dasgd
