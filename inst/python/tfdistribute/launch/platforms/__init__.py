"""Managed platforms, which start and restart the tasks of a submitted job."""

from typing import Any

from tfdistribute.cluster.managed import KubernetesCluster, ManagedCluster, VertexCluster
from tfdistribute.launch.platforms.kubectl import Kubernetes
from tfdistribute.launch.platforms.platform import Platform
from tfdistribute.launch.platforms.vertex import Vertex

_PLATFORMS: dict[type[ManagedCluster], type[Platform[Any]]] = {
    KubernetesCluster: Kubernetes,
    VertexCluster: Vertex,
}


def platform_of(cluster: ManagedCluster) -> Platform[Any]:
    return _PLATFORMS[type(cluster)](cluster)
