/**
 * @file result_files.hpp
 *
 * The files that a study writes to its folder for results.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_RESULT_FILES_HPP
#define DASGD_BINDINGS_STUDY_RESULT_FILES_HPP

#include <data/file_claims.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace dasgd {
namespace study {

//! Names of the files that a study writes to its folder for results.
constexpr const char* ResultFiles[] = { "settings.txt", "runs.csv",
    "report.json", "dasgd_study.lock" };

//! Names of the folders that it makes there.
constexpr const char* ResultFolders[] = { "curves", "logs", "dasgd_study_work",
    "dasgd_study_work/data" };

//! Does a path belong to what a study writes to its folder for results?
inline bool OfResults(const std::string& folder, const std::string& path)
{
  for (const char* name : ResultFiles)
  {
    if (cli::SameFile(folder + "/" + name, path))
      return true;
  }
  std::error_code failed;
  const std::string parent = std::filesystem::weakly_canonical(path,
      failed).parent_path().string();
  for (const char* name : ResultFolders)
  {
    if (cli::SameFile(folder + "/" + name, parent))
      return true;
  }
  return false;
}

/**
 * All files in a folder for results, and in the folders that a study makes
 * there; those that it always writes are named even if they are not there.
 */
inline std::vector<std::string> FilesOfResults(const std::string& folder)
{
  std::vector<std::string> files, folders = { folder };
  for (const char* name : ResultFiles)
    files.push_back(folder + "/" + name);
  for (const char* name : ResultFolders)
    folders.push_back(folder + "/" + name);
  for (const std::string& each : folders)
  {
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(each, failed))
      files.push_back(entry.path().string());
  }
  return files;
}

} // namespace study
} // namespace dasgd

#endif
