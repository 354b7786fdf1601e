/**
 * @file letters.hpp
 *
 * Words as sparse columns: which groups of letters they have.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_EXAMPLES_LANGUAGE_LETTERS_HPP
#define DASGD_EXAMPLES_LANGUAGE_LETTERS_HPP

#include <armadillo>

#include "words.hpp"

#include <cmath>

namespace example {

//! The groups of 1 to n letters of a word, by their hashes.
class LetterGroups
{
 public:
  LetterGroups(const size_t features, const size_t letters) :
      features(features), letters(letters), counts(features, 0)
  { }

  /**
   * Count the groups of a word.  Valid until the next call.
   *
   * @param sorted Must rows be ascending?  That takes longer than the rest.
   * @return Rows of the groups, each once; Count() tells how often.
   */
  const std::vector<arma::uword>& Rows(const std::string_view word,
                                       const bool sorted)
  {
    for (const arma::uword row : rows)
      counts[row] = 0;
    rows.clear();

    // Groups at either end of a word are worth most, so both ends are marked.
    text.assign(1, '\x02');
    text.append(word).append(1, '\x03');
    // Letters are code points of UTF-8; their other bytes begin with bits 10.
    begins.clear();
    for (size_t i = 0; i < text.size(); ++i)
    {
      if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80)
        begins.push_back(i);
    }
    begins.push_back(text.size());

    const size_t length = begins.size() - 1;
    for (size_t i = 0; i < length; ++i)
    {
      std::uint64_t hash = hashOfNothing;
      for (size_t n = 1; n <= letters && i + n <= length; ++n)
      {
        hash = AddBytes(hash, std::string_view(text).substr(begins[i + n - 1],
            begins[i + n] - begins[i + n - 1]));
        // Every word has the marks, so alone they tell nothing.
        if (n == 1 && (i == 0 || i + 1 == length))
          continue;
        const arma::uword row = ((Spread(hash) >> 32) * features) >> 32;
        if (counts[row]++ == 0)
          rows.push_back(row);
      }
    }
    if (sorted)
      std::sort(rows.begin(), rows.end());
    return rows;
  }

  size_t Count(const arma::uword row) const { return counts[row]; }

 private:
  std::uint64_t features;
  size_t letters;
  std::vector<std::uint32_t> counts;
  std::vector<arma::uword> rows;
  std::vector<size_t> begins;
  std::string text;
};

//! Words as points.
struct Points
{
  arma::sp_mat data;
  arma::Row<size_t> labels;
  //! A sum of hashes, so that words can be compared whatever their order and
  //! however they are divided.
  std::uint64_t checksum = 0;
};

//! Which words a rank takes.
struct Part
{
  //! Those for testing, or the others?
  bool test;
  //! How many of these there are in all lists together, and how many of them
  //! to take, from all lists alike.
  std::uint64_t all;
  std::uint64_t taken;
  //! Every size-th of these is this rank's.
  size_t rank;
  size_t size;

  std::uint64_t Own() const { return (taken + size - 1 - rank) / size; }
};

/**
 * Read one rank's part of the words.
 *
 * Lists are read twice, first to count and then to fill a matrix of the right
 * size.  That needs no memory but the matrix: Armadillo's constructors take a
 * copy of the arrays that they are given, and with lists of triples there would
 * be three times as much.
 */
inline Points ReadPoints(const WordLists& lists,
                         const Part& part,
                         const size_t features,
                         const size_t letters)
{
  const auto forEachOwn = [&](auto&& function)
  {
    std::uint64_t seen = 0, taken = 0;
    lists.ForEach([&](const size_t language, const std::string_view word,
        const bool test)
    {
      // Evenly spread over all of them, and exactly as many as asked for.
      if (test == part.test && ++seen * part.taken / part.all > taken &&
          taken++ % part.size == part.rank)
        function(language, word);
    });
  };

  LetterGroups groups(features, letters);
  std::uint64_t nonzeros = 0;
  forEachOwn([&](size_t, const std::string_view word)
  { nonzeros += groups.Rows(word, false).size(); });

  Points points;
  points.labels.set_size(part.Own());
  points.data = arma::sp_mat(arma::arma_reserve_indicator(), features,
      part.Own(), nonzeros);
  double* values = arma::access::rwp(points.data.values);
  arma::uword* rows = arma::access::rwp(points.data.row_indices);
  arma::uword* ends = arma::access::rwp(points.data.col_ptrs) + 1;
  size_t column = 0, at = 0;
  forEachOwn([&](const size_t language, const std::string_view word)
  {
    const std::vector<arma::uword>& own = groups.Rows(word, true);
    if (column == part.Own() || own.size() > nonzeros - at)
      throw std::runtime_error("the word lists have changed meanwhile");
    double squares = 0;
    for (const arma::uword row : own)
      squares += double(groups.Count(row)) * double(groups.Count(row));
    // Long words would otherwise take larger steps than short ones.
    for (const arma::uword row : own)
    {
      rows[at] = row;
      values[at++] = double(groups.Count(row)) / std::sqrt(squares);
    }
    ends[column] = at;
    points.labels[column++] = language;
    points.checksum += Spread(AddBytes(hashOfNothing + language, word));
  });
  if (column != part.Own() || at != nonzeros)
    throw std::runtime_error("the word lists have changed meanwhile");
  return points;
}

} // namespace example

#endif
