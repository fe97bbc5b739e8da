"""`ray.dashboard.modules.job.sdk`: JobSubmissionClient under the name of its module in Ray, from where programs import it."""

from rayshim.jobs.client import JobSubmissionClient
from rayshim.jobs.types import JobDetails, JobStatus

__all__ = ["JobDetails", "JobStatus", "JobSubmissionClient"]
