/** The clock, chance, the log, the version. */

export { createLog, silentLog } from './log.ts'
export type { Log } from './log.ts'
export { freshBytes, loopCpuMs, randomChance, randomId, randomToken, systemClock } from './system-clock.ts'
export { productVersion } from './version.ts'
