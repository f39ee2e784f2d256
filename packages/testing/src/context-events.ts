import { createCollaborationEvents } from '../../collaboration/src/events/index.ts'
import { createEgressEvents } from '../../egress/src/events/index.ts'
import { createFleetEvents } from '../../fleet/src/events/index.ts'
import { silentLog } from '../../foundation/src/platform/log.ts'
import { createIdentityEvents } from '../../identity/src/events/index.ts'
import { createInferenceEvents } from '../../inference/src/events/index.ts'
import { createWorkEvents } from '../../work/src/events/index.ts'

export type ContextEvents = ReturnType<typeof contextEvents>

/** New events of every context, as the modules of a mesh receive them. */
export function contextEvents() {
  return {
    identityEvents: createIdentityEvents(),
    fleetEvents: createFleetEvents(silentLog),
    workEvents: createWorkEvents(),
    egressEvents: createEgressEvents(),
    inferenceEvents: createInferenceEvents(),
    collaborationEvents: createCollaborationEvents(),
  }
}
