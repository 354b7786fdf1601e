/**
 * @file file_claims.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "file_claims.hpp"

#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

namespace dasgd {
namespace cli {

std::string FileIdentity(const std::string& path)
{
  struct stat status;
  if (stat(path.c_str(), &status) == 0)
  {
    return (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) ?
        std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) :
        "";
  }
  std::error_code ignored;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path,
      ignored), ignored).string();
}

void FileClaims::Read(const std::string& path,
                      const std::string& option,
                      const bool model)
{
  const size_t at = path.find("{rank}");
  std::string one = path;
  for (size_t i = 0; i < 65536; ++i)
  {
    if (at != std::string::npos)
      one = std::string(path).replace(at, 6, std::to_string(i));
    if (i > 0 && access(one.c_str(), F_OK) != 0)
      break;
    (model ? models : inputs).emplace(FileIdentity(one), option);
    if (at == std::string::npos)
      break;
  }
}

std::string FileClaims::Write(const std::string& path,
                              const std::string& option,
                              const bool model)
{
  const std::string file = FileIdentity(path);
  if (file.empty())
    return "";
  if (inputs.count(file) != 0)
    return "is also the input of " + inputs[file] + "; choose another name";
  if (!model && models.count(file) != 0)
    return "is also the input of " + models[file] + "; choose another name";
  if (outputs.emplace(file, option).second)
    return "";
  return "is already the output of " + outputs[file] + "; choose another name";
}

} // namespace cli
} // namespace dasgd
