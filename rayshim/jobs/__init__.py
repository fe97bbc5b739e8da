"""Jobs: programs that are submitted to a session (`rayshim start --head`) and run beside it. Ray's API, over HTTP on this machine."""
