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
 * Look for words where numbers should be: mlpack's loader takes them for zeros.
 * The first line may be a header.
 *
 * @return What is wrong; empty if nothing is.
 */
inline std::string WordProblem(const std::string& path)
{
  std::ifstream file(path, std::ios::binary);
  std::string line;
  for (size_t number = 1; std::getline(file, line); ++number)
  {
    if (number == 1)
      continue;
    // Digits, signs, exponents, and what "nan" and "inf" consist of.
    const size_t at = line.find_first_not_of("0123456789+-.,;eE \t\r"
        "nNaAiIfF");
    if (at == std::string::npos)
      continue;
    const size_t begin = line.find_last_of(",; \t", at) + 1;
    return "line " + std::to_string(number) + " has '" + line.substr(begin,
        std::min<size_t>(line.find_first_of(",; \t\r", at), begin + 20) -
        begin) + "' where a number should be";
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
    const std::string problem = WordProblem(path);
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

//! Save a matrix; a vector has one value in each line.
template<typename MatType>
bool SaveMatrix(const std::string& path,
                const MatType& matrix,
                const bool turn = true)
{
  if constexpr (MatType::is_row || MatType::is_col)
  {
    using ElemType = typename MatType::elem_type;
    const arma::Mat<ElemType> lines(const_cast<ElemType*>(matrix.memptr()),
        matrix.n_elem, 1, false, true);
    return files::Save(path, lines, false, false);
  }
  else
    return files::Save(path, matrix, false, turn);
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
