/** The events of work. */

export { createWorkEvents, reasonToPause } from './work-events.ts'
export type { ChangedTask, ReturnedSteer, SettledRun, WorkKernel, WorkEvents } from './work-events.ts'
