/**
 * @file text_file.hpp
 *
 * Matrices of numbers in text files: a point in each line, values separated by
 * commas, semicolons, tabs or blanks.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_DATA_TEXT_FILE_HPP
#define DASGD_BINDINGS_DATA_TEXT_FILE_HPP

#include <common/number.hpp>

#include <armadillo>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dasgd {

/**
 * A file of text, mapped into memory if it can be, so that what is held besides
 * the numbers belongs to the system's cache, once for all ranks of a machine.
 */
class TextFile
{
 public:
  explicit TextFile(const std::string& path)
  {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0)
    {
      const int reason = errno;
      if (file >= 0)
        close(file);
      throw std::runtime_error(std::strerror(reason));
    }
    if (S_ISREG(status.st_mode) && status.st_size > 0)
    {
      length = size_t(status.st_size);
      void* const at = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, 0);
      if (at != MAP_FAILED)
      {
        mapped = static_cast<const char*>(at);
        madvise(at, length, MADV_SEQUENTIAL);
      }
    }
    if (!mapped)
      ReadAll(file); // A pipe, for example.
    close(file);
  }

  ~TextFile()
  {
    if (mapped)
      munmap(const_cast<char*>(mapped), length);
  }

  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  const char* begin() const { return mapped ? mapped : copy.data(); }
  const char* end() const
  { return mapped ? mapped + length : copy.data() + copy.size(); }

 private:
  void ReadAll(const int file)
  {
    char piece[1 << 16];
    ssize_t got;
    while ((got = read(file, piece, sizeof(piece))) > 0 ||
        (got < 0 && errno == EINTR))
      copy.append(piece, size_t(std::max<ssize_t>(got, 0)));
    const int reason = errno;
    if (got == 0)
      return;
    close(file);
    throw std::runtime_error(std::strerror(reason));
  }

  const char* mapped = nullptr;
  size_t length = 0;
  std::string copy;
};

/**
 * Reads a matrix of numbers from a text.  Whatever is no number is an error
 * that names the line, the column and the value; nothing is guessed.
 *
 * The separator is found in the first line: a semicolon, or else a comma, or
 * else a tab, or else blanks.  Lines may end in CR LF, and empty lines are
 * passed over.
 */
class TextMatrix
{
 public:
  //! Called now and then with the part that has been read, from 0 to 1.
  using Progress = std::function<void(double)>;

  TextMatrix(const char* begin, const char* end) : begin(begin), end(end)
  {
    if (end - begin >= 2 && (std::memcmp(begin, "\xff\xfe", 2) == 0 ||
        std::memcmp(begin, "\xfe\xff", 2) == 0))
      throw std::runtime_error("it is in UTF-16; save it as UTF-8");
    // Many programs on Windows begin a text with this mark.
    if (end - begin >= 3 && std::memcmp(begin, "\xef\xbb\xbf", 3) == 0)
      this->begin += 3;
    Survey();
  }

  //! Lines that hold values, and values in each.
  size_t Lines() const { return lines; }
  size_t Columns() const { return columns; }

  //! Read all values, with a column of the matrix for each line.
  arma::mat Read(const Progress& progress = Progress()) const
  {
    arma::mat result(columns, lines, arma::fill::none);
    double* out = result.memptr();
    const char* told = begin;
    ForLines([&](const size_t number, const char* at, const char* stop)
    {
      ReadLine(at, stop, number, out);
      out += columns;
      if (progress && stop - told >= (1 << 24))
      {
        told = stop;
        progress(double(stop - begin) / double(end - begin));
      }
    });
    return result;
  }

 private:
  static bool IsBlank(const char c)
  { return c == ' ' || c == '\t' || c == '\r'; }

  //! Leave the blanks at both ends out.
  static void Trim(const char*& first, const char*& last)
  {
    while (first != last && IsBlank(*first))
      ++first;
    while (first != last && IsBlank(last[-1]))
      --last;
  }

  /**
   * Call an action with the number, the beginning and the end of each line that
   * holds anything, blanks at its ends left out.
   */
  template<typename ActionType>
  void ForLines(ActionType&& action) const
  {
    size_t number = 0;
    for (const char* at = begin; at != end;)
    {
      const void* const found = std::memchr(at, '\n', size_t(end - at));
      const char* const stop = found ? static_cast<const char*>(found) : end;
      const char* first = at;
      const char* last = stop;
      Trim(first, last);
      ++number;
      if (first != last)
        action(number, first, last);
      at = (stop == end) ? end : stop + 1;
    }
  }

