/**
 * @file load.hpp
 *
 * Matrices and labels from files, as mlpack reads them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_LOAD_HPP
#define DASGD_BINDINGS_COMMON_LOAD_HPP

#include <data/idx_file.hpp>
#include <data/text_file.hpp>

#include <mlpack/core.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace mlpack { namespace data { } }

namespace dasgd {
namespace cli {

// Up to mlpack 4.6 loading and saving are in a namespace of their own.
namespace files { using namespace mlpack; using namespace mlpack::data; }

//! What a file's name ends in, in small letters, from the last point on.
inline std::string Ending(const std::string& path)
{
  std::string ending = path.substr(std::min(path.size(), path.rfind('.')));
  for (char& c : ending)
    c = (c >= 'A' && c <= 'Z') ? char(c - 'A' + 'a') : c;
  return ending;
}

//! Is it a text in Armadillo's own format, which begins with a header?
inline bool IsArmadilloText(const std::string& path)
{
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
    return false; // A pipe can be read only once.
  char begin[5] = { };
  std::ifstream(path, std::ios::binary).read(begin, sizeof(begin));
  return std::memcmp(begin, "ARMA_", sizeof(begin)) == 0;
}

//! Why a file cannot be read; empty if it can.
inline std::string ReadProblem(const std::string& path)
{
  errno = 0;
  std::ifstream file(path);
  if (!file)
    return std::strerror(errno);
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) &&
      !S_ISDIR(status.st_mode))
    return ""; // A pipe can be read only once.
  file.peek();
  return file.bad() ? "it is no file that can be read" :
      file.eof() ? "the file is empty" : "";
}

//! Memory of the machine, in bytes; 0 where the system does not tell.
struct Memory
{
  std::uint64_t free = 0;
  std::uint64_t all = 0;
};

inline Memory MachineMemory()
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

//! Ranks on this machine, as the launcher tells; 1 without one.
inline std::uint64_t RanksOnMachine()
{
  for (const char* name : { "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
      "PMI_LOCAL_SIZE" })
  {
    const char* const value = std::getenv(name);
    if (value)
      return std::uint64_t(std::max(1, std::atoi(value)));
  }
  return 1;
}

//! A size in words.
inline std::string SizeText(const double bytes)
{
  char text[32];
  std::snprintf(text, sizeof(text), bytes >= 1e9 ? "%.1f GB" : "%.0f MB",
      bytes / (bytes >= 1e9 ? 1e9 : 1e6));
  return text;
}

/**
 * Throw if a matrix does not fit into memory, once for each rank.  Other ranks
 * may have read theirs already, so what is free is compared with one, and all
 * of them with the whole machine.
 */
inline void CheckMemory(const size_t rows,
                        const size_t cols,
                        const std::uint64_t ranks = RanksOnMachine(),
                        const Memory& memory = MachineMemory())
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

/**
 * A line on a terminal that tells how far a file has been read, if that takes
 * longer than a second; it is gone at the end.
 */
