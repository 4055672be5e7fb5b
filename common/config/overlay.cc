#include "common/config/overlay.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string_view>
#include <vector>

namespace weir::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool IsReplacedWhole(const FieldDescriptor& field) {
  return field.is_repeated() || field.full_name() == "weir.v1.CompressionConfig.default";
}

// Clears in base what `later` replaces rather than merges.
void ClearReplaced(const Message& later, Message* base) {
  const Reflection& reflection = *later.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(later, &fields);
  for (const FieldDescriptor* field : fields) {
    if (IsReplacedWhole(*field)) {
      base->GetReflection()->ClearField(base, field);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
               base->GetReflection()->HasField(*base, field)) {
      ClearReplaced(reflection.GetMessage(later, field),
                    base->GetReflection()->MutableMessage(base, field));
    }
  }
}

}  // namespace

void Overlay(const v1::Config& later, v1::Config* base) {
  ClearReplaced(later, base);
  base->MergeFrom(later);
}

}  // namespace weir::config
