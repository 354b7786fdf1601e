/**
 * @file text_file.hpp
 *
 * Tables in text files: a point in each line, values separated by commas,
 * semicolons, tabs or blanks; also in ARFF, and compressed by gzip.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_DATA_TEXT_FILE_HPP
#define DASGD_BINDINGS_DATA_TEXT_FILE_HPP

#include "number.hpp"
#include "table.hpp"

#include <armadillo>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace dasgd {

/**
 * The bytes of a file, mapped into memory if they can be, so that what is held
 * besides the numbers belongs to the system's cache, once for all ranks of a
 * machine.  What is compressed by gzip is unpacked.
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
    if (end() - begin() >= 2 && std::memcmp(begin(), "\x1f\x8b", 2) == 0)
      Unpack();
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

  //! Replace compressed bytes by what they stand for.
  void Unpack()
  {
    std::string unpacked;
    z_stream stream = { };
    // 16: of gzip, 15: with any window.
    if (inflateInit2(&stream, 16 + 15) != Z_OK)
      throw std::bad_alloc();
    int status = Z_OK;
    for (const char* at = begin(); status == Z_OK;)
    {
      // zlib counts in 32 bits, and a file may have several parts.
      const size_t given = std::min<size_t>(size_t(end() - at), 1 << 30);
      const size_t before = unpacked.size(), room = size_t(1) << 20;
      unpacked.resize(before + room);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(at));
      stream.avail_in = uInt(given);
      stream.next_out = reinterpret_cast<Bytef*>(&unpacked[before]);
      stream.avail_out = uInt(room);
      status = inflate(&stream, Z_NO_FLUSH);
      at += given - stream.avail_in;
      unpacked.resize(before + room - stream.avail_out);
      if (status == Z_STREAM_END && at != end() &&
          inflateReset(&stream) == Z_OK)
        status = Z_OK;
    }
    inflateEnd(&stream);
    if (status != Z_STREAM_END)
      throw std::runtime_error("its compressed data is damaged or cut off");
    if (mapped)
      munmap(const_cast<char*>(mapped), length);
    mapped = nullptr;
    copy.swap(unpacked);
  }

  const char* mapped = nullptr;
  size_t length = 0;
  std::string copy;
};

/**
 * Reads a table from a text.  The separator is found in the first line: a
 * semicolon, or else a comma, or else a tab, or else blanks.  Lines may end in
 * CR LF; empty lines, and lines before the first that begin with '#', are
 * passed over.  The first line is a header if it holds no number and the second
 * does. Values may be in quotes.
 */
class TextTable
{
 public:
  //! Called now and then with the part that has been read, from 0 to 1.
  using Progress = std::function<void(double)>;

  TextTable(const char* begin, const char* end, const bool arff = false) :
      begin(begin),
      end(end),
      arff(arff)
  {
    if (end - begin >= 2 && (std::memcmp(begin, "\xff\xfe", 2) == 0 ||
        std::memcmp(begin, "\xfe\xff", 2) == 0))
      throw std::runtime_error("it is in UTF-16; save it as UTF-8");
    // Many programs on Windows begin a text with this mark.
    if (end - begin >= 3 && std::memcmp(begin, "\xef\xbb\xbf", 3) == 0)
      this->begin += 3;
    if (arff)
      ReadAttributes();
    Survey();
  }

  //! Lines that hold values, and values in each.
  size_t Lines() const { return lines; }
  size_t Columns() const { return columns.size(); }

  //! Names of the columns; empty ones if there is no header.
  std::vector<std::string> Names() const
  {
    std::vector<std::string> names;
    for (const TableColumn& column : columns)
      names.push_back(column.name);
    return names;
  }

  /**
   * Read all values.
   *
   * @param label The column of labels, which may mix words and numbers; if
   *     there is none, anything else.
   */
  Table Read(const size_t label = NoColumn,
             const Progress& progress = Progress()) const
  {
    Table table;
    table.columns = columns;
    table.values.set_size(Columns(), lines);
    std::vector<Words> words(Columns());
    double* out = table.values.memptr();
    const char* told = begin;
    ForLines([&](const size_t number, const char* at, const char* stop)
    {
      table.lines.push_back(number);
      ReadLine(at, stop, number, out, words);
      out += Columns();
      if (progress && stop - told >= (1 << 24))
      {
        told = stop;
        progress(double(stop - begin) / double(end - begin));
      }
    });
    for (size_t i = 0; i < Columns(); ++i)
    {
      if (!columns[i].words.empty() || words[i].count > 0)
        ReadWords(table, i, words[i], i == label);
    }
    table.firstMissing = FirstMissing(table);
    return table;
  }

