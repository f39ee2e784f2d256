import { controlEndpoints } from '@flotilla/protocol/control-api'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { describe, expect, it } from 'vitest'
import { aCassette, calls, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { startMeshForTest } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { verifies } from '../verifies.ts'

const iterationsMax = 6
const handsOn = calls('hand_off', { to: 'right', title: 'Part' })
const neverEnds = Array.from({ length: 60 }, (_, step) => runs(`echo ${step}`))

/** `left` hands off a part of its task, and calls tools without end once the part is done. */
const cassette = aCassette(
  { agents: ['operator'], when: '"Count", which you gave', turns: [says('Told.')] },
  {
    agents: ['operator'],
    when: '^delegate$',
    turns: [calls('hand_off', { to: 'left', title: 'Count' }), says('Handed over.')],
  },
  { agents: ['right'], when: 'Part', turns: [calls('complete_task', { summary: 'The part is 7.' })] },
  { agents: ['left'], when: '"Part", which you gave to right', turns: neverEnds },
  { agents: ['left'], when: 'Count', turns: [handsOn, says('Waiting for the part.')] },
)

async function callsOf(mesh: MeshProcess, agent: string): Promise<number> {
  const reply = await mesh.call(meshHumanEndpoints.costs)
  const { agents } = meshHumanApi.costs.response.parse(reply.json())
  return agents.find(({ agent_id: id }) => id === agent)?.calls ?? -1
}

async function ended(mesh: MeshProcess) {
  return eventually('the task ends', async () => {
    const task = (await mesh.tasks()).find(({ assignee }) => assignee === 'left')
    return task && !['pending', 'accepted', 'working'].includes(task.state) ? task : null
  })
}

async function fleet(environment: Record<string, string>): Promise<MeshProcess> {
  const mesh = await startMeshForTest({ cassettes: { bounds: cassette }, environment })
  await mesh.createWorker('left')
  await mesh.createWorker('right')
  const granted = await mesh.call(controlEndpoints.agentEdit, {
    params: { id: 'left' },
    body: {
      field: 'permissions',
      value: { add: { can_message: ['right'] }, set: { can_route_tasks: true } },
    },
  })
  expect(granted.status).toBe(200)
  return mesh
}

describe('a task whose agent gave a part of it away', () => {
  it('a task whose agent gave a part of it away has its rounds over all its turns', async () => {
    verifies('limits:task-iterations:clamp')
    const mesh = await fleet({ FLOTILLA_MAX_ITERATIONS: String(iterationsMax) })
    await mesh.submit('delegate')
    const task = await ended(mesh)
    expect(task).toMatchObject({ state: 'failed', summary: expect.stringContaining('rounds-exhausted') })
    // The last call is settled when the mesh has read its end, which may be after the agent has.
    await eventually('all calls are settled', async () => (await callsOf(mesh, 'left')) >= iterationsMax)
    expect(await callsOf(mesh, 'left')).toBe(iterationsMax)
  })
})
