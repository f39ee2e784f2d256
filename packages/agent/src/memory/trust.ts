import type { Origin } from '@flotilla/protocol/origin'

/**
 * How far a fact may be believed: by the least trusted text that whoever saved it had read. `owner`: only an owner’s
 * words; `self`: the agent on its own account; `agent`: other agents, and people who are no owners; `outside`: anything that strangers can write.
 */
export const trustLevels = ['owner', 'self', 'agent', 'outside'] as const
export type Trust = (typeof trustLevels)[number]

export function isTrust(value: unknown): value is Trust {
  return trustLevels.some((level) => level === value)
}

/** Pure. Of nothing read: `owner`, since nobody has said anything else. */
export function leastTrusted(levels: readonly Trust[]): Trust {
  const ranks = levels.map((level) => trustLevels.indexOf(level))
  return trustLevels[Math.max(0, ...ranks)]! // ranks are places in the list
}

/** Pure. Whoever is not known is a stranger. */
export function trustOfOrigin(origin: Origin | null | undefined): Trust {
  switch (origin?.kind) {
    case 'human':
      if (origin.forwards === true) return 'outside'
      return origin.role === undefined ? 'owner' : 'agent'
    case 'system':
    case 'heartbeat':
      return 'self'
    case 'cron':
      // A job that an agent made says what that agent had read, from anywhere.
      if (origin.user?.startsWith('agent:') === true) return 'outside'
      // One that a person with a name made may be a member's, whose words are no owner's.
      return /^human:[^@]+@/.test(origin.user ?? '') ? 'agent' : 'self'
    case 'operator':
    case 'agent':
      return 'agent'
    case 'webhook':
    case 'watcher':
    case undefined:
      return 'outside'
  }
}

/** What the results of a tool are made of. A tool that is not here may bring anything from anywhere. */
const trustOfTools: Readonly<Record<string, Trust>> = {
  memory_save: 'self',
  memory_forget: 'self',
  update_workspace: 'self',
  save_observations: 'self',
  write_file: 'self',
  write_blackboard: 'self',
  notify_user: 'self',
  save_artifact: 'self',
  get_system_status: 'self',
  hand_off: 'self',
  declare_capabilities: 'self',
  complete_task: 'self',
  publish_signal: 'self',
  subscribe_topic: 'self',
  unsubscribe_topic: 'self',
  spawn_subagent: 'self',
  list_subagents: 'self',
  read_blackboard: 'agent',
  list_blackboard: 'agent',
  list_agents: 'agent',
  message_agent: 'agent',
  check_inbox: 'agent',
  list_artifacts: 'agent',
  read_signals: 'agent',
}

/** Their results say themselves, by a label, how far they can be believed. */
const labelled: readonly string[] = ['memory_search', 'wait_for_subagent']

/** Names that are believed here: no tool of anybody else's may have one, whether the agent is offered its own or not. */
export const believedNames: readonly string[] = [...Object.keys(trustOfTools), ...labelled]

/**
 * Pure. What a model has read in one result of a tool. Sub-agents bring the trust of what they have read. Facts from
 * memory bring the label that they were saved with,
 * so that nothing is washed clean by being saved and found again.
 */
export function trustOfResult(tool: string, output: string): Trust {
  if (!labelled.includes(tool)) return trustOfTools[tool] ?? 'outside'
  // Inside a JSON text every quote is escaped: only a label of ours reads like this.
  return leastTrusted(['self', ...trustLevels.filter((level) => output.includes(`"trust": "${level}"`))])
}
