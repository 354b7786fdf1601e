/**
 * @file whole_file.hpp
 *
 * A file that appears at once, complete, or not at all.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_FILES_WHOLE_FILE_HPP
#define DASGD_FILES_WHOLE_FILE_HPP

#include "../core/config.hpp"
#include "part_files.hpp"

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <stdexcept>
#include <string>

#include <sys/types.h>

namespace dasgd {

//! What to say of a file that cannot be written.
std::string CannotWrite(const std::string& path,
                        const std::string& reason);

//! A file cannot be written.
class WriteError : public std::runtime_error
{
 public:
  WriteError(const std::string& path, const std::string& reason) :
      std::runtime_error(CannotWrite(path, reason)), reason(reason) { }

  //! Why, without the name of the file.
  const std::string& Reason() const { return reason; }

 private:
  std::string reason;
};

/**
 * Write to Path(), then Commit(): the content goes to disk and takes the place
 * of what was there, with its permissions.  Without Commit() nothing remains.
 * Devices and pipes are written to directly.
 */
class WholeFile
{
 public:
  explicit WholeFile(const std::string& given);

  //! @param process Names this process among all that may write the file; a
  //!     number.
  WholeFile(const std::string& given, const std::string& process);

  ~WholeFile();

  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  //! Is it a device, a pipe or a stream, which is written to as it is?
  bool Direct() const { return direct; }

  //! Where to write.
  const std::string& Path() const { return path; }

  void Commit();

  /**
   * Why writing has failed, as far as it can be told afterwards.
   *
   * @param number errno after it, if it was 0 before.
   */
  std::string Reason(const int number) const;

  //! Remove what processes that were killed have left of the same file; call it
  //! only if nobody else is writing it.
  static void RemoveParts(const std::string& given);

  //! Why a file cannot be written; empty if it can.
  static std::string Problem(const std::string& target);

  //! A link stays a link: what it points to is replaced, or made.
  static std::string Resolve(std::string target);

 private:
  //! Is it a stream that a process has open, such as /dev/stdout?  It may lead
  //! to a file, which others write to as well and must not be replaced.
  static bool IsStream(const std::string& name);

  /**
   * Make an empty file that is this process's own.  Whoever writes to it later
   * does so by its name, so nobody else may have put a file or a link there.
   *
   * @return Why it cannot be made, as in errno, or 0.
   */
  static int Create(const std::string& name, const mode_t mode);

  //! Write some more, which is not kept: why it fails, as in errno, or 0.
  int TryMore() const;

  //! Give a file the permissions of what it replaces, and its owner and group
  //! where this is allowed.
  void KeepAccess(const int file) const;

  //! Remove files by their names, as far as they can be listed and removed.
  static void RemoveFrom(
      const std::string& folder,
      const std::function<bool(const std::string&)>& condition);

  //! Beside the target, and with its ending, which tells the format.
  static std::string Temporary(const std::string& target,
                               const std::string& process);

  //! The identifier of this process.
  static std::string Process();

  //! Where a file's own name begins, after its folder's.
  static size_t Begin(const std::string& target);

  static std::string Folder(const std::string& target);

  std::string given;
  std::string target;
  std::string path;
  //! The access to what is to be replaced, if it is there.
  mode_t oldMode = 0;
  uid_t oldOwner = 0;
  gid_t oldGroup = 0;
  bool there = false;
  size_t remembered = 0;
  bool direct = false;
  bool committed = false;
};

//! Write to a file, which appears when it is complete.
void SaveFile(const std::string& path,
              const std::function<void(std::ostream&)>& writer);

} // namespace dasgd

#ifndef DASGD_COMPILED
#include "whole_file_impl.hpp"
#endif

#endif
