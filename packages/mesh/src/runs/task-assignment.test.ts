import { taskAssignmentSchema } from '@flotilla/protocol/task'
import { expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import type { AgentConnection } from '../fleet/agent-connection.ts'
import { createFakeAgents } from './fake-agents.ts'
import { aLedgerWorld } from './ledger-world.ts'

test('an assignee gets a whole TaskAssignment under the fence of its run', async () => {
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
  const world = aLedgerWorld({ agents })
  world.ledger.start()
  world.chat('operator')
  await world.clock.settle()
  const work = { to: 'worker', title: 'count', description: 'all', data: { file: 'a.json' } }
  const given = world.handOff(world.callerOf('operator'), work)
  await world.clock.settle()
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
  await world.ledger.close()
})