class ReadingLine
{
 public:
  explicit ReadingLine(const std::string& path) :
      name(path.substr(path.find_last_of('/') + 1)),
      start(std::chrono::steady_clock::now())
  {
    const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK") ?
        std::getenv("OMPI_COMM_WORLD_RANK") : std::getenv("PMI_RANK");
    show = (!rank || std::string(rank) == "0") && (isatty(STDERR_FILENO) ||
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

/**
 * Read a text of numbers.
 *
 * @param turn Should the lines of the file become columns?
 */
inline arma::mat LoadText(const std::string& path, const bool turn)
{
  const TextFile file(path);
  const TextMatrix text(file.begin(), file.end());
  CheckMemory(text.Columns(), text.Lines());
  ReadingLine line(path);
  arma::mat matrix = text.Read([&](const double part) { line(part); });
  if (!turn)
    arma::inplace_trans(matrix);
  return matrix;
}

//! Put values into a vector, whether the file has them in a line or a column.
template<typename VecType>
void Assign(VecType& to, arma::mat&& values)
{
  if (values.n_rows != 1 && values.n_cols != 1)
  {
    throw std::runtime_error("it has " + std::to_string(values.n_rows) +
        " values in each line, but one is expected");
  }
  to.set_size(values.n_elem);
  std::copy(values.begin(), values.end(), to.begin());
}

// mlpack 4.8 has other functions to load and save; these are in all versions.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

/**
 * Load a matrix or a vector.
 *
 * @param turn Turn a matrix such that the rows of the file become columns.
 * @return What is wrong; empty if nothing is.  mlpack may have printed more.
 */
template<typename MatType>
std::string LoadMatrix(const std::string& path,
                       MatType& matrix,
                       const bool turn = true)
{
  using ElemType = typename MatType::elem_type;
  constexpr bool vector = MatType::is_row || MatType::is_col;
  const bool binary = Ending(path) == ".bin";
  if constexpr (std::is_same<ElemType, size_t>::value)
  {
    // Text is read as what it says: -1 or 0.5 must not become an index.
    if (!binary)
    {
      std::conditional_t<MatType::is_row, arma::rowvec,
          std::conditional_t<MatType::is_col, arma::vec, arma::mat>> numbers;
      const std::string problem = LoadMatrix(path, numbers, turn);
      if (!problem.empty())
        return problem;
      for (size_t i = 0; i < numbers.n_elem; ++i)
      {
        // 2^53: from there on not every whole number is a double.
        if (!(numbers[i] >= 0 && numbers[i] < 9007199254740992.0) ||
            numbers[i] != std::floor(numbers[i]))
        {
          std::ostringstream text;
          text << "whole numbers from 0 on are expected, but entry " << i + 1
              << " is " << numbers[i];
          return text.str();
        }
      }
      matrix = arma::conv_to<MatType>::from(numbers);
      return "";
    }
  }
  const std::string ending = Ending(path);
  try
  {
    const bool text = (ending == ".csv" || ending == ".tsv" ||
        ending == ".txt") && !IsArmadilloText(path);
    if constexpr (std::is_same<ElemType, double>::value)
    {
      size_t width, height;
      if constexpr (vector)
      {
        if (text || IsIdxFile(path))
        {
          Assign(matrix, text ? LoadText(path, true) :
              arma::conv_to<arma::mat>::from(LoadIdxLabels(path)));
          return "";
        }
      }
      else if (text || IsIdxFile(path))
      {
        matrix = text ? LoadText(path, turn) : LoadIdxImages(path, width,
            height);
        if (!text && !turn)
          arma::inplace_trans(matrix);
        return "";
      }
    }
  }
  catch (const std::runtime_error& e)
  {
    return e.what();
  }
  bool loaded;
  if constexpr (vector)
    loaded = files::Load(path, matrix, false);
  else
    loaded = files::Load(path, matrix, false, turn);
  return loaded ? "" : "give numbers as .csv, .tsv, .txt, .arff, .bin or IDX";
}

/**
 * Save a matrix; a vector has one value in each line.
 *
 * @return Whether all of it is there: mlpack does not look whether the last part
 *     of a file could be written.
 */
template<typename MatType>
bool SaveMatrix(const std::string& path,
                const MatType& matrix,
                const bool turn = true)
{
  constexpr bool vector = MatType::is_row || MatType::is_col;
  using ElemType = typename MatType::elem_type;
  bool saved;
  if constexpr (vector)
  {
    const arma::Mat<ElemType> lines(const_cast<ElemType*>(matrix.memptr()),
        matrix.n_elem, 1, false, true);
    saved = files::Save(path, lines, false, false);
  }
  else
    saved = files::Save(path, matrix, false, turn);
  if (!saved)
    return false;

  const std::string ending = Ending(path);
  std::ifstream file(path, std::ios::binary);
  if (ending == ".bin")
  {
    file.seekg(0, std::ios::end);
    return size_t(file.tellg()) >= matrix.n_elem * sizeof(ElemType);
  }
  if (ending != ".csv" && ending != ".tsv" && ending != ".txt")
    return true;
  const size_t lines = size_t(std::count(std::istreambuf_iterator<char>(file),
      std::istreambuf_iterator<char>(), '\n'));
  return lines >= (vector ? matrix.n_elem : turn ? matrix.n_cols :
      matrix.n_rows);
}

//! Load a matrix whose dimensions may be categories.
template<typename InfoType>
bool LoadCategorical(const std::string& path,
                     arma::mat& matrix,
                     InfoType& info,
                     const bool turn)
{ return files::Load(path, matrix, info, false, turn); }

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

} // namespace cli
} // namespace dasgd

#endif
