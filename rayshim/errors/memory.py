"""The text of an error about memory that ran out."""

from rayshim.errors.address import get_node_ip_address

_DOCS = "https://docs.ray.io/en/latest/ray-observability/user-guides/debug-apps/debug-memory.html"


def out_of_memory(facts):
    """The text of the error: the use of memory, the killed workers, and the remedy. In Ray's words, as far as they are true. `facts`: as in `death_texts.exception`."""
    memory, actor = facts["memory"], facts["actor"]
    used, total, limit = memory["used"], memory["total"], memory["limit"]
    ended = "\n".join(
        f"Selected to kill: ({title}: pid={pid}, actual memory used={_gigabytes(size)})"
        for pid, size, title, _ in memory["ended"]
    )
    largest = "\n".join(f"{pid}\t{_gigabytes(size)}\t{title[:100]}" for pid, size, title in memory["largest"])
    remedy = ""
    if not all(has_retries for *_, has_retries in memory["ended"]):
        options = "max_restarts and max_task_retries" if actor else "max_retries"
        remedy = f"Set {options} to enable retry when the task crashes due to OOM. "
    return (
        f"{len(memory['ended'])} worker(s) were killed due to the node running low on memory. Memory on the node (IP: {get_node_ip_address()}) was "
        f"{_gigabytes(used)} used / {_gigabytes(total)} limit ({used / total:f})\n"
        f"OOM kill reason: Memory usage {used}B exceeded threshold of {limit}B ({100 * limit / total:.1f}% of {total}B limit)\n"
        f"{ended}\n"
        f"Top {len(memory['largest'])} memory users: PID\tMEM\tCOMMAND\n{largest}\n"
        f"Refer to the documentation on how to address the out of memory issue: {_DOCS}. Use less memory, or run fewer tasks at a time by requesting "
        f"more CPUs per task. {remedy}To adjust the kill threshold, set the environment variable `RAY_memory_usage_threshold` before init. To "
        "disable worker killing, set the environment variable `RAY_memory_monitor_refresh_ms` to zero."
    )


def _gigabytes(size):
    return f"{size / 2**30:.2f}GB"
