"""The caller's side of a call: remote functions, actor classes, handles, options and refs."""
