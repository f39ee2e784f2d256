/** What every module receives. */

export { createFirstUse } from './first-use.ts'
export type { FirstUse } from './first-use.ts'
export type { Kernel } from './kernel.ts'
export type { MeshModule } from './mesh-module.ts'
export type { Metric } from './metric.ts'
export { reachMaxMs } from './reach-max.ts'
