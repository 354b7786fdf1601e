/**
 * @file load.cpp
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#include "load.hpp"
#include "idx_file.hpp"
#include "load_text.hpp"

#include <mlpack/core.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include <sys/stat.h>

namespace mlpack { namespace data { } }

namespace dasgd {
namespace cli {

// Up to mlpack 4.6 loading and saving are in a namespace of their own.
namespace files { using namespace mlpack; using namespace mlpack::data; }

namespace {

const char* const KnownFiles = "give numbers as .csv, .tsv, .txt, .arff (also "
    "with .gz), .npy, .bin or IDX";

//! Is it a text in Armadillo's own format, which has a header?
bool IsArmadilloText(const std::string& path)
{
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
    return false; // A pipe can be read only once.
  char begin[5] = { };
  std::ifstream(path, std::ios::binary).read(begin, sizeof(begin));
  return std::memcmp(begin, "ARMA_", sizeof(begin)) == 0;
}

//! The ending without ".gz".
std::string InnerEnding(const std::string& path)
{
  const std::string ending = FileEnding(path);
  return ending == "gz" ? FileEnding(path.substr(0, path.size() - 3)) : ending;
}

bool IsArff(const std::string& path) { return InnerEnding(path) == "arff"; }
bool IsNpy(const std::string& path) { return InnerEnding(path) == "npy"; }

//! A text of numbers and words.
bool IsText(const std::string& path)
{
  const std::string ending = InnerEnding(path);
  return IsArff(path) || ((ending == "csv" || ending == "tsv" ||
      ending == "txt") && !IsArmadilloText(path));
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

//! Load indices by way of numbers: text is read as what it says, since -1 or
//! 0.5 must not become an index.
template<typename MatType>
std::string LoadIndices(const std::string& path,
                        MatType& matrix,
                        const bool turn)
{
  std::conditional_t<MatType::is_row, arma::rowvec,
      std::conditional_t<MatType::is_col, arma::vec, arma::mat>> numbers;
  const std::string problem = LoadMatrix(path, numbers, turn);
  if (!problem.empty())
    return problem;
  for (size_t i = 0; i < numbers.n_elem; ++i)
  {
    if (!IsIndex(numbers[i]))
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

//! Load IDX, text and NumPy; returns false if a file is for mlpack's own
//! functions.
template<typename MatType>
bool LoadHere(const std::string& path, MatType& matrix, const bool turn)
{
  constexpr bool vector = MatType::is_row || MatType::is_col;
  const bool idx = IsIdxFile(path);
  if (idx && vector)
  {
    Assign(matrix, arma::conv_to<arma::mat>::from(LoadIdxLabels(path)));
    return true;
  }
  const bool text = !idx && IsText(path) && !IsArff(path);
  if (!idx && !text && !IsNpy(path))
    return false;
  Table table = LoadTable(path, [](const auto&) { return NoColumn; });
  RequireNumbers(table);
  if constexpr (vector)
    Assign(matrix, std::move(table.values));
  else
  {
    matrix = std::move(table.values);
    if (!turn)
      arma::inplace_trans(matrix);
  }
  return true;
}

} // namespace

std::string FileEnding(const std::string& path)
{
  const size_t dot = path.find_last_of("./");
  if (dot == std::string::npos || path[dot] == '/')
    return "";
  std::string ending = path.substr(dot + 1);
  for (char& c : ending)
    c = (c >= 'A' && c <= 'Z') ? char(c - 'A' + 'a') : c;
  return ending;
}

std::string ReadProblem(const std::string& path)
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

// mlpack 4.8 has other functions to load and save; these are in all versions.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

template<typename MatType>
std::string LoadMatrix(const std::string& path,
                       MatType& matrix,
                       const bool turn)
{
  using ElemType = typename MatType::elem_type;
  if constexpr (std::is_same<ElemType, size_t>::value)
  {
    if (FileEnding(path) != "bin")
      return LoadIndices(path, matrix, turn);
  }
  try
  {
    if constexpr (std::is_same<ElemType, double>::value)
    {
      if (LoadHere(path, matrix, turn))
        return "";
    }
  }
  catch (const std::runtime_error& e)
  {
    return e.what();
  }
  bool loaded;
  if constexpr (MatType::is_row || MatType::is_col)
    loaded = files::Load(path, matrix, false);
  else
    loaded = files::Load(path, matrix, false, turn);
  return loaded ? "" : KnownFiles;
}

template<typename MatType>
bool SaveMatrix(const std::string& path,
                const MatType& matrix,
                const bool turn)
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

  const std::string ending = FileEnding(path);
  std::ifstream file(path, std::ios::binary);
  if (ending == "bin")
  {
    file.seekg(0, std::ios::end);
    return size_t(file.tellg()) >= matrix.n_elem * sizeof(ElemType);
  }
  if (ending != "csv" && ending != "tsv" && ending != "txt")
    return true;
  const size_t lines = size_t(std::count(std::istreambuf_iterator<char>(file),
      std::istreambuf_iterator<char>(), '\n'));
  return lines >= (vector ? matrix.n_elem : turn ? matrix.n_cols :
      matrix.n_rows);
}

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

Table LoadTable(const std::string& path,
                const std::function<size_t(const std::vector<std::string>&)>&
                    label)
{
  if (IsText(path))
    return LoadText(path, IsArff(path), label);
  Table table;
  std::string problem;
  size_t width, height;
  if (IsIdxFile(path))
  {
    const IdxFile file(path);
    table.values = file.Sizes().size() == 1 ? arma::conv_to<arma::mat>::from(
        LoadIdxLabels(path)) : LoadIdxImages(path, width, height);
  }
  else if (IsNpy(path))
    table.values = LoadNpy(path);
  else
    problem = LoadMatrix(path, table.values);
  if (!problem.empty())
    throw std::runtime_error(problem);
  table.columns.resize(table.values.n_rows);
  (void) label(std::vector<std::string>(table.columns.size()));
  for (size_t i = 0; i < table.values.n_cols; ++i)
    table.lines.push_back(i + 1);
  const arma::uvec missing = arma::find_nan(table.values);
  if (!missing.empty())
  {
    table.firstMissing = "line " + std::to_string(missing[0] /
        table.values.n_rows + 1) + ", column " + std::to_string(missing[0] %
        table.values.n_rows + 1) + " is nan";
  }
  return table;
}

// All types that parameters of bindings have.
#define DASGD_MATRIX_FILES(TYPE) \
    template std::string LoadMatrix(const std::string&, TYPE&, const bool); \
    template bool SaveMatrix(const std::string&, const TYPE&, const bool);
DASGD_MATRIX_FILES(arma::mat)
DASGD_MATRIX_FILES(arma::vec)
DASGD_MATRIX_FILES(arma::rowvec)
DASGD_MATRIX_FILES(arma::Mat<size_t>)
DASGD_MATRIX_FILES(arma::Col<size_t>)
DASGD_MATRIX_FILES(arma::Row<size_t>)
#undef DASGD_MATRIX_FILES

} // namespace cli
} // namespace dasgd
