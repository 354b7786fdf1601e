/**
 * @file load_text.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "load_text.hpp"
#include "npy_file.hpp"
#include "text_file.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include <unistd.h>

namespace dasgd {
namespace cli {

namespace {

//! A number of bytes as text.
std::string SizeText(const double bytes)
{
  char text[32];
  std::snprintf(text, sizeof(text), bytes >= 1e9 ? "%.1f GB" : "%.0f MB",
      bytes / (bytes >= 1e9 ? 1e9 : 1e6));
  return text;
}

/**
 * A line on a terminal that tells how much of a file has been read, if that
 * takes longer than a second; it is removed at the end.
 */
class ReadingLine
{
 public:
  explicit ReadingLine(const std::string& path) :
      name(path.substr(path.find_last_of('/') + 1)),
      start(std::chrono::steady_clock::now())
  {
    show = LaunchedRank() <= 0 && (isatty(STDERR_FILENO) ||
        std::getenv("DASGD_TERMINAL"));
  }

  ~ReadingLine()
  {
    if (width > 0)
      std::fputs(("\r" + std::string(width, ' ') + "\r").c_str(), stderr);
  }

  ReadingLine(const ReadingLine&) = delete;
  ReadingLine& operator=(const ReadingLine&) = delete;

  void operator()(const double part)
  {
    if (!show || std::chrono::steady_clock::now() - start <
        std::chrono::seconds(1))
      return;
    const std::string line = "reading " + name + ": " +
        std::to_string(int(100 * part)) + " %";
    width = line.size();
    std::fputs(("\r" + line).c_str(), stderr);
    std::fflush(stderr);
  }

 private:
  std::string name;
  std::chrono::steady_clock::time_point start;
  bool show;
  size_t width = 0;
};

} // namespace

Memory MachineMemory()
{
  Memory memory;
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word)
  {
    std::uint64_t kilobytes = 0;
    if (word == "MemAvailable:" && file >> kilobytes)
      memory.free = kilobytes * 1024;
    else if (word == "MemTotal:" && file >> kilobytes)
      memory.all = kilobytes * 1024;
  }
  return memory;
}

void CheckMemory(const size_t rows,
                 const size_t cols,
                 const std::uint64_t ranks,
                 const Memory& memory)
{
  const double each = double(rows) * double(cols) * sizeof(double);
  const bool lacks = memory.free > 0 && each > double(memory.free);
  const bool tooMany = memory.all > 0 && each * double(ranks) >
      double(memory.all);
  if (!lacks && !tooMany)
    return;
  throw std::runtime_error(std::to_string(cols) + " points of " +
      std::to_string(rows) + " values take " + SizeText(each) +
      (ranks > 1 ? " on each of " + std::to_string(ranks) + " ranks" : "") +
      ", but this machine has " + (lacks ? SizeText(double(memory.free)) +
      " left" : SizeText(double(memory.all))) + "; " + (ranks > 1 ?
      "start fewer ranks, or use --sharded" : "use a machine with more memory, "
      "or fewer points"));
}

Table LoadText(const std::string& path,
               const bool arff,
               const std::function<size_t(const std::vector<std::string>&)>&
                   label)
{
  const TextFile file(path);
  const TextTable text(file.begin(), file.end(), arff);
  CheckMemory(text.Columns(), text.Lines());
  ReadingLine line(path);
  return text.Read(label(text.Names()), [&](const double part) { line(part); });
}

arma::mat LoadNpy(const std::string& path)
{
  npy::PlainBytes file(path);
  const npy::Header header = npy::ReadHeader(file);
  CheckMemory(header.entrySize, header.sizes[0]);
  NpyArray array = npy::ReadArray(file, header);
  if (arma::mat* const values = std::get_if<arma::mat>(&array.values))
    return std::move(*values);
  return std::visit([](const auto& values)
  { return arma::conv_to<arma::mat>::from(values); }, array.values);
}

} // namespace cli
} // namespace dasgd
