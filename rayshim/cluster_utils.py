"""`ray.cluster_utils`."""

from rayshim.cli.cluster_of_program import AutoscalingCluster, Cluster, cluster_not_supported

__all__ = ["AutoscalingCluster", "Cluster", "cluster_not_supported"]
