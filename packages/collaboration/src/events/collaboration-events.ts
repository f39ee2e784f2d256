import { createDomainEvent } from '@flotilla/foundation/events'
import type { DomainEvent } from '@flotilla/foundation/events'
import type { EgressKernel } from '@flotilla/egress/events'

/** The events that collaboration publishes about files and projects. */
export interface CollaborationEvents {
  /** Published in the transaction of the file's row; `runId` is null if the agent saved it outside a run. */
  readonly artifactSaved: DomainEvent<{
    readonly agentId: string
    readonly name: string
    readonly runId: string | null
  }>
  /** Published in the transaction that deletes the project, so that modules delete its data. */
  readonly projectDeleted: DomainEvent<string>
}

/** What modules that use these events receive: the kernel, with the events of contexts below. */
export interface CollaborationKernel extends EgressKernel {
  readonly collaborationEvents: CollaborationEvents
}

export function createCollaborationEvents(): CollaborationEvents {
  return { artifactSaved: createDomainEvent(), projectDeleted: createDomainEvent() }
}
