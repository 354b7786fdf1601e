/**
 * @file file_claims.hpp
 *
 * Which files a program reads and writes: none of those that it writes may be
 * another one of them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_FILE_CLAIMS_HPP
#define DASGD_BINDINGS_COMMON_FILE_CLAIMS_HPP

#include <filesystem>
#include <map>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

namespace dasgd {
namespace cli {

/**
 * What stands for a file, however it is named: over links of both kinds and
 * through any folder.  Empty for devices and pipes, which nobody can overwrite.
 */
inline std::string FileIdentity(const std::string& path)
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

//! The files of a program, and the options that name them.
class FileClaims
{
 public:
  /**
   * A file that is read.
   *
   * @param path '{rank}' stands for every number for which there is a file.
   * @param option The option that names it, for messages.
   * @param model Is it a model, which a model may replace?
   */
  void Read(const std::string& path,
            const std::string& option,
            const bool model = false)
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

  //! A file that is to be written: what is wrong with that, or nothing.
  std::string Write(const std::string& path,
                    const std::string& option,
                    const bool model = false)
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
    return "is already the output of " + outputs[file] + "; choose another "
        "name";
  }

 private:
  std::map<std::string, std::string> inputs, models, outputs;
};

} // namespace cli
} // namespace dasgd

#endif
