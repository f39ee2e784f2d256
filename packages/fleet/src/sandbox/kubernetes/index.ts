/** Agents as pods of a cluster. Loaded by meshes and commands whose agents run in one. */

export { lookAtClusterLease, openClusterLease } from './cluster-lease.ts'
export { inspectCluster } from './inspect-cluster.ts'
export { createKubernetesRuntime } from './kubernetes-runtime.ts'
export { stopKubernetesHome } from './stop-pods.ts'
