/**
 * @file words.hpp
 *
 * Word lists, one file for each language, and which of the words are for
 * testing.
 *
 * dasgd is free software under the 3-clause BSD license; see LICENSE.
 */
#ifndef DASGD_EXAMPLES_LANGUAGE_WORDS_HPP
#define DASGD_EXAMPLES_LANGUAGE_WORDS_HPP

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace example {

//! A hash of bytes (64-bit FNV-1a) that can be continued with more of them.
inline std::uint64_t AddBytes(std::uint64_t hash, const std::string_view bytes)
{
  for (const char byte : bytes)
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  return hash;
}

constexpr std::uint64_t hashOfNothing = 14695981039346656037u;

//! Spreads what little the last bytes have changed over all bits.
inline std::uint64_t Spread(std::uint64_t hash)
{
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  return hash ^ (hash >> 31);
}

//! How many words a language has.
struct Language
{
  std::string name;
  std::filesystem::path file;
  std::uint64_t training = 0;
  std::uint64_t test = 0;
};

//! The lists of a folder.  No word is kept in memory.
class WordLists
{
 public:
  /**
   * Find the lists of a folder, FOLDER/<language>.txt, and count their words.
   *
   * @param testShare About this share of the words is for testing.
   */
  WordLists(const std::filesystem::path& folder, const double testShare) :
      testBelow(std::uint64_t(testShare * 4294967296.0))
  {
    const std::string remedy = "; examples/language/fetch_words.sh FOLDER "
        "fetches some";
    if (!std::filesystem::is_directory(folder))
    {
      throw std::runtime_error("there is no folder " + folder.string() +
          " with word lists" + remedy);
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder))
    {
      if (entry.path().extension() == ".txt")
        languages.push_back({ entry.path().stem().string(), entry.path() });
    }
    if (languages.size() < 2)
    {
      throw std::runtime_error(folder.string() + " has " +
          std::to_string(languages.size()) + " word lists (<language>.txt), "
          "but two are needed to tell languages apart" + remedy);
    }
    // Folders are read in any order, but ranks must number languages alike.
    std::sort(languages.begin(), languages.end(),
        [](const Language& a, const Language& b) { return a.name < b.name; });

    ForEach([&](const size_t language, std::string_view, const bool test)
    { ++(test ? languages[language].test : languages[language].training); });
    for (const Language& language : languages)
    {
      training += language.training;
      test += language.test;
      if (language.training == 0)
      {
        throw std::runtime_error(language.file.string() + " has " +
            (language.test == 0 ? "no words" : "no words but for testing"));
      }
    }
  }

  const std::vector<Language>& Languages() const { return languages; }
  //! Words of all languages together.
  std::uint64_t Training() const { return training; }
  std::uint64_t Test() const { return test; }

  /**
   * Read all lists once more.
   *
   * @param function Called with the number of the language, the word, and
   *     whether it is for testing.
   */
  template<typename FunctionType>
  void ForEach(FunctionType&& function) const
  {
    for (size_t i = 0; i < languages.size(); ++i)
    {
      std::ifstream stream(languages[i].file, std::ios::binary);
      std::string word;
      for (size_t line = 1; std::getline(stream, word); ++line)
      {
        if (!word.empty() && word.back() == '\r')
          word.pop_back();
        if (word.size() > 1024)
        {
          throw std::runtime_error(languages[i].file.string() + ", line " +
              std::to_string(line) + " has " + std::to_string(word.size()) +
              " bytes; is it a list with one word on each line?");
        }
        if (!word.empty())
          function(i, std::string_view(word), IsTest(word));
      }
      if (!stream.eof())
      {
        throw std::runtime_error("cannot read " +
            languages[i].file.string());
      }
    }
  }

 private:
  //! The word itself decides, so test words are the same on any number of
  //! ranks, and a word of two languages is never in both sets.
  bool IsTest(const std::string_view word) const
  { return (Spread(AddBytes(hashOfNothing, word)) >> 32) < testBelow; }

  std::vector<Language> languages;
  std::uint64_t testBelow;
  std::uint64_t training = 0;
  std::uint64_t test = 0;
};

//! Where fetch_words.sh puts lists unless it is told otherwise.
inline std::string WordsFolder()
{
  const char* home = std::getenv("HOME");
  return (home == nullptr ? std::string(".") : std::string(home)) +
      "/.cache/dasgd/words";
}

} // namespace example

#endif
