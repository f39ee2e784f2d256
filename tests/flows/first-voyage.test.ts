import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openLedger } from '../support/ledger-view.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { voyageCassette, voyageQuestion } from '../support/voyage-cassette.ts'
import { heedsLesson, verifies } from '../verifies.ts'

describe('the first voyage', () => {
  let mesh: MeshProcess
  beforeAll(async () => {
    mesh = await startMesh({ cassettes: { voyage: voyageCassette } })
    await mesh.createWorker('clerk')
  })
  afterAll(() => mesh.stop())

  it('a question goes through operator and worker, and the answer carries what the tool returned', async () => {
    verifies(
      'endpoints:agent:post-task',
      'resources:tool:hand-off',
      'resources:task-assignment:sender',
      'resources:task-result:structured-output',
      'purpose:mesh:routes-messages',
      'authentication:zone-2:messages',
    )
    const content = await readFile(join(repositoryRoot, 'package-lock.json'))
    const put = await mesh.call(meshHumanEndpoints.fileWrite, {
      params: { id: 'clerk', path: 'input/parcel.bin' },
      body: new Uint8Array(content),
    })
    expect(put.status, put.text).toBe(200)
    const sum = createHash('sha256').update(content).digest('hex')

    const run = await mesh.ask(voyageQuestion, { key: 'voyage-1' })

    expect(run).toMatchObject({ state: 'done', agent_id: 'operator', kind: 'chat' })
    expect(run.outcome?.text).toBe(`The file of ${content.length} bytes has the checksum ${sum}.`)
    const rows = await mesh.runs()
    expect(rows.map(({ agent_id, state, kind }) => ({ agent_id, state, kind }))).toEqual([
      { agent_id: 'clerk', state: 'done', kind: 'task' },
      { agent_id: 'operator', state: 'done', kind: 'chat' },
    ])
    expect(rows[0]).toMatchObject({ parent_id: run.id, trace_id: run.trace_id, origin: { kind: 'operator' } })
    expect(await mesh.tasks()).toMatchObject([
      { state: 'done', assignee: 'clerk', parent_run_id: run.id, result: { sum } },
    ])
    const ledger = openLedger(mesh.home)
    expect(ledger.inbox(run.id)).toHaveLength(1)
    expect(ledger.outbox(`run:${run.id}`)).toMatchObject([{ state: 'delivered' }])
    ledger.close()
    const artifact = await mesh.call(meshHumanEndpoints.artifact, {
      params: { agent: 'clerk', name: 'checksum.txt' },
    })
    expect(artifact.text).toBe(sum)
    const entries = await mesh.call(meshHumanEndpoints.blackboard, { query: { prefix: 'output/' } })
    expect(entries.json()).toMatchObject({
      entries: [{ key: 'output/checksum', value: { sum }, written_by: 'clerk' }],
    })
  })

  it('the same idempotency key gives the same run, and another question under it is refused', async () => {
    const again = await mesh.ask(voyageQuestion, { key: 'voyage-1' })
    const [, first] = await mesh.runs()
    expect(again.id).toBe(first?.id)
    expect(await mesh.runs()).toHaveLength(2)
    await expect(mesh.ask('Something else', { key: 'voyage-1' })).rejects.toThrow(/409.*"conflict"/s)
  })

  it('what the runs cost is on the account of their agents', async () => {
    const costs = (await mesh.call(meshHumanEndpoints.costs)).json()
    expect(costs).toMatchObject({
      agents: expect.arrayContaining([
        expect.objectContaining({ agent_id: 'operator', calls: 3, today_usd: 0 }),
        expect.objectContaining({ agent_id: 'clerk', calls: 5, today_usd: 0 }),
      ]) as unknown,
    })
  })

  it('a worker that only speaks confirms nothing: its words are the unconfirmed result, and reach the agent that asked', async () => {
    heedsLesson(46, 47)
    await mesh.createWorker('talker')
    const run = await mesh.ask('Let the talker say it', { session: 'talk' })
    const why = 'Unconfirmed (the agent ended without complete_task). Its last words: The number is 7.'
    expect(run.outcome).toMatchObject({ status: 'done', text: 'It said 7.' })
    expect(await mesh.tasks()).toMatchObject([
      { assignee: 'talker', state: 'done', summary: why },
      { assignee: 'clerk' },
    ])
  })
})
