/** The events of work. */

export { createWorkEvents, reasonToPause } from './work-events.ts'
export type { ChangedTask, SettledRun, WorkKernel, WorkEvents } from './work-events.ts'
