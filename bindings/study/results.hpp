/**
 * @file results.hpp
 *
 * The table of runs: a file to which whole rows are appended, and which is read
 * when a study goes on.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_BINDINGS_STUDY_RESULTS_HPP
#define DASGD_BINDINGS_STUDY_RESULTS_HPP

#include <data/text.hpp>

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace dasgd {
namespace study {

//! The columns of the table.
inline const std::vector<std::string>& Columns()
{
  static const std::vector<std::string> columns = { "run", "phase", "algorithm",
      "ranks", "topology", "slow", "step_size", "seed", "status", "reason",
      "target_loss", "target_accuracy", "time_to_target", "gradients_to_target",
      "judged_on", "loss", "accuracy", "reference_losses",
      "reference_test_losses", "seconds", "gradients",
      "gradients_per_second", "idle_share",
      "bytes_per_gradient", "staleness_mean", "staleness_max",
      "staleness_histogram", "probe_share", "oversubscribed",
      "other_load", "curve",
      "started", "wall_seconds" };
  return columns;
}

//! One row: names of columns with their values.
using Row = Entries;

//! Did a run come to its end with a model?
inline bool Succeeded(const Row& row)
{
  const std::string status = row.Text("status");
  return status == "ok" || status == "target";
}

/**
 * The rows of a file.  An end that was cut off, as by a loss of power, is not a
 * row; Open() takes it away.
 */
class Results
{
 public:
  ~Results()
  {
    if (file >= 0)
      close(file);
  }

  Results() = default;
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  //! Read what is there, and be ready to append.
  void Open(const std::string& path)
  {
    name = path;
    file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0)
      Fail();
    std::string text;
    {
      std::ifstream stream(path, std::ios::binary);
      std::ostringstream all;
      all << stream.rdbuf();
      text = all.str();
    }
    const size_t end = text.rfind('\n');
    text.resize(end == std::string::npos ? 0 : end + 1);
    std::istringstream lines(text);
    std::string line;
    std::vector<std::string> columns;
    if (std::getline(lines, line))
      columns = CsvFields(line);
    if (!columns.empty() && columns != Columns())
    {
      throw std::runtime_error("'" + path + "' has other columns than this "
          "version of the program writes; give '--restart' to forget what is "
          "there, or another '--results_dir'!");
    }
    while (std::getline(lines, line))
    {
      const std::vector<std::string> fields = CsvFields(line);
      if (fields.size() != columns.size())
        continue;
      Row row;
      for (size_t i = 0; i < fields.size(); ++i)
        row.Set(columns[i], fields[i]);
      rows.push_back(row);
    }

    if (ftruncate(file, off_t(text.size())) != 0)
      Fail();
    if (text.empty())
      Write(CsvRow(Columns()));
  }

  //! Add a row: it is on disk when this returns.
  void Add(const Row& row)
  {
    std::vector<std::string> fields;
    for (const std::string& column : Columns())
      fields.push_back(row.Text(column));
    Write(CsvRow(fields));
    rows.push_back(row);
  }

  const std::vector<Row>& Rows() const { return rows; }

  /**
   * The row of a run that was made, or null.
   *
   * @param wanted The columns that must be as in here.
   */
  const Row* Find(const Entries& wanted) const
  {
    for (const Row& row : rows)
    {
      bool same = true;
      for (const auto& entry : wanted.All())
        same = same && row.Text(entry.first) == entry.second;
      if (same)
        return &row;
    }
    return nullptr;
  }

 private:
  void Write(const std::string& text)
  {
    // In one piece, so that a row is there or is not.
    const ssize_t written = write(file, text.data(), text.size());
    if (written != ssize_t(text.size()) || fsync(file) != 0)
      Fail();
  }

  [[noreturn]] void Fail() const
  {
    throw std::runtime_error("'" + name + "' cannot be written (" +
        std::strerror(errno) + "); make room, or choose another "
        "'--results_dir'!");
  }

  std::string name;
  int file = -1;
  std::vector<Row> rows;
};

} // namespace study
} // namespace dasgd

#endif
