import { findToolName } from '@flotilla/protocol/findable-tools'
import type { Origin } from '@flotilla/protocol/origin'

/**
 * How far a fact can be trusted: by the least trusted text that its author had read. `owner`: only an owner’s
 * words; `self`: the agent itself; `agent`: other agents, and people who are not owners; `outside`: anything
 * that strangers can write.
 */
export const trustLevels = ['owner', 'self', 'agent', 'outside'] as const
export type Trust = (typeof trustLevels)[number]

export function isTrust(value: unknown): value is Trust {
  return trustLevels.some((level) => level === value)
}

/** Pure. `owner` for an empty list, because no other text was read. */
export function leastTrusted(levels: readonly Trust[]): Trust {
  const ranks = levels.map((level) => trustLevels.indexOf(level))
  return trustLevels[Math.max(0, ...ranks)]! // ranks are places in the list
}

/** Returns the trust of a run's message by its origin; an unknown origin counts as a stranger. Pure. */
export function trustOfOrigin(origin: Origin | null | undefined): Trust {
  switch (origin?.kind) {
    case 'human':
      if (origin.forwards === true) return 'outside'
      return origin.role === undefined ? 'owner' : 'agent'
    case 'system':
    case 'heartbeat':
      return 'self'
    case 'cron':
      // A job that an agent created contains text from anything that agent had read.
      if (origin.user?.startsWith('agent:') === true) return 'outside'
      // A job created by a named person may be a member's, who is not an owner.
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

/** The trust of a tool's results. A tool that is not listed may return anything from anywhere. */
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

/** Their results carry a trust label. */
const labelled: readonly string[] = ['memory_search', 'wait_for_subagent', findToolName]

/** Trusted names: no tool of an MCP server may use one, whether the agent is offered its own tool or not. */
export const believedNames: readonly string[] = [...Object.keys(trustOfTools), ...labelled]

/**
 * Pure. The trust of what a model has read in one tool result. Sub-agents pass on the trust of what they have read.
 * Facts from memory keep the label that they were saved with, so that saving and finding text never raises its trust.
 */
export function trustOfResult(tool: string, output: string): Trust {
  if (!labelled.includes(tool)) return trustOfTools[tool] ?? 'outside'
  // Inside a JSON string every quote is escaped, so only a genuine label has this form.
  return leastTrusted(['self', ...trustLevels.filter((level) => output.includes(`"trust": "${level}"`))])
}
