/* Where in the user's program a call is made. In C, because the interpreter's internal headers are. */
#define Py_BUILD_CORE
#include <Python.h>
#if PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_frame.h>
#endif
#include "site.h"

void reactor_call_site(PyCodeObject** code, int* instruction, int skip) {
#if PY_VERSION_HEX >= 0x030D0000
  struct _PyInterpreterFrame* f = PyThreadState_GET()->current_frame;
  for (; skip && f; --skip) f = f->previous;
  *code = f ? _PyFrame_GetCode(f) : NULL;
  *instruction = f ? _PyInterpreterFrame_LASTI(f) * (int)sizeof(_Py_CODEUNIT) : 0;
#elif PY_VERSION_HEX >= 0x030B0000
  struct _PyInterpreterFrame* f = PyThreadState_GET()->cframe->current_frame;
  for (; skip && f; --skip) f = f->previous;
  *code = f ? f->f_code : NULL;
  *instruction = f ? _PyInterpreterFrame_LASTI(f) * (int)sizeof(_Py_CODEUNIT) : 0;
#else
  PyFrameObject* f = PyEval_GetFrame();
  Py_XINCREF(f);
  for (; skip && f; --skip) {
    PyFrameObject* back = PyFrame_GetBack(f);
    Py_DECREF(f);
    f = back;
  }
  *code = f ? PyFrame_GetCode(f) : NULL;
  Py_XDECREF(*code); /* the frame, which runs, keeps it */
  *instruction = f ? PyFrame_GetLineNumber(f) : 0;
  Py_XDECREF(f);
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
