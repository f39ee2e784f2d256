import { createAwaitedNotice, createDomainEvent, createQuestion } from '@flotilla/foundation/events'
import type { AwaitedEvent, DomainEvent, Question } from '@flotilla/foundation/events'
import { spawnedPrefix } from '@flotilla/protocol/ids'
import type { Action, Caller, HumanCaller, Membership } from '../access/index.ts'
import type { Kernel } from '../kernel/index.ts'

/** The current permissions of a person, from the people file. */
export type PersonNow = Pick<HumanCaller, 'role' | 'agents'>

/** The events that identity publishes about callers and people, and the questions that it asks about agents. */
export interface IdentityEvents {
  /** Published once the people file no longer names a person, so that contexts clean up what belongs to them. */
  readonly personLeft: AwaitedEvent<string>
  /** Published by the guard for every refusal. Only for counts; no decision may depend on it. */
  readonly callDenied: DomainEvent<{ readonly caller: Caller; readonly action: Action }>
  /** Asked for decisions about an agent: its parent, if another agent spawned it. */
  readonly makersOf: Question<string, string>
  /** Asked by the guard: the project of an agent, from its row. */
  readonly projectOf: Question<string, Membership>
  /**
   * Asked before work starts later on behalf of a person: their current permissions, or no answer for a removed
   * person. Throws the problem `unprocessable` while this cannot be determined.
   */
  readonly personOf: Question<string, PersonNow>
}

/** What modules that use these events receive: the kernel, with the events of contexts below. */
export interface IdentityKernel extends Kernel {
  readonly identityEvents: IdentityEvents
}

export function createIdentityEvents(): IdentityEvents {
  return {
    personLeft: createAwaitedNotice(),
    callDenied: createDomainEvent(),
    makersOf: createQuestion(),
    projectOf: createQuestion(),
    personOf: createQuestion(),
  }
}

/** The agent that spawned this one, or null. */
export function makerOf({ makersOf }: Pick<IdentityEvents, 'makersOf'>, agentId: string): string | null {
  return agentId.startsWith(spawnedPrefix) ? (makersOf.ask(agentId)[0] ?? null) : null
}

/** The root ancestor of an agent; what the owner set for it applies to all its descendants. */
export function rootOf(events: Pick<IdentityEvents, 'makersOf'>, agentId: string): string {
  const maker = makerOf(events, agentId)
  return maker === null || maker === agentId ? agentId : rootOf(events, maker)
}
