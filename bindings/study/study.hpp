/**
 * @file study.hpp
 *
 * Carries a study out: starts one run after the other, and keeps what they
 * found.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_STUDY_HPP
#define DASGD_BINDINGS_STUDY_STUDY_HPP

#include "plan.hpp"
#include "results.hpp"

#include <functional>

namespace dasgd {
namespace study {

//! While it lives, no other study writes to the folder.
class FolderLock
{
 public:
  FolderLock() = default;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock()
  {
    if (file >= 0)
      close(file);
  }

  /**
   * @param path The file that stands for the folder.  It stays, since another
   *     study may have opened it.
   * @return Why there is no lock; 0 if there is, EWOULDBLOCK if another study
   *     has it.
   */
  int Take(const std::string& path);

 private:
  int file = -1;
};

/**
 * Look at the folder for results: is what is there of the same study?  Makes
 * the folder and writes the parameters if there is nothing.  A folder with
 * files that are not of a study is refused.
 *
 * @param restart Forget what is there.
 * @param lock Taken before anything is changed.
 * @throw std::exception that names the first parameter that differs.
 */
void OpenFolder(const Settings& settings, bool restart, FolderLock& lock);

//! The program that makes runs of ONNX models; it need not be there.
std::string OnnxProgram();

/**
 * Make all runs that have not been made, write the page, and say how the
 * algorithms compare.
 *
 * @param prepare Writes the points to the folder it is given; called if there
 *     are runs left to make.
 * @return The signal that interrupted it; 0 if it is complete.
 */
int Conduct(const Settings& settings,
            const std::function<void(const std::string&)>& prepare);

} // namespace study
} // namespace dasgd

#endif
