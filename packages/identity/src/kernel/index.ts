/** What every module receives. */

export type { Kernel } from './kernel.ts'
export type { MeshModule } from './mesh-module.ts'
export type { Metric } from './metric.ts'
export { reachMaxMs } from './reach-max.ts'
