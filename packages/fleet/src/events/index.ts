/** The events of the fleet. */

export { createFleetEvents } from './fleet-events.ts'
export type { FleetEvents, SandboxGone, FleetKernel, WorkFeedback } from './fleet-events.ts'
