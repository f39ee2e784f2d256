import { joinPromptText, sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { KeptMessages } from '@flotilla/collaboration/messages'
import type { UnreadSummary } from '@flotilla/collaboration/topics'
import type { FleetChange } from './fleet-changes.ts'
import type { TaskTable } from '@flotilla/work/tasks'

/** The disk probe reports a disk of which more than this share is used, in percent. */
const diskThresholdPercent = 85 // limits:disk-probe

/** The number of open tasks that a heartbeat lists; further tasks are only counted. */
const namedMax = 5

/** Open hand-offs to an agent: their number and the newest ones. */
export interface OpenTasks {
  readonly count: number
  readonly newest: readonly {
    readonly id: string
    readonly title: string
    readonly creator: string
    readonly state: string
  }[]
}

/** Creates the function that reads an agent's open tasks from the table of tasks. */
export function createOpenTasks(
  table: Pick<TaskTable, 'openOf' | 'openCount'>,
): (agentId: string) => OpenTasks {
  return (agentId) => ({ count: table.openCount(agentId), newest: table.openOf(agentId, namedMax) })
}

export interface ProbeFacts {
  /** The used share of the /data limit in percent; null if unknown. */
  readonly diskUsedPercent: number | null
  readonly signals: UnreadSummary
  readonly tasks: OpenTasks
  readonly messages: KeptMessages
  /** The changes of the fleet, for the operator; empty for a worker. */
  readonly changes: readonly FleetChange[]
}

export interface ProbeAlert {
  readonly probe: 'disk_usage' | 'pending_signals' | 'pending_tasks' | 'pending_messages' | 'fleet_changes'
  readonly text: PromptText
}

/** Runs the built-in probes in their order and returns the alerts of probes with a finding. Pure. */
export function runProbes({
  diskUsedPercent,
  signals,
  tasks,
  messages,
  changes,
}: ProbeFacts): readonly ProbeAlert[] {
  const alerts: ProbeAlert[] = []
  const threshold = diskThresholdPercent
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

export function alertLines(alerts: readonly ProbeAlert[]): PromptText {
  return joinPromptText(
    alerts.map(({ text }) => sanitizeForPrompt(`- ${text}`)),
    '\n',
  )
}
