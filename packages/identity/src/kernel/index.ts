/** What every module receives, and the hooks between modules. */

export { createHook } from './hook.ts'
export type { Hook } from './hook.ts'
export { createHooks, makerOf, reasonToPause, rootOf } from './hooks.ts'
export type {
  ChangedTask,
  Hooks,
  PersonNow,
  SandboxGone,
  SetThing,
  SettledRun,
  WorkFeedback,
} from './hooks.ts'
export type { Kernel } from './kernel.ts'
export type { MeshModule } from './mesh-module.ts'
export type { Metric } from './metric.ts'
export { reachMaxMs } from './reach-max.ts'
