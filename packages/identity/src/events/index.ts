/** The events of identity. */

export { createIdentityEvents, makerOf, rootOf } from './identity-events.ts'
export type { IdentityEvents, PersonNow, IdentityKernel } from './identity-events.ts'
