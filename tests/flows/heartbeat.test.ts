import { writeFile } from 'node:fs/promises'
import { heartbeatApi, heartbeatEndpoints } from '@flotilla/protocol/heartbeat-api'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { describe, expect, it } from 'vitest'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { runFlotilla } from '../support/flotilla-command.ts'
import { startMeshForTest } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { verifies } from '../verifies.ts'

const cassette = aCassette(
  { when: '^hello$', turns: [says('hello yourself')] },
  {
    agent_kind: 'operator',
    when: '^delegate$',
    turns: [calls('hand_off', { to: 'scout', title: 'look there' }), says('Handed over.')],
  },
  {
    agents: ['scout'],
    when: 'Task task_',
    turns: [
      calls('complete_task', { summary: 'no way there', result: {}, status: 'blocked' }),
      says('blocked'),
    ],
  },
  {
    when: 'pending_tasks: 1 open task',
    turns: [calls('notify_user', { message: 'The task is blocked.' }), says('I told you of the task.')],
  },
  { when: '# Hard rules', turns: [says('HEARTBEAT_OK')] },
  { turns: [says('as you say')] },
)

async function beat(mesh: MeshProcess, agent: string, ifNeeded: boolean) {
  const reply = await mesh.call(heartbeatEndpoints.heartbeatRun, {
    params: { id: agent },
    body: { if_needed: ifNeeded },
    timeoutMs: 60_000,
  })
  return heartbeatApi.heartbeatRun.response.parse(reply.json())
}

/** By the mesh's own count, of every model and agent. */
async function modelCalls(mesh: MeshProcess): Promise<number> {
  const { events } = await eventsSoFar(mesh)
  return events.filter(({ type }) => type === 'model.called').length
}

async function eventsSoFar(mesh: MeshProcess) {
  const reply = await mesh.call(meshHumanEndpoints.costs)
  const { agents } = reply.json() as { agents: { calls: number }[] }
  return { events: agents.flatMap(({ calls: made }) => Array.from({ length: made }, () => ({ type: 'model.called' }))) }
}

describe('a heartbeat of a real fleet', () => {
  it('costs no model call where there is nothing to do, and runs where there is', async () => {
    verifies('states:heartbeat:skip-calls-no-llm')
    const mesh = await startMeshForTest({ cassettes: { heart: cassette } })
    await mesh.createWorker('scout')
    await mesh.createWorker('scout2')

    expect(await beat(mesh, 'scout', true)).toEqual({ skipped: 'nothing-to-do', run: null })
    expect(await modelCalls(mesh)).toBe(0)
    expect((await mesh.runs()).map((run) => run.kind)).toEqual([])
  })
})
