/** The port for sandboxes, and its adapters. */

export type { BrowserContainers, BrowserContainerState, BrowserSpec } from './browser-containers.ts'
export { createDockerRuntime } from './docker-runtime.ts'
export { ensureBrowserImage } from './image/browser-image.ts'
export { inspectDataBound } from './docker/inspect-data.ts'
export { inspectShared } from './docker/inspect-shared.ts'
export { lostHomes } from './docker/lost-homes.ts'
export type { LostHome } from './docker/lost-homes.ts'
export { stopDockerHome } from './docker/stop-home.ts'
export { unusedInEngine } from './docker/unused-in-engine.ts'
export { inspectEngine } from './engine/ensure-engine.ts'
export { writeClusterImage } from './image/cluster-image.ts'
export { npmVersion } from './image/node-parts.ts'
export { dataFolderAgents } from './process/process-record.ts'
export { lookAtClusterLease, openClusterLease } from './kubernetes/cluster-lease.ts'
export { inspectCluster } from './kubernetes/inspect-cluster.ts'
export { stopKubernetesHome } from './kubernetes/stop-pods.ts'
export { createKubernetesRuntime } from './kubernetes-runtime.ts'
export { createProcessRuntime } from './process-runtime.ts'
export type { ReportStep } from './report-step.ts'
export { reasonOf, SandboxError, sandboxWords } from './sandbox-error.ts'
export type {
  DataReading,
  DataUse,
  RungTrial,
  SandboxEnd,
  SandboxRuntime,
  SandboxState,
  SandboxUse,
} from './sandbox-runtime.ts'
export { homeLabel, sandboxHardening, sandboxSizes } from './sandbox-spec.ts'
export type { SandboxSpec } from './sandbox-spec.ts'
export { fileCountMax } from './volume/file-count-max.ts'
export { listVolumes, profileVolumesFolder } from './volume/limited-volumes.ts'
export type { WallReport } from './wall-report.ts'