 private:
  //! What a column holds that is no number.
  struct Words
  {
    size_t count = 0;
    //! Numbers beside them.
    size_t numbers = 0;
    //! Where the first one is.
    const char *first = nullptr, *last = nullptr;
    size_t line = 0;
  };

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

  static std::string Lower(std::string word)
  {
    for (char& c : word)
      c = (c >= 'A' && c <= 'Z') ? char(c - 'A' + 'a') : c;
    return word;
  }

  //! Does this stand for a value that is missing?  Among words fewer do: "none"
  //! may be one of them.
  static bool Missing(const char* first, const char* last, const bool words)
  {
    if (last - first > 4)
      return false;
    const std::string word = Lower(std::string(first, last));
    for (const char* missing : { "", "na", "n/a", "nan", "?" })
    {
      if (word == missing)
        return true;
    }
    return !words && (word == "." || word == "-" || word == "null" ||
        word == "none");
  }

  /**
   * Call an action with the number, the beginning and the end of each line that
   * holds values, blanks at its ends left out.
   */
  template<typename ActionType>
  void ForLines(ActionType&& action) const
  { EachLine(firstLine, [&](const size_t number, const char* at,
        const char* stop) { action(number, at, stop); return true; }); }

  //! The same from a line on, as long as the action returns true.
  template<typename ActionType>
  void EachLine(const size_t from, ActionType&& action) const
  {
    size_t number = 0;
    for (const char* at = begin; at != end;)
    {
      const void* const found = std::memchr(at, '\n', size_t(end - at));
      const char* const stop = found ? static_cast<const char*>(found) : end;
      const char* first = at;
      const char* last = stop;
      Trim(first, last);
      if (++number >= from && first != last && !(arff && *first == '%') &&
          !action(number, first, last))
        return;
      at = (stop == end) ? end : stop + 1;
    }
  }

  //! Find the separator and the header, and count.
  void Survey()
  {
    std::vector<std::pair<const char*, const char*>> start;
    EachLine(firstLine, [&](const size_t number, const char* at,
                            const char* stop)
    {
      if (lines == 0 && *at == '#')
        return true;
      firstLine = (lines == 0) ? number : firstLine;
      if (lines == 1)
        secondLine = number;
      if (lines++ < 2)
        start.emplace_back(at, stop);
      return true;
    });
    if (lines == 0)
      throw std::runtime_error("it holds no values");
    if (std::any_of(start.front().first, start.front().second, [](const char c)
        { return Control(c) && !IsBlank(c); }))
    {
      throw std::runtime_error("line " + std::to_string(firstLine) + " holds "
          "what is no text; is it a file of another kind?");
    }
    for (const char candidate : { '\t', ',', ';' })
    {
      const auto& line = start.front();
      if (Find(line.first, line.second, candidate) != line.second && !arff)
        separator = candidate;
    }
    if (arff)
      return;
    const std::vector<std::string> first = Texts(start.front());
    columns.resize(first.size());
    if (lines < 2)
      return;
    const std::vector<std::string> second = Texts(start.back());
    bool words = true, numbers = false;
    double ignored;
    for (size_t i = 0; i < first.size(); ++i)
    {
      words = words && !IsNumber(first[i], ignored);
      numbers = numbers || (i < second.size() && !first[i].empty() &&
          IsNumber(second[i], ignored));
    }
    if (!words || !numbers)
      return;
    for (size_t i = 0; i < first.size(); ++i)
      columns[i].name = first[i];
    firstLine = secondLine;
    --lines;
  }

  static bool IsNumber(const std::string& text, double& value)
  { return ParseNumber(text.data(), text.data() + text.size(), value); }

