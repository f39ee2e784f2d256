import { upTo } from '@flotilla/protocol/up-to'
import type { MeshClient } from '@flotilla/client/mesh-client'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { RunView } from '@flotilla/protocol/run'
import type { TaskView } from '@flotilla/protocol/task'
import { wordsOfMessage } from '@flotilla/protocol/chat-attachments'
import { describeWebhookMessage } from '@flotilla/protocol/webhook-message'
import { oneLine } from '../terminal/color.ts'
import { formatDuration, formatTime, formatUsd } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

/**
 * Agents as a table of lines, with the error that keeps an agent from running, else with what its start waits for, else
 * with the error of its newest run in `failed`, newest first. Pure except for the width of the terminal.
 */
export function agentRows(
  agents: readonly AgentView[],
  { failed, now }: { readonly failed: readonly RunView[]; readonly now: number },
): string[] {
  return renderTable(
    [
      { title: 'AGENT' },
      { title: 'KIND' },
      { title: 'STATE' },
      { title: 'QUEUED', align: 'right' },
      { title: 'WAITING', align: 'right' },
      { title: 'TODAY', align: 'right' },
      { title: 'OF', align: 'right' },
      { title: 'MODEL' },
      { title: 'NOTES', columnsMax: 60 },
    ],
    agents.map((agent) => [
      agent.id,
      agent.kind,
      stateOf(agent),
      `${agent.queued}`,
      `${agent.waiting}`,
      formatUsd(agent.cost_today_usd),
      formatUsd(agent.budget.daily_usd),
      agent.model,
      oneLine(agent.last_error ?? agent.waits_for ?? lastFailure(agent, failed, now), 200),
    ]),
  )
}

/** Says when and why the newest failed run of an agent failed; empty without one. Pure. */
function lastFailure({ id }: AgentView, failed: readonly RunView[], now: number): string {
  const run = failed.find((one) => one.agent_id === id)
  if (run?.ended_at == null || run.outcome === null) return ''
  const { code, text } = run.outcome
  return `${formatDuration(Math.max(0, now - run.ended_at))} ago, ${code === undefined ? '' : `${code}: `}${text}`
}

/** The state of an agent in a word or two. An idle agent is shown as asleep, since no person stopped it. */
export function stateOf(agent: AgentView): string {
  const parts = [
    agent.state === 'stopped' || agent.state === 'hibernated' ? 'asleep' : agent.state,
    agent.busy ? 'working' : '',
    agent.paused === null ? '' : 'paused',
  ]
  return parts.filter((word) => word !== '').join(', ')
}

export function runRows(runs: readonly RunView[], titles?: TaskTitles): string[] {
  return renderTable(
    [
      { title: 'RUN' },
      { title: 'AGENT' },
      { title: 'KIND' },
      { title: 'STATE' },
      { title: 'TIME', align: 'right' },
      { title: 'TOKENS', align: 'right' },
      { title: 'COST', align: 'right' },
      { title: 'ABOUT' },
    ],
    runs.map((run) => [
      run.id,
      run.agent_id,
      run.kind,
      describeState(run),
      run.started_at === null || run.ended_at === null ? '' : formatDuration(run.ended_at - run.started_at),
      upTo(`${run.tokens_used}`, run.unconfirmed_tokens),
      upTo(formatUsd(run.cost_usd), run.unconfirmed_usd),
      aboutRun(run, titles),
    ]),
  )
}

/** The state with the code of its problem, if this says more. */
function describeState({ state, outcome }: RunView): string {
  const code = outcome?.code
  return code === undefined || code === state ? state : `${state}: ${code}`
}

/** Titles of tasks by their ids. */
export type TaskTitles = ReadonlyMap<string, string>

/** Returns the titles of the tasks of these runs, as far as they are among the newest tasks. */
export async function titlesOf(
  client: MeshClient,
  request: {
    readonly runs: readonly RunView[]
    readonly agent?: string
    readonly limit: number
    readonly signal?: AbortSignal
  },
): Promise<TaskTitles> {
  const { runs: listed, agent, limit } = request
  if (listed.every(({ input }) => input.kind !== 'task')) return new Map()
  const query = { limit, ...(agent === undefined ? {} : { agent }) }
  const { tasks } = await client.call('tasks', {
    query,
    ...(request.signal ? { signal: request.signal } : {}),
  })
  return new Map(tasks.map(({ id, title }) => [id, title]))
}

/** Describes the subject of a run on one line. */
// oxlint-disable-next-line typescript/consistent-return -- the switch is exhaustive, which tsc checks
export function aboutRun(run: RunView, titles: TaskTitles = new Map()): string {
  const { input } = run
  switch (input.kind) {
    case 'chat':
      return oneLine(
        (run.origin.kind === 'webhook' ? describeWebhookMessage(input.message) : null) ??
          wordsOfMessage(input.message),
        50,
      )
    // A heartbeat's message is not shown, because it begins with the same rules each time.
    case 'heartbeat':
      return 'looks around'
    case 'task':
      return oneLine(titles.get(input.task_id) ?? input.task_id, 50)
    case 'tool':
      return oneLine(`${input.tool} ${JSON.stringify(input.params)}`, 50)
  }
}

export function taskRows(tasks: readonly TaskView[]): string[] {
  return renderTable(
    [
      { title: 'TASK' },
      { title: 'FROM' },
      { title: 'TO' },
      { title: 'STATE' },
      { title: 'CREATED (UTC)' },
      { title: 'TITLE' },
      { title: 'SUMMARY', columnsMax: 60 },
    ],
    tasks.map((task) => [
      task.id,
      task.creator,
      task.assignee,
      task.state,
      formatTime(task.created_at),
      oneLine(task.title, 40),
      oneLine(task.summary ?? '', 200),
    ]),
  )
}
