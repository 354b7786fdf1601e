/**
 * @file load.hpp
 *
 * Matrices and labels from files, as mlpack reads them.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_COMMON_LOAD_HPP
#define DASGD_BINDINGS_COMMON_LOAD_HPP

#include <mlpack/core.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace mlpack { namespace data { } }

namespace dasgd {
namespace cli {

// Up to mlpack 4.6 loading and saving are in a namespace of their own.
namespace files { using namespace mlpack; using namespace mlpack::data; }

//! Why a file cannot be read; empty if it can.
inline std::string ReadProblem(const std::string& path)
{
  errno = 0;
  std::ifstream file(path);
  if (!file)
    return std::strerror(errno);
  file.peek();
  return file.bad() ? "it is no file that can be read" :
      file.eof() ? "the file is empty" : "";
}

/**
 * Look through a text for what mlpack's loader would take for zeros without a
 * word: words, headers, missing values and lines that are too short.
 *
 * @return What is wrong; empty if nothing is.
 */
inline std::string TextProblem(const std::string& path)
{
  std::ifstream file(path, std::ios::binary);
  std::string line;
  size_t columns = 0;
  for (size_t number = 1; std::getline(file, line); ++number)
  {
    const std::string where = "line " + std::to_string(number);
    // Armadillo's own format has a header of its own.
    if (number == 1 && line.compare(0, 5, "ARMA_") == 0)
      return "";
    // Digits, signs, exponents, and what "nan" and "inf" consist of.
    const size_t at = line.find_first_not_of("0123456789+-.,;eE \t\r"
        "nNaAiIfF");
    if (at != std::string::npos)
    {
      const size_t found = line.find_last_of(",; \t", at);
      const size_t begin = (found == std::string::npos) ? 0 : found + 1;
      const size_t end = std::min(std::min(line.size(), begin + 20),
          line.find_first_of(",; \t\r", at));
      return where + " has '" + line.substr(begin, end - begin) + "' where a "
          "number should be" + (number == 1 ? "; if it is a header, take it "
          "out" : "");
    }

    // Values: between commas, or else between blanks.
    const bool commas = line.find_first_of(",;") != std::string::npos;
    size_t count = 0;
    bool inValue = false, missing = false;
    for (const char c : line)
    {
      const bool comma = (c == ',' || c == ';');
      const bool blank = (c == ' ' || c == '\t' || c == '\r');
      missing = missing || (comma && !inValue);
      if (commas ? comma : blank)
      {
        count += inValue;
        inValue = false;
      }
      else if (!blank)
        inValue = true;
    }
    if (commas && !inValue)
      missing = true;
    count += inValue;
    if (missing)
      return where + " lacks a value between two commas";
    if (count == 0)
      continue; // An empty line, as at the end of many files.
    if (columns == 0)
      columns = count;
    if (count != columns)
    {
      return where + " has " + std::to_string(count) + " values, but those "
          "before have " + std::to_string(columns);
    }
  }
  return "";
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
  const size_t length = path.size();
  const bool binary = length > 4 && path.compare(length - 4, 4, ".bin") == 0;
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
  const std::string ending = path.substr(std::min(length, path.rfind('.')));
  if (ending == ".csv" || ending == ".tsv" || ending == ".txt")
  {
    const std::string problem = TextProblem(path);
    if (!problem.empty())
      return problem;
  }
  bool loaded;
  if constexpr (vector)
    loaded = files::Load(path, matrix, false);
  else
    loaded = files::Load(path, matrix, false, turn);
  return loaded ? "" : "give numbers as .csv, .tsv, .txt, .arff or .bin";
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

  const std::string ending = path.substr(std::min(path.size(),
      path.rfind('.')));
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