  //! Where a character is first, quotes left out.
  const char* Find(const char* at, const char* stop, const char wanted) const
  {
    for (char quote = 0; at != stop && (quote || *at != wanted); ++at)
    {
      if (quote ? *at == quote : *at == '"' || (arff && *at == '\''))
        quote = quote ? 0 : *at;
    }
    return at;
  }

  //! All values of a line.
  std::vector<std::string> Texts(
      const std::pair<const char*, const char*>& line)
      const
  {
    std::vector<std::string> texts;
    const char* at = line.first;
    for (const char *first, *last; at != nullptr;)
    {
      at = Value(at, line.second, first, last);
      texts.emplace_back(first, last);
    }
    return texts;
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
    while (separator != ' ' && first != stop && *first != separator &&
        IsBlank(*first))
      ++first;
    const bool quoted = first != stop && (*first == '"' ||
        (arff && *first == '\''));
    const char* next;
    if (separator == ' ')
    {
      last = std::find_if(quoted ? std::find(first + 1, stop, *first) : first,
          stop, IsBlank);
      next = std::find_if_not(last, stop, IsBlank);
      next = (next == stop) ? nullptr : next;
    }
    else
    {
      last = quoted ? Find(first, stop, separator) :
          std::find(first, stop, separator);
      next = (last == stop) ? nullptr : last + 1;
    }
    Trim(first, last);
    if (quoted && last - first >= 2 && last[-1] == *first)
    {
      ++first;
      --last;
      Trim(first, last);
    }
    return next;
  }

  //! Read the values of one line; words become NaN for now.
  void ReadLine(const char* at,
                const char* stop,
                const size_t number,
                double* out,
                std::vector<Words>& words) const
  {
    const char* const start = at;
    size_t column = 0;
    for (const char *first, *last; at != nullptr; ++column)
    {
      at = Value(at, stop, first, last);
      if (column >= Columns())
        continue;
      double& value = out[column];
      if (ParseNumber(first, last, value) && !std::isnan(value))
      {
        ++words[column].numbers;
        continue;
      }
      value = arma::datum::nan;
      if (!Missing(first, last, false) && words[column].count++ == 0)
      {
        words[column].first = first;
        words[column].last = last;
        words[column].line = number;
      }
    }
    if (column != Columns())
    {
      throw std::runtime_error("line " + std::to_string(number) + " has " +
          std::to_string(Texts({ start, stop }).size()) + " values, but " +
          (arff ? "there are " + std::to_string(Columns()) + " attributes" :
          "those before have " + std::to_string(Columns())));
    }
  }

  //! Read a column of words: their numbers in the order of their names.
  void ReadWords(Table& table,
                 const size_t column,
                 const Words& words,
                 const bool label) const
  {
    TableColumn& known = table.columns[column];
    if (words.count > 0 && ((!label && known.words.empty() &&
        (words.numbers > 0 || CommaNumber(words))) ||
        Unprintable(words.first, words.last)))
      Refuse(words, column);
    std::vector<std::string> texts;
    ForLines([&](const size_t, const char* at, const char* stop)
    {
      const char *first, *last;
      for (size_t i = 0; i <= column; ++i)
        at = Value(at, stop, first, last);
      texts.push_back(Missing(first, last, true) ? "" :
          std::string(first, last));
    });
    const bool declared = !known.words.empty();
    if (!declared)
      known.words = SortedWords(std::set<std::string>(texts.begin(),
          texts.end()));
    std::map<std::string, size_t> index;
    for (size_t i = 0; i < known.words.size(); ++i)
      index[known.words[i]] = i;
    for (size_t i = 0; i < texts.size(); ++i)
    {
      const auto found = index.find(texts[i]);
      if (found == index.end() && !texts[i].empty())
      {
        throw std::runtime_error(Place(table.lines[i], column) + " is '" +
            Shown(texts[i]) + "', which is none of those that @attribute "
            "lists");
      }
      table.values(column, i) = texts[i].empty() ? arma::datum::nan :
          double(found->second);
    }
    known.firstLine = words.line;
  }

