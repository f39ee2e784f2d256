import type { BudgetView } from '@flotilla/protocol/money-api'
import type { QueuedRun } from '@flotilla/protocol/operator-api'
import type { RunView } from '@flotilla/protocol/run'
import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { Caller } from '@flotilla/identity/access'
import type { AgentRegistry } from '@flotilla/fleet/agents'
import type { Kernel } from '@flotilla/identity/kernel'
import type { RunQueries } from '@flotilla/work/runs'
import type { Spending } from '@flotilla/inference/spending'

/** Characters of a run's input and outcome that are shown, because the operator reads many at once. */
const shownMaxChars = 300

/** The operator's views of runs and budgets; its views of agents are in other files. */
export function createOperatorViews(
  { guard }: Pick<Kernel, 'guard'>,
  needs: {
    readonly agents: Pick<AgentRegistry, 'require'>
    readonly runs: Pick<RunQueries, 'list' | 'view'>
    readonly spending: Pick<Spending, 'budgets'>
  },
) {
  const { agents, runs, spending } = needs
  return {
    /** The agent's runs, newest first. Problem `unknown-agent`. */
    runsOf: (caller: Caller, agentId: string, limit: number): readonly QueuedRun[] => {
      guard(caller, { do: 'view-fleet' })
      agents.require(agentId)
      return runs.list({ agentId, limit }).map((run) => queuedRun(runs.view(run)))
    },
    budgets: (caller: Caller): readonly BudgetView[] => {
      guard(caller, { do: 'view-fleet' })
      return spending.budgets.list(caller)
    },
  }
}

export type OperatorViews = ReturnType<typeof createOperatorViews>

function queuedRun(run: RunView): QueuedRun {
  const { id, kind, origin, state, task_id, waiting_on, created_at, started_at, ended_at, cost_usd } = run
  return {
    id,
    kind,
    origin,
    state,
    task_id,
    waiting_on,
    created_at,
    started_at,
    ended_at,
    cost_usd,
    about: short(aboutOf(run)),
    outcome: run.outcome === null ? null : short(run.outcome.text),
  }
}

function aboutOf({ input }: RunView): string {
  switch (input.kind) {
    case 'chat':
    case 'heartbeat':
      return input.message
    case 'task':
      return input.task_id
    case 'tool':
      return input.tool
  }
}

function short(text: string): string {
  return truncatePromptText(sanitizeForPrompt(text), shownMaxChars, '…')
}
