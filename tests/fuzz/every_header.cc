#include "tests/fuzz/every_header.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "common/session/run_identity.h"

namespace weir::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr uint32_t kNumber = 1;

class Filler {
 public:
  void Fill(Message* message) const {
    for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
      FillField(*message->GetDescriptor()->field(i), message);
    }
  }
  void FillField(const FieldDescriptor& field, Message* message) const {
    const auto& reflection = *message->GetReflection();
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Fill(field.is_repeated() ? reflection.AddMessage(message, &field)
                               : reflection.MutableMessage(message, &field));
    } else if (!field.is_repeated()) {
      FillScalar(field, message);
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
      reflection.AddUInt32(message, &field, 0);
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
      reflection.AddUInt64(message, &field, kNumber);
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      reflection.AddString(message, &field, "a");
    }
  }

 private:
  void FillScalar(const FieldDescriptor& field, Message* message) const {
    const auto& reflection = *message->GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_UINT32:
        return reflection.SetUInt32(message, &field, kNumber);
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection.SetUInt64(message, &field, kNumber);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return reflection.SetDouble(message, &field, 0.5);
      case FieldDescriptor::CPPTYPE_BOOL:
        return reflection.SetBool(message, &field, true);
      case FieldDescriptor::CPPTYPE_ENUM:
        return reflection.SetEnumValue(message, &field, 1);
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection.SetString(message, &field, "a");
      default:
        return;
    }
  }
};

}  // namespace

std::vector<v1::Header> EveryHeader() {
  const auto& kinds = *v1::Header::descriptor()->oneof_decl(0);
  std::vector<v1::Header> headers(static_cast<size_t>(kinds.field_count()));
  for (int i = 0; i < kinds.field_count(); ++i) {
    Filler().FillField(*kinds.field(i), &headers[static_cast<size_t>(i)]);
  }
  return headers;
}

}  // namespace weir::fuzz
