/**
 * The port for sandboxes. Each adapter is an entry of its own (`sandbox/docker`, `sandbox/kubernetes`,
 * `sandbox/process`), so that a mesh loads only the one that it uses.
 */

export type { BrowserContainers, BrowserContainerState, BrowserSpec } from './browser-containers.ts'
export type {
  EnsurePackages,
  PackageImage,
  PackageImages,
  ResolvedFile,
  ResolvedPackages,
  ResolvePackages,
} from './package-images.ts'
export { packagesBom } from './packages-bom.ts'
export { lockDigest, packageLockSchema, packagesKey } from './package-lock.ts'
export type { PackageLock } from './package-lock.ts'
export type { ReportStep } from './report-step.ts'
export { reasonOf, SandboxError, sandboxWords } from './sandbox-error.ts'
export type {
  BesideAgents,
  Capacity,
  DataReading,
  DataUse,
  RungTrial,
  SandboxEnd,
  SandboxRuntime,
  SandboxState,
  SandboxUse,
} from './sandbox-runtime.ts'
export { agentSize, sandboxSizes, sizeMark } from './default-agent-sizes.ts'
export { besideAgents, fileCountMax, homeLabel, homeTag, sandboxHardening } from './sandbox-spec.ts'
export type { AgentSize } from './default-agent-sizes.ts'
export type { SandboxSpec } from './sandbox-spec.ts'
export type { WallReport } from './wall-report.ts'
