/* Where in the user's program a call is made. In C, because the interpreter's internal headers are. */
#define Py_BUILD_CORE
#include <Python.h>
#if PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_frame.h>
#else
#include <frameobject.h>
#endif
#include <string.h>
#include "site.h"

/* Code under this directory belongs to the layer above, not to its user. */
static char own[1024];
static Py_ssize_t own_size = 0;

void reactor_own_directory(const char* path) {
  own_size = (Py_ssize_t)strlen(path);
  if (own_size >= (Py_ssize_t)sizeof own) own_size = 0;
  memcpy(own, path, (size_t)own_size);
}

static int is_own(PyCodeObject* code) {
  PyObject* file = code->co_filename;
  return own_size && PyUnicode_IS_ASCII(file) && PyUnicode_GET_LENGTH(file) > own_size &&
         memcmp(PyUnicode_1BYTE_DATA(file), own, (size_t)own_size) == 0;
}

#if PY_VERSION_HEX >= 0x030B0000
static PyCodeObject* code_of(struct _PyInterpreterFrame* f) {
#if PY_VERSION_HEX >= 0x030D0000
  return PyCode_Check(f->f_executable) ? (PyCodeObject*)f->f_executable : NULL; /* None in an entry frame */
#elif PY_VERSION_HEX >= 0x030C0000
  return PyCode_Check((PyObject*)f->f_code) ? f->f_code : NULL;
#else
  return f->f_code;
#endif
}
#endif

void reactor_call_site(PyCodeObject** code, int* instruction) {
#if PY_VERSION_HEX >= 0x030B0000
#if PY_VERSION_HEX >= 0x030D0000
  struct _PyInterpreterFrame* f = PyThreadState_GET()->current_frame;
#else
  struct _PyInterpreterFrame* f = PyThreadState_GET()->cframe->current_frame;
#endif
  for (; f; f = f->previous) {
    PyCodeObject* c = code_of(f);
    if (!c || is_own(c)) continue;
    *code = c;
    *instruction = _PyInterpreterFrame_LASTI(f) * (int)sizeof(_Py_CODEUNIT);
    return;
  }
  *code = NULL;
  *instruction = 0;
#else
  PyFrameObject* f = PyEval_GetFrame();
  Py_XINCREF(f);
  *code = NULL;
  *instruction = 0;
  while (f) {
    PyCodeObject* c = PyFrame_GetCode(f);
    Py_DECREF(c); /* the frame, which runs, keeps it */
    if (!is_own(c)) {
      *code = c;
      *instruction = PyFrame_GetLineNumber(f);
      Py_DECREF(f);
      return;
    }
    PyFrameObject* back = PyFrame_GetBack(f);
    Py_DECREF(f);
    f = back;
  }
#endif
}

int reactor_site_line(PyCodeObject* code, int instruction) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyCode_Addr2Line(code, instruction);
#else
  (void)code;
  return instruction;
#endif
}
