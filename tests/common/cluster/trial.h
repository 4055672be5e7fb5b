// A book that can be saved and loaded, and what happens to it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "common/base/random.h"
#include "common/cluster/saved_parts.h"

namespace weir::cluster {

template <typename Book>
std::unique_ptr<Book> MakeBook() {
  if constexpr (std::is_default_constructible_v<Book>) return std::make_unique<Book>();
  return nullptr;
}

template <typename Book>
Status LoadBook(Book& book, PartSource* source) {
  if constexpr (requires { book.Load(source); }) return book.Load(source);
  return Internal("the trial says how");
}

template <typename Book>
struct Trial {
  std::function<std::unique_ptr<Book>()> make = MakeBook<Book>;
  // An event; what the book answers.
  std::function<std::string(Book&, RandomStream&)> act;
  std::function<Status(Book&, PartSource*)> load = LoadBook<Book>;
  int events = 80;
};

// Of a book that is one part.
template <typename Book>
struct Whole {
  Book book;
  WholePart part{"book"};

  void SaveChanges(SavedParts* parts) { part.SaveChanges(book, parts); }
  Status Load(PartSource* source) { return part.Load(source, &book); }
};

class NoParts final : public SavedParts {
 public:
  void Put(std::string name, Bytes) override { ADD_FAILURE() << name; }
  void Remove(std::string name) override { ADD_FAILURE() << name; }
};

template <typename Book>
Status LoadFrom(const Trial<Book>& trial, const PartMap& parts, Book* book) {
  PartSource source(parts);
  WEIR_RETURN_IF_ERROR(trial.load(*book, &source));
  return source.CheckAllWereTaken();
}

}  // namespace weir::cluster
