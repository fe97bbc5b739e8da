#include "codec/codec_tags.h"

namespace reactor {
namespace {

std::string array_text(const uint8_t*& p, bool inside) {
  int type = *p++, ndim = *p++;
  ++p;  // order
  OwnedAs<PyArray_Descr> d(PyArray_DescrFromType(type));
  const char* kind = d->kind == 'f' ? "float" : d->kind == 'i' ? "int" : d->kind == 'u' ? "uint" : d->kind == 'c' ? "complex" : "bool";
  auto item = size_t(PyDataType_ELSIZE(d.get()));
  std::string text = kind;
  if (d->kind != 'b') text += std::to_string(item * 8);
  text += '[';
  size_t bytes = item;
  for (int i = 0; i < ndim; ++i) {
    int64_t n;
    memcpy(&n, p, sizeof n);
    p += sizeof n;
    bytes *= size_t(n);
    text += (i ? "," : "") + std::to_string(n);
  }
  p += inside ? bytes : sizeof(uint32_t);
  return text + "]";
}

template <class T> T read(const uint8_t*& p) {
  T v;
  memcpy(&v, p, sizeof v);
  p += sizeof v;
  return v;
}

std::string item_text(const uint8_t*& p, int depth = 0) {
  constexpr uint32_t kShown = 4;  // members of a container
  uint8_t tag = *p++;
  switch (tag) {
    case None: return "None";
    case True_:
    case False_: return "bool";
    case Int: p += 8; return "int";
    case Float: p += 8; return "float";
    case Str: {
      auto n = read<uint32_t>(p);
      p += n;
      return "str";
    }
    case Bytes: {
      auto n = read<uint32_t>(p);
      p += n;
      return "bytes";
    }
    case Tuple:
    case List: {
      auto n = read<uint32_t>(p);
      std::string text = tag == Tuple ? "(" : "[";
      for (uint32_t i = 0; i < n; ++i) {
        std::string item = item_text(p, depth + 1);
        if (i < kShown) text.append(i ? ", " : "").append(item);
      }
      if (n > kShown) text += ", …" + std::to_string(n);
      return text + (tag == Tuple ? ")" : "]");
    }
    case Dict: {
      auto n = read<uint32_t>(p);
      std::string text = "{";
      for (uint32_t i = 0; i < n; ++i) {
        std::string key = item_text(p, depth + 1), value = item_text(p, depth + 1);
        if (i < kShown) text.append(i ? ", " : "").append(key).append(": ").append(value);
      }
      return text + (n > kShown ? ", …}" : "}");
    }
    case Ref: p += 4; return "ref";
    case Dep: p += 4; return "result";
    case Scalar: {
      OwnedAs<PyArray_Descr> d(PyArray_DescrFromType(*p++));
      p += PyDataType_ELSIZE(d.get());
      return "scalar";
    }
    case SmallArray: return array_text(p, true);
    case Array: return array_text(p, false);
    case BigBytes: p += 4; return "bytes";
    case BigPickle: p += 12; return "pickle";
    case Pickle: {
      p += 8;
      p += read<uint64_t>(p);
      return "pickle";
    }
    default: return "?";
  }
}

}  // namespace

std::string layout_of(const uint8_t* p, const uint8_t* end, uint32_t items) {
  std::string text;
  for (uint32_t i = 0; i < items && p < end; ++i) text.append(i ? ", " : "").append(item_text(p));
  return text;
}

}  // namespace reactor
