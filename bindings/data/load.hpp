/**
 * @file load.hpp
 *
 * Matrices and labels from files, as mlpack reads them, and to files.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_DATA_LOAD_HPP
#define DASGD_BINDINGS_DATA_LOAD_HPP

#include "table.hpp"

#include <armadillo>

#include <functional>
#include <string>

namespace dasgd {
namespace cli {

//! What a file's name ends in, in small letters, without the point; empty if it
//! has no ending.
std::string FileEnding(const std::string& path);

//! Why a file cannot be read; empty if it can.
std::string ReadProblem(const std::string& path);

/**
 * Load a table; what is wrong is thrown as std::runtime_error.
 *
 * @param label Called with the names of the columns, empty ones where there are
 *     none; returns which one holds labels, or NoColumn.
 */
Table LoadTable(const std::string& path,
                const std::function<size_t(const std::vector<std::string>&)>&
                    label);

/**
 * Load a matrix or a vector, of double or of size_t.
 *
 * @param turn Turn a matrix such that the rows of the file become columns.
 * @return What is wrong; empty if nothing is.  mlpack may have printed more.
 */
template<typename MatType>
std::string LoadMatrix(const std::string& path,
                       MatType& matrix,
                       const bool turn = true);

/**
 * Save a matrix; a vector has one value in each line.
 *
 * @return Whether all of it was written: mlpack does not check the last part of
 *     a file.
 */
template<typename MatType>
bool SaveMatrix(const std::string& path,
                const MatType& matrix,
                const bool turn = true);

} // namespace cli
} // namespace dasgd

#endif
