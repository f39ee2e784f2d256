import { createDomainEvent } from '@flotilla/foundation/events'
import type { DomainEvent } from '@flotilla/foundation/events'
import type { Caller } from '@flotilla/identity/access'
import type { WorkKernel } from '@flotilla/work/events'

/** The events that egress publishes. */
export interface EgressEvents {
  /** A message of an agent to the owner, published in the transaction of the request that it reports. */
  readonly agentNotedOwner: DomainEvent<{ readonly caller: Caller; readonly message: string }>
}

/** What modules that use these events receive: the kernel, with the events of contexts below. */
export interface EgressKernel extends WorkKernel {
  readonly egressEvents: EgressEvents
}

export function createEgressEvents(): EgressEvents {
  return { agentNotedOwner: createDomainEvent() }
}
