"""Jobs of a session that outlives its drivers (`rayshim start --head`)."""

from rayshim.jobs.client import JobSubmissionClient
from rayshim.jobs.types import DriverInfo, JobDetails, JobErrorType, JobInfo, JobStatus, JobType

__all__ = ["DriverInfo", "JobDetails", "JobErrorType", "JobInfo", "JobStatus", "JobSubmissionClient", "JobType"]