  //! Find the separator, and count.
  void Survey()
  {
    ForLines([&](const size_t number, const char* at, const char* stop)
    {
      if (lines++ > 0)
        return;
      firstLine = number;
      for (const char candidate : { '\t', ',', ';' })
      {
        if (std::find(at, stop, candidate) != stop)
          separator = candidate;
      }
      columns = CountValues(at, stop);
    });
    if (lines == 0)
      throw std::runtime_error("it holds no values");
  }

  size_t CountValues(const char* at, const char* stop) const
  {
    size_t count = 0;
    for (const char *first, *last; at != nullptr; ++count)
      at = Value(at, stop, first, last);
    return count;
  }

  /**
   * The next value of a line.
   *
   * @param first,last Set to its beginning and end.
   * @return Where the one after it begins, or null if there is none.
   */
  const char* Value(const char* at,
                    const char* stop,
                    const char*& first,
                    const char*& last) const
  {
    first = at;
    if (separator == ' ')
    {
      last = std::find_if(at, stop, IsBlank);
      const char* const next = std::find_if_not(last, stop, IsBlank);
      return (next == stop) ? nullptr : next;
    }
    last = std::find(at, stop, separator);
    const char* const next = (last == stop) ? nullptr : last + 1;
    Trim(first, last);
    return next;
  }

  //! Read the values of one line.
  void ReadLine(const char* at,
                const char* stop,
                const size_t number,
                double* out) const
  {
    const char* const start = at;
    size_t column = 0;
    for (const char *first, *last; at != nullptr; ++column)
    {
      at = Value(at, stop, first, last);
      double value = 0;
      if (!ParseNumber(first, last, value))
        Refuse(first, last, number, column + 1);
      if (column < columns)
        out[column] = value;
    }
    if (column != columns)
    {
      throw std::runtime_error("line " + std::to_string(number) + " has " +
          std::to_string(CountValues(start, stop)) + " values, but those "
          "before have " + std::to_string(columns));
    }
  }

  //! Does the second line hold numbers, so that the first may be a header?
  bool NumbersFollow() const
  {
    size_t seen = 0;
    bool numbers = false;
    ForLines([&](const size_t, const char* at, const char* stop)
    {
      if (++seen != 2)
        return;
      numbers = true;
      for (const char *first, *last; at != nullptr;)
      {
        double ignored;
        at = Value(at, stop, first, last);
        numbers = numbers && ParseNumber(first, last, ignored);
      }
    });
    return numbers;
  }

  //! Say what is wrong with a value.
  [[noreturn]] void Refuse(const char* at,
                           const char* stop,
                           const size_t number,
                           const size_t column) const
  {
    const std::string where = "line " + std::to_string(number) + ", column " +
        std::to_string(column) + " ";
    const std::string value(at, std::min(stop, at + 20));
    for (const char c : value)
    {
      if (static_cast<unsigned char>(c) < ' ' || c == '\x7f')
      {
        throw std::runtime_error("line " + std::to_string(number) + " holds "
            "what is no text; is it a file of another kind?");
      }
    }
    std::string word = value;
    for (char& c : word)
      c = (c >= 'A' && c <= 'Z') ? char(c - 'A' + 'a') : c;
    for (const char* missing : { "", "na", "n/a", "?", ".", "-", "null", "none",
        "\"\"" })
    {
      if (word == missing)
      {
        throw std::runtime_error(where + (word.empty() ? "is empty" : "is '" +
            value + "'") + ": a value is missing; fill it in, or take the line "
            "out");
      }
    }
    std::string remedy;
    const size_t comma = value.find(',');
    double ignored;
    if (number == firstLine && NumbersFollow())
      remedy = "; if it is a header, remove it, e.g. by 'tail -n +2'";
    if (value.front() == '"' || value.front() == '\'')
      remedy = "; write numbers without quotes";
    if (comma != std::string::npos && ParseNumber(std::string(value).replace(
        comma, 1, "."), ignored))
      remedy = "; write decimal points instead of commas";
    throw std::runtime_error(where + "is '" + value + (stop - at > 20 ? "..." :
        "") + "' where a number should be" + remedy);
  }

  const char* begin;
  const char* end;
  char separator = ' ';
  //! The number of the first line that holds anything.
  size_t firstLine = 0;
  size_t lines = 0;
  size_t columns = 0;
};

} // namespace dasgd

#endif
