import { reservedAgentIds } from './reserved-ids.ts'
import type { ProblemKind } from './problem-kind.ts'

/** Problems of the agent that a request addresses; part of the one catalogue. */
export const agentProblems = {
  'unknown-agent': {
    status: 404,
    title: 'The agent does not exist',
    retryable: false,
    repair: 'List the agents with flotilla status.',
  },
  'agent-archived': {
    status: 409,
    title: 'The agent is archived',
    retryable: false,
    repair: 'Give the work to another agent, or restore this one with flotilla unarchive.',
  },
  'agent-quarantined': {
    status: 503,
    title: 'The agent is quarantined: it was restarted too often',
    retryable: true,
    repair:
      'Its work waits until the agent is healthy again. To start the agent now: flotilla restart AGENT.',
  },
  'packages-unavailable': {
    status: 503,
    title: 'The image of the agent cannot be made',
    retryable: false,
    repair:
      'Correct agents.AGENT.packages or agents.AGENT.image in config/settings.json, then: flotilla restart AGENT. The detail names the package, the registry or the reason.',
  },
  'packages-delayed': {
    status: 503,
    title: 'The image of the agent cannot be made now',
    retryable: true,
    repair:
      'Its work waits, and the mesh tries again. The detail names what does not answer: a registry, or the container engine, which flotilla doctor checks.',
  },
  'machine-full': {
    status: 503,
    title: 'The agent waits for memory of this machine',
    retryable: true,
    repair:
      'Its work waits until other agents end or hibernate. To free memory now: flotilla hibernate AGENT for one that the detail names.',
  },
  'size-unavailable': {
    status: 503,
    title: 'The machine is too small for the size of the agent',
    retryable: false,
    repair: 'Reduce agents.AGENT.size in config/settings.json, then: flotilla restart AGENT.',
  },
  'browser-unavailable': {
    status: 503,
    title: 'No browser is available for this agent',
    retryable: true,
    repair:
      'Continue without the browser (http_request reads pages as text), or retry in a minute; flotilla browser and flotilla doctor show the owner why.',
  },
  'browsers-full': {
    status: 503,
    title: 'The maximum number of browsers is open',
    retryable: true,
    repair:
      'Retry in a few minutes, or continue without a browser. Idle browsers close automatically; browser.max_live in config/settings.json sets the maximum.',
  },
  'spawn-refused': {
    status: 409,
    title: 'No more agents can be spawned now',
    retryable: true,
    repair:
      'Wait until one of your spawned agents has ended; spawning in config/settings.json sets the maximum.',
  },
  'reserved-agent-id': {
    status: 400,
    title: 'The agent id is reserved',
    retryable: false,
    repair: `Choose another id in the field id; ${reservedAgentIds.slice(0, -1).join(', ')} and ${reservedAgentIds.at(-1)} are reserved, and flotilla status lists the ids in use.`,
  },
} as const satisfies Record<string, ProblemKind>
