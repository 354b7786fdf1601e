/**
 * @file file_claims.hpp
 *
 * Which files a program reads and writes: it may not write a file that it also
 * reads, or write one twice.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_DATA_FILE_CLAIMS_HPP
#define DASGD_BINDINGS_DATA_FILE_CLAIMS_HPP

#include <map>
#include <string>

namespace dasgd {
namespace cli {

/**
 * A text that is the same for all names of a file, over links of both kinds and
 * through any folder.  Empty for devices and pipes, which can be written to any
 * number of times.
 */
std::string FileIdentity(const std::string& path);

/**
 * Do two paths lead to the same file, be it by links or by other ways to write
 * a path?  Either may not be there yet.
 */
inline bool SameFile(const std::string& one, const std::string& other)
{
  const std::string identity = FileIdentity(one);
  return !identity.empty() && identity == FileIdentity(other);
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
            const bool model = false);

  //! A file that is to be written.
  //! @return What is wrong with that; empty if nothing is.
  std::string Write(const std::string& path,
                    const std::string& option,
                    const bool model = false);

 private:
  std::map<std::string, std::string> inputs, models, outputs;
};

} // namespace cli
} // namespace dasgd

#endif
