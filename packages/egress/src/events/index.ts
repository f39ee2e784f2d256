/** The events of egress. */

export { createEgressEvents } from './egress-events.ts'
export type { EgressEvents, EgressKernel } from './egress-events.ts'
