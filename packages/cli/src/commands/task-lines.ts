import { isUnconfirmed } from '@flotilla/protocol/task-actions'
import type { TaskDetailView } from '@flotilla/protocol/task-api'
import { oneLine } from '../terminal/color.ts'
import { formatTime, formatUsd } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

const wordsMax = 300

/** Formats one task for people. Pure. */
export function taskLines({ task, history, children }: TaskDetailView): string[] {
  const facts: [string, string | null][] = [
    [
      'task',
      `${task.id}, ${task.state}${task.blocked_by === null ? '' : ` (${task.blocked_by})`}${isUnconfirmed(task) ? ' (unconfirmed)' : ''}`,
    ],
    ['title', task.title],
    ['from', task.creator],
    ['to', task.assignee],
    ['project', task.project],
    ['waits for', task.waits_for],
    ['part of', task.parent_task_id],
    ['rework of', task.previous_task_id],
    ['needs', listOf(task.needs)],
    ['handed on', listOf(children)],
    ['files', listOf(task.artifacts.map((one) => `${one.agent_id}/${one.name}`))],
    ['caps', capsOf(task)],
    ['progress', task.progress],
    ['summary', task.summary],
    ['result', task.result === null ? null : JSON.stringify(task.result)],
    ['verdict', verdictOf(task)],
  ]
  const rows = facts.flatMap(([name, value]) =>
    value === null || value === '' ? [] : [[name, oneLine(value, wordsMax)]],
  )
  const steps = history.map(({ at, actor, action, state, words }) => [
    formatTime(at),
    actor,
    action,
    state,
    oneLine(words, wordsMax),
  ])
  return [
    ...renderTable([{ title: 'WHAT' }, { title: 'IS' }], rows),
    '',
    ...renderTable(
      [{ title: 'WHEN (UTC)' }, { title: 'WHO' }, { title: 'DID' }, { title: 'STATE' }, { title: 'WORDS' }],
      steps,
    ),
  ]
}

function listOf(names: readonly string[]): string | null {
  return names.length === 0 ? null : names.join(', ')
}

function capsOf({ max_turns, max_cost_usd, max_tokens }: TaskDetailView['task']): string | null {
  return listOf([
    ...(max_cost_usd === null ? [] : [formatUsd(max_cost_usd)]),
    ...(max_turns === null ? [] : [`${max_turns} answers of the model`]),
    ...(max_tokens === null ? [] : [`${max_tokens} tokens`]),
  ])
}

function verdictOf({ outcome, outcome_by, feedback }: TaskDetailView['task']): string | null {
  if (outcome === null) return null
  return `${outcome} by ${outcome_by ?? 'unknown'}${feedback ? `: ${feedback}` : ''}`
}
