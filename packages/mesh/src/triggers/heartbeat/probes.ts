import { limits } from '@flotilla/protocol/limits'
import { joinPromptText, sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { KeptMessages } from '../../collaboration/messages/index.ts'
import type { UnreadSummary } from '../../collaboration/topics/index.ts'
import type { FleetChange } from './fleet-changes.ts'
import type { TaskTable } from '../../tasks/index.ts'

/** Open tasks that a heartbeat names. */
const namedMax = 5

/** Hand-offs to an agent that nobody has closed: how many, and the newest of them. */
export interface OpenTasks {
  readonly count: number
  readonly newest: readonly {
    readonly id: string
    readonly title: string
    readonly creator: string
    readonly state: string
  }[]
}

/** From the store that hand-offs are kept in. */
export function createOpenTasks(
  table: Pick<TaskTable, 'openOf' | 'openCount'>,
): (agentId: string) => OpenTasks {
  return (agentId) => ({ count: table.openCount(agentId), newest: table.openOf(agentId, namedMax) })
}

export interface ProbeFacts {
  /** Of what the agent may keep below /data; null where it cannot be told. */
  readonly diskUsedPercent: number | null
  readonly signals: UnreadSummary
  readonly tasks: OpenTasks
  readonly messages: KeptMessages
  /** Of the fleet, for its operator; none for a worker. */
  readonly changes: readonly FleetChange[]
}

export interface ProbeAlert {
  readonly probe: 'disk_usage' | 'pending_signals' | 'pending_tasks' | 'pending_messages' | 'fleet_changes'
  readonly text: PromptText
}

/** Pure. The built-in probes, in their order; one that has nothing to say is left out. */
export function runProbes({
  diskUsedPercent,
  signals,
  tasks,
  messages,
  changes,
}: ProbeFacts): readonly ProbeAlert[] {
  const alerts: ProbeAlert[] = []
  const threshold = limits.diskProbeThresholdPercent
  if (diskUsedPercent !== null && diskUsedPercent > threshold) {
    const text = `disk_usage: ${diskUsedPercent} % of what you may keep below /data is used (alert above ${threshold} %).`
    alerts.push({ probe: 'disk_usage', text: sanitizeForPrompt(text) })
  }
  if (signals.count > 0) {
    const text = `pending_signals: ${counted(signals.count, 'unread signal')}.`
    alerts.push({ probe: 'pending_signals', text: sanitizeForPrompt(text) })
  }
  if (tasks.count > 0) {
    const text = `pending_tasks: ${counted(tasks.count, 'open task')} given to you.`
    alerts.push({ probe: 'pending_tasks', text: sanitizeForPrompt(text) })
  }
  if (messages.count > 0) {
    const text = `pending_messages: ${counted(messages.count, 'message')} of agents that began no work.`
    alerts.push({ probe: 'pending_messages', text: sanitizeForPrompt(text) })
  }
  const worse = changes.filter((change) => change.worse).length
  if (worse > 0) {
    const text = `fleet_changes: ${counted(worse, 'change')} in the fleet to look at.`
    alerts.push({ probe: 'fleet_changes', text: sanitizeForPrompt(text) })
  }
  return alerts
}

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`
}

/** Pure. */
export function alertLines(alerts: readonly ProbeAlert[]): PromptText {
  return joinPromptText(
    alerts.map(({ text }) => sanitizeForPrompt(`- ${text}`)),
    '\n',
  )
}
