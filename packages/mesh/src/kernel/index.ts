/** What every module is given, and what one is told of another. */

export { createHooks, reasonToPause } from './hooks.ts'
export type { Hooks, SandboxGone, SettledRun } from './hooks.ts'
export type { Kernel } from './kernel.ts'
export type { MeshModule } from './mesh-module.ts'
export type { Metric } from './metric.ts'
