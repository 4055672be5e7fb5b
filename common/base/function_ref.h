// A function that is called while its owner waits: what std::function is, without a copy and
// without memory of its own.
//
// Thread rule: a value; borrows the function, which a call must not outlive.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace weir {

template <typename Signature>
class FunctionRef;

template <typename Result, typename... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <typename Function>
  requires(!std::is_same_v<std::remove_cvref_t<Function>, FunctionRef>)
      FunctionRef(Function&& function)  // NOLINT: as any function
      : function_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_([](void* of, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<Function>*>(of))(
              std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const {
    return call_(function_, std::forward<Arguments>(arguments)...);
  }

 private:
  void* function_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace weir
