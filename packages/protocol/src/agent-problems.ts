import { reservedAgentIds } from './reserved-ids.ts'
import type { ProblemKind } from './problem-kind.ts'

/** What may be wrong with the agent that is meant; part of the one catalogue. */
export const agentProblems = {
  'unknown-agent': {
    status: 404,
    title: 'There is no such agent',
    retryable: false,
    repair: 'List the agents with flotilla status.',
  },
  'agent-archived': {
    status: 409,
    title: 'That agent is archived',
    retryable: false,
    repair: 'Give the work to another agent, or take this one back with flotilla unarchive.',
  },
  'agent-quarantined': {
    status: 503,
    title: 'That agent is in quarantine: it was started again too often',
    retryable: true,
    repair: 'Its work waits until it is well; flotilla restart tries it at once.',
  },
  'browser-unavailable': {
    status: 503,
    title: 'There is no browser for this agent now',
    retryable: true,
    repair:
      'Go on without it (http_request reads pages as text), or try again in a minute; the owner sees why with flotilla browser and flotilla doctor.',
  },
  'browsers-full': {
    status: 503,
    title: 'As many browsers are open as may be',
    retryable: true,
    repair:
      'Try again in some minutes, or go on without it; idle ones close by themselves, and the owner sets how many there may be by browser.max_live in config/settings.json.',
  },
  'spawn-refused': {
    status: 409,
    title: 'No further agent can be made for you now',
    retryable: true,
    repair:
      'Wait until one that was made for you has ended; the owner sets how many there may be by spawning in config/settings.json.',
  },
  'reserved-agent-id': {
    status: 400,
    title: 'That agent id is reserved',
    retryable: false,
    repair: `Choose another id in the field id; ${reservedAgentIds.slice(0, -1).join(', ')} and ${reservedAgentIds.at(-1)} are taken (flotilla status shows who is there).`,
  },
} as const satisfies Record<string, ProblemKind>
