/** The events of collaboration. */

export { createCollaborationEvents } from './collaboration-events.ts'
export type { CollaborationEvents, CollaborationKernel } from './collaboration-events.ts'
