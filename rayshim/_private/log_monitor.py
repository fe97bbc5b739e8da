"""`ray._private.log_monitor`: follows the log files of a directory and publishes their new lines. rayshim's own workers write none: their lines
go through pipes to the driver. It is for programs that follow files of their own with it."""

import glob
import os
import re
import time

WORKER_LOG_PATTERN = re.compile(r".*worker.*-([0-9a-f]+)-(\d+)")
RUNTIME_ENV_SETUP_PATTERN = re.compile(r".*runtime_env_setup-(\d+).log")
RAY_RUNTIME_ENV_LOG_TO_DRIVER_ENABLED = int(os.environ.get("RAY_RUNTIME_ENV_LOG_TO_DRIVER_ENABLED", "0"))
_AT_ONCE = 100  # lines of a file that are published together
_PAUSE = 0.1  # seconds between two looks


def is_proc_alive(pid):
    """Whether there is such a process."""
    return os.path.exists(f"/proc/{pid}")


class LogFileInfo:
    """A file that is followed, and how far it has been read."""

    def __init__(
        self,
        filename=None,
        size_when_last_opened=None,
        file_position=None,
        file_handle=None,
        is_err_file=False,
        job_id=None,
        worker_pid=None,
    ):
        assert filename is not None and size_when_last_opened is not None and file_position is not None  # noqa: S101  Ray's
        self.filename, self.size_when_last_opened, self.file_position = filename, size_when_last_opened, file_position
        self.file_handle, self.is_err_file, self.job_id, self.worker_pid = file_handle, is_err_file, job_id, worker_pid
        self.actor_name = self.task_name = None

    def reopen_if_necessary(self):
        """Begins at the start again if another file has taken the name, or the file was cut."""
        there, ours = os.stat(self.filename), os.fstat(self.file_handle.fileno())
        if there.st_ino == ours.st_ino and there.st_size >= self.file_position:
            return
        self.file_handle.close()
        self.file_handle = open(self.filename, "rb")  # noqa: SIM115  it is kept open
        self.file_position = 0


class LogMonitor:
    """Follows the files of `logs_dir` and gives `gcs_client.publish_logs` dicts with ip, pid, job, is_err, lines, actor_name, task_name."""

    def __init__(self, node_ip_address, logs_dir, gcs_client, is_proc_alive_fn, max_files_open=200, gcs_address=None):
        self.ip, self.logs_dir, self.publisher, self.is_proc_alive_fn = (
            node_ip_address,
            logs_dir,
            gcs_client,
            is_proc_alive_fn,
        )
        self.max_files_open, self.is_autoscaler_v2 = max_files_open, True
        self.log_filenames, self.open_file_infos, self.closed_file_infos = set(), [], []
        self.can_open_more_files = True

    def update_log_filenames(self):
        """Adds the workers' files that are new."""
        for path in glob.glob(f"{self.logs_dir}/worker*[.out|.err]"):
            if os.path.isfile(path) and path not in self.log_filenames:
                found = WORKER_LOG_PATTERN.match(path)
                self.log_filenames.add(path)
                self.closed_file_infos.append(
                    LogFileInfo(
                        path,
                        0,
                        0,
                        is_err_file=path.endswith("err"),
                        job_id=found and found.group(1),
                        worker_pid=int(found.group(2)) if found else None,
                    )
                )

    def open_closed_files(self):
        """Opens those that have grown since they were last read."""
        for info in list(self.closed_file_infos):
            if len(self.open_file_infos) >= self.max_files_open:
                self.can_open_more_files = False
                return
            if not os.path.exists(info.filename):
                self.closed_file_infos.remove(info)
            elif os.path.getsize(info.filename) > info.size_when_last_opened:
                info.file_handle = open(info.filename, "rb")  # noqa: SIM115  it is kept open
                info.file_handle.seek(info.file_position)
                info.size_when_last_opened = os.path.getsize(info.filename)
                self.closed_file_infos.remove(info)
                self.open_file_infos.append(info)
        self.can_open_more_files = True

    def check_log_files_and_publish_updates(self):
        """Publishes what is new in the open files. Whether there was anything."""
        any_new = False
        for info in self.open_file_infos:
            info.reopen_if_necessary()
            lines = []
            while len(lines) < _AT_ONCE and (line := info.file_handle.readline()):
                lines.append(line.decode(errors="replace").rstrip("\r\n"))
            info.file_position = info.file_handle.tell()
            if lines:
                any_new = True
                self.publisher.publish_logs(
                    {
                        "ip": self.ip,
                        "pid": info.worker_pid,
                        "job": info.job_id,
                        "is_err": info.is_err_file,
                        "lines": lines,
                        "actor_name": info.actor_name,
                        "task_name": info.task_name,
                    }
                )
        return any_new

    def run(self):
        """Does so for ever."""
        while True:
            self.update_log_filenames()
            self.open_closed_files()
            if not self.check_log_files_and_publish_updates():
                time.sleep(_PAUSE)