  //! Where the first missing value is, and how it is written.
  std::string FirstMissing(const Table& table) const
  {
    const auto nan = std::find_if(table.values.begin(), table.values.end(),
        [](const double value) { return std::isnan(value); });
    if (nan == table.values.end())
      return "";
    const size_t at = size_t(nan - table.values.begin());
    const size_t line = table.lines[at / Columns()], column = at % Columns();
    std::string text;
    EachLine(line, [&](const size_t, const char* start, const char* stop)
    {
      text = Texts({ start, stop })[column];
      return false;
    });
    return Place(line, column) + (text.empty() ? " is empty" : " is '" +
        Shown(text) + "'");
  }

  std::string Place(const size_t line, const size_t column) const
  {
    const std::string name = Shown(columns[column].name);
    return "line " + std::to_string(line) + ", column " +
        std::to_string(column + 1) + (name.empty() ? "" : " ('" + name + "')");
  }

  static bool Control(const char c)
  { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

  //! As it may stand in a message.
  static std::string Shown(std::string text)
  {
    std::replace_if(text.begin(), text.end(), Control, ' ');
    return text;
  }

  static bool Unprintable(const char* at, const char* stop)
  {
    return std::any_of(at, std::min(stop, at + 20), Control);
  }

  //! Is the first word a number with a comma for its decimal point?
  static bool CommaNumber(const Words& words)
  {
    std::string word(words.first, words.last);
    const size_t comma = word.find(',');
    double ignored;
    return comma != std::string::npos && ParseNumber(word.replace(comma, 1,
        "."), ignored);
  }

  //! Say what is wrong with a word among numbers.
  [[noreturn]] void Refuse(const Words& words, const size_t column) const
  {
    if (Unprintable(words.first, words.last))
    {
      throw std::runtime_error("line " + std::to_string(words.line) + " holds "
          "what is no text; is it a file of another kind?");
    }
    const std::string value(words.first, std::min(words.last,
        words.first + 20));
    throw std::runtime_error(Place(words.line, column) + " is '" + value +
        (words.last - words.first > 20 ? "..." : "") + "' where a number "
        "should be" + (CommaNumber(words) ? "; write decimal points instead of "
        "commas" : words.line == firstLine && words.count == 1 ? "; if it is a "
        "header, name every column by a word, or remove it, e.g. by 'tail -n "
        "+2'" : ""));
  }

  //! The head of an ARFF file: names and types of columns.
  void ReadAttributes()
  {
    separator = ',';
    bool data = false;
    EachLine(1, [&](const size_t number, const char* at, const char* stop)
    {
      const char* const space = std::find_if(at, stop, IsBlank);
      const std::string word = Lower(std::string(at, space));
      data = (word == "@data");
      firstLine = number + 1;
      if (word != "@attribute")
        return !data;
      at = std::find_if_not(space, stop, IsBlank);
      const bool quoted = at != stop && (*at == '"' || *at == '\'');
      const char* const last = quoted ? std::find(at + 1, stop, *at) :
          std::find_if(at, stop, [](const char c)
          { return IsBlank(c) || c == '{'; });
      TableColumn column;
      column.name.assign(at + quoted, last);
      at = std::find_if_not(last == stop ? last : last + quoted, stop, IsBlank);
      const std::string type = Lower(std::string(at, std::find_if(at, stop,
          IsBlank)));
      const char* const close = std::find(at, stop, '}');
      if (at != stop && *at == '{' && close != stop)
        column.words = Texts({ at + 1, close });
      else if (type != "numeric" && type != "real" && type != "integer" &&
          type != "string")
      {
        throw std::runtime_error("line " + std::to_string(number) + " gives "
            "attribute '" + Shown(column.name) + "' the type '" + Shown(type) +
            "'; known "
            "are numeric, real, integer, string and {names, of, classes}");
      }
      columns.push_back(column);
      return true;
    });
    if (!data || columns.empty())
    {
      throw std::runtime_error("it has no " + std::string(data ?
          "@attribute" : "@data") + "; is it an ARFF file?");
    }
    lines = 0;
  }

  const char* begin;
  const char* end;
  bool arff;
  char separator = ' ';
  //! The number of the first line that holds values, and of the one after it.
  size_t firstLine = 1;
  size_t secondLine = 0;
  size_t lines = 0;
  std::vector<TableColumn> columns;
};

} // namespace dasgd

#endif
