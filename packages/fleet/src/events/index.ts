/** The events of the fleet. */

export { createFleetEvents } from './fleet-events.ts'
export type { FleetEvents, ProgramSetup, SandboxGone, FleetKernel, WorkFeedback } from './fleet-events.ts'
