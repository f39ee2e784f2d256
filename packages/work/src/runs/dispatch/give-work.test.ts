import { taskAssignmentSchema } from '@flotilla/protocol/task'
import { expect, test } from 'vitest'
import { verifies } from '../../../../../tests/verifies.ts'
import type { AgentConnection } from '../../../../fleet/src/agents/connection/agent-connection.ts'
import { createFakeAgents } from '../../../../testing/src/fake-agents.ts'
import { aLedgerHarness, person } from '../../../../testing/src/ledger-harness.ts'
import { ticketFor } from '../ledger/live-runs.ts'
import type { RunTasks } from '../ledger/run-tasks.ts'
import { taskAssignment } from './give-work.ts'

test('an assignee gets a complete TaskAssignment under the fencing token of its run', async () => {
  verifies('resources:task-assignment:fields')
  const agents = createFakeAgents()
  const assignments: unknown[] = []
  const { ensureRunning } = agents
  agents.ensureRunning = async (agentId, signal): Promise<AgentConnection> => {
    const connection = await ensureRunning(agentId, signal)
    const task: AgentConnection['task'] = (assignment, taskSignal) => {
      assignments.push(assignment)
      return connection.task(assignment, taskSignal)
    }
    return { ...connection, task }
  }
  const harness = aLedgerHarness({ agents })
  harness.ledger.start()
  harness.chat('operator')
  await harness.clock.settle()
  const work = { to: 'worker', title: 'count', description: 'all', data: { file: 'a.json' } }
  const given = harness.handOff(harness.callerOf('operator'), work)
  await harness.clock.settle()
  expect(assignments.map((assignment) => taskAssignmentSchema.parse(assignment))).toEqual([
    {
      task_id: given.task_id,
      run_id: given.run_id,
      fence: 1,
      task_type: 'hand_off',
      input_data: { title: 'count', description: 'all', data: { file: 'a.json' } },
      context: { creator: 'operator', session: `task:${given.task_id}` },
      timeout_s: 14_400,
      max_retries: 2,
      token_budget: null,
      origin: { kind: 'operator', channel: 'agent', user: 'operator' },
    },
  ])
  await harness.ledger.close()
})

test.each([
  [
    'what the hand-off says',
    null,
    { max_tokens: 900, max_cost_usd: 0.5 },
    { max_tokens: 900, max_cost_usd: 0.5 },
  ],
  ['the cap of the run that asks', 0.2, null, { max_tokens: null, max_cost_usd: 0.2 }],
  ['the lower of both', 0.2, { max_tokens: 900, max_cost_usd: 0.5 }, { max_tokens: 900, max_cost_usd: 0.2 }],
])('the token budget of an assignment is %s', async (...[, runUsd, asked, told]) => {
  const harness = aLedgerHarness()
  harness.ledger.start()
  const input = { kind: 'chat', message: 'hello', session: 'main' } as const
  harness.ledger.queue.submitRun(person, { agentId: 'operator', input, budgetUsd: runUsd })
  await harness.clock.settle()
  const work = { to: 'worker', title: 'count', description: 'all', data: {}, tokenBudget: asked }
  const given = harness.handOff(harness.callerOf('operator'), work)
  const run = harness.ledger.queries.find(given.run_id)!
  const tasks = { work: () => ({ inputData: {}, context: {} }) }
  expect(taskAssignment(run, tasks as unknown as RunTasks)?.token_budget).toEqual(told)
  // The model gateway enforces the same limits.
  expect(ticketFor(run)).toMatchObject({ budgetTokens: told.max_tokens, budgetUsd: told.max_cost_usd })
  await harness.ledger.close()
})

test('work handed off by a limited run is subject to the limits of all its ancestors', async () => {
  const harness = aLedgerHarness()
  harness.ledger.start()
  const input = { kind: 'chat', message: 'hello', session: 'main' } as const
  const top = harness.ledger.queue.submitRun(person, {
    agentId: 'operator',
    input,
    budgetUsd: 0.2,
    budgetTokens: 900,
  })
  await harness.clock.settle()
  const work = { to: 'worker', title: 'count', description: 'all', data: {}, tokenBudget: null }
  const { run_id: below } = harness.handOff(harness.callerOf('operator'), work)
  await harness.clock.settle()
  const { fence } = harness.ledger.queries.find(below)!
  expect(harness.ledger.lifecycle.live.ticketOf(below, fence).capsAbove).toEqual([
    { runId: top.id, budgetUsd: 0.2, budgetTokens: 900 },
  ])
  expect(harness.ledger.queries.treeOf(top.id).toSorted()).toEqual([top.id, below].toSorted())
  expect(harness.ledger.queries.treeOf(below)).toEqual([below])
  await harness.ledger.close()
})

test('a later turn of a task gets its budget and what it and its descendants have used', async () => {
  const agents = createFakeAgents()
  const turns: unknown[] = []
  const { ensureRunning } = agents
  agents.ensureRunning = async (agentId, signal): Promise<AgentConnection> => {
    const connection = await ensureRunning(agentId, signal)
    const chatStream: AgentConnection['chatStream'] = (request, onFrame, chatSignal) => {
      turns.push({ run_id: request.run_id, task: request.task })
      return connection.chatStream(request, onFrame, chatSignal)
    }
    return { ...connection, chatStream }
  }
  const harness = aLedgerHarness({ agents })
  harness.ledger.start()
  const first = harness.chat('operator')
  await harness.clock.settle()
  const budget = { max_tokens: 900, max_cost_usd: 0.5 }
  const work = { to: 'worker', title: 'count', description: 'all', data: {}, tokenBudget: budget }
  const given = harness.handOff(harness.callerOf('operator'), work)
  await harness.clock.settle()
  const part = { to: 'helper', title: 'part', description: 'one', data: {}, tokenBudget: null }
  const below = harness.handOff(harness.callerOf('worker'), part)
  const paid = harness.database.prepare('UPDATE runs SET tokens_used = ?, cost_usd = ? WHERE id = ?')
  paid.run(100, 0.01, given.run_id)
  paid.run(20, 0.02, below.run_id)
  paid.run(7000, 7, first.id)
  agents.finish('worker')
  await harness.clock.advance(1000)
  // The second end follows the reminder, which is a later turn too.
  for (let end = 0; end < 2; end += 1) {
    agents.finish('helper')
    await harness.clock.advance(1000)
  }
  expect(turns.filter((turn) => JSON.stringify(turn).includes(below.run_id))).toHaveLength(1)
  expect(turns.filter((turn) => !JSON.stringify(turn).includes(below.run_id))).toEqual([
    { run_id: first.id, task: undefined },
    {
      run_id: given.run_id,
      task: { task_id: given.task_id, token_budget: budget, tokens_used: 120, cost_usd: 0.03 },
    },
  ])
  await harness.ledger.close()
})
