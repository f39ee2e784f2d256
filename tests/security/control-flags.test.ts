import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import { headers } from '@flotilla/protocol/headers'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { operatorEndpoints, operatorViewEndpoints } from '@flotilla/protocol/operator-endpoints'
import { toolEndpoints } from '@flotilla/protocol/tool-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentAtWork, knock, longWork } from '../support/agent-at-work.ts'
import type { AgentAtWork } from '../support/agent-at-work.ts'
import { eventually } from '../support/eventually.ts'
import { httpCall } from '../support/http-call.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { expectProblem } from '../support/problem-matcher.ts'
import { verifies } from '../verifies.ts'

/** The names of the flags in the specification. */
const controlPlaneFlags = [
  'can_manage_fleet',
  'can_manage_projects',
  'can_edit_agent_config',
  'can_view_fleet_metrics',
  'can_route_tasks',
  'can_request_user_credentials',
]

let mesh: MeshProcess
let operator: AgentAtWork
let ann: AgentAtWork
let count = 0

beforeAll(async () => {
  mesh = await startMesh({ cassettes: { works: longWork } })
  await mesh.createWorker('ann')
  await mesh.createWorker('bob')
  operator = await agentAtWork(mesh, 'operator')
  ann = await agentAtWork(mesh, 'ann')
})
afterAll(() => mesh.stop())

/** Sends a request as the agent's own process does. */
const knockAt = ({ method, path }: Endpoint, who: AgentAtWork, body?: unknown) =>
  knock(who, { method, path, body })

const handOff = (who: AgentAtWork, to: string) =>
  knockAt(meshAgentEndpoints.handOff, who, { to, title: 'count' })
const file = () => join(mesh.home, 'config', 'permissions.json')

/** Edits the file by hand, and waits until the mesh has read it. */
async function byHand(change: (records: Record<string, Record<string, unknown>>) => void): Promise<void> {
  const whole = JSON.parse(await readFile(file(), 'utf8')) as {
    permissions: Record<string, Record<string, unknown>>
  }
  change(whole.permissions)
  // An entry that only this edit makes shows when the edit is in force.
  const mark = `mark-${(count += 1)}`
  whole.permissions['bob'] = { ...whole.permissions['bob'], can_publish: [mark] }
  await writeFile(file(), JSON.stringify(whole, null, 2))
  await eventually('the edit holds', async () => {
    const reply = await mesh.call(controlEndpoints.agentConfig, { params: { id: 'bob' } })
    return reply.text.includes(mark) ? true : null
  })
}

describe('a flag of the control plane that the file leaves out', () => {
  it('a flag of the control plane that the file leaves out is given to the operator and to no worker', async () => {
    verifies('resources:operator:control-flags-true', 'resources:worker:control-flags-false')
    await byHand((records) => {
      for (const id of ['operator', 'ann']) for (const flag of controlPlaneFlags) delete records[id]?.[flag]
    })
    const views = [operatorViewEndpoints.metrics, operatorEndpoints.pending, operatorEndpoints.changes]
    for (const endpoint of views) {
      expect((await knockAt(endpoint, operator)).status, endpoint.path).toBe(200)
      expectProblem(await knockAt(endpoint, ann), 'denied')
    }
    expect((await handOff(operator, 'bob')).status).toBe(200)
    expect(expectProblem(await handOff(ann, 'operator'), 'denied')).toMatchObject({
      field: 'can_route_tasks',
    })
  })

  it('a flag of the control plane that the file leaves out stays taken where the file says so', async () => {
    await byHand((records) => {
      records['operator'] = { ...records['operator'], can_view_fleet_metrics: false }
    })
    expect(expectProblem(await knockAt(operatorViewEndpoints.metrics, operator), 'denied')).toMatchObject({
      field: 'can_view_fleet_metrics',
    })
    await byHand((records) => {
      delete records['operator']?.['can_view_fleet_metrics']
    })
  })
})

describe('routing tasks', () => {
  const refused = async (who: AgentAtWork) =>
    (await knockAt(toolEndpoints.toolsHeld, who)).json()['refused'] as { tool: string; reason: string }[]

  it('routing tasks wants the flag and the name of the other agent, both', async () => {
    verifies('resources:permission:can-route-tasks')
    const set = (fields: object) =>
      byHand((records) => {
        records['ann'] = { ...records['ann'], ...fields }
      })
    await set({ can_message: ['operator'], can_route_tasks: false })
    const denied = expectProblem(await handOff(ann, 'operator'), 'denied')
    expect(denied).toMatchObject({ action: 'route-tasks', field: 'can_route_tasks' })
    expect(await refused(ann)).toContainEqual({ tool: 'hand_off', reason: 'can_route_tasks is not set' })
    expect(await mesh.tasks()).not.toContainEqual(expect.objectContaining({ creator: 'ann' }))

    await set({ can_route_tasks: true })
    expect((await refused(ann)).map(({ tool }) => tool)).not.toContain('hand_off')
    expect(expectProblem(await handOff(ann, 'bob'), 'denied')).toMatchObject({ action: 'message-agent' })
    expect((await handOff(ann, 'operator')).status).toBe(200)
    expect(await mesh.tasks()).toContainEqual(expect.objectContaining({ creator: 'ann' }))
  })

  it('routing tasks is taken from the operator like any right', async () => {
    await byHand((records) => {
      records['operator'] = { ...records['operator'], can_route_tasks: false }
    })
    expect(expectProblem(await handOff(operator, 'bob'), 'denied')).toMatchObject({
      field: 'can_route_tasks',
    })
  })

  it('routing tasks is refused before the words of the task are read', async () => {
    const reply = await httpCall({
      method: meshAgentEndpoints.handOff.method,
      url: `${operator.api}${meshAgentEndpoints.handOff.path}`,
      headers: {
        authorization: `Bearer ${operator.token}`,
        [headers.runId]: operator.run.id,
        [headers.runFence]: String(operator.run.fence),
        [headers.idempotencyKey]: 'unread',
        'content-type': 'application/json',
      },
      body: '{"this is no',
    })
    expectProblem(reply, 'denied')
  })
})

// This test is the last, because an operator without permissions loses its run.
describe('an operator without a record', () => {
  it('an operator without a record is given nothing', async () => {
    await byHand((records) => {
      delete records['operator']
    })
    expectProblem(await knockAt(operatorViewEndpoints.metrics, operator), 'denied')
  })
})
