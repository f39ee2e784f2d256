/** Agents in containers of an engine, and what an engine keeps for a home. Loaded by meshes and commands that use one. */

export { inspectEngine } from '../engine/ensure-engine.ts'
export { ensureBrowserImage } from '../image/browser-image.ts'
export { writeClusterImage } from '../image/cluster-image.ts'
export { npmVersion } from '../image/node-parts.ts'
export { listVolumes, profileVolumesFolder } from '../volume/limited-volumes.ts'
export { createDockerRuntime } from './docker-runtime.ts'
export { inspectDataBound } from './inspect-data.ts'
export { inspectShared } from './inspect-shared.ts'
export { lostHomes } from './lost-homes.ts'
export type { LostHome } from './lost-homes.ts'
export { stopDockerHome } from './stop-home.ts'
export { unusedInEngine } from './unused-in-engine.ts'
