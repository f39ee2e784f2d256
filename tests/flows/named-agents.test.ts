import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { webhookEndpoints } from '@flotilla/protocol/webhook-api'
import { watchEndpoints } from '@flotilla/protocol/watch-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

let mesh: MeshProcess
beforeAll(async () => {
  mesh = await startMesh({ cassettes: { names: aCassette({ turns: [says('Hello.')] }) } })
  await mesh.createWorker('worker')
})
afterAll(() => mesh.stop())

const command = (...words: string[]) => flotilla(mesh, ...words)

describe('a name that no agent has', () => {
  it.each([
    ['that could be one', ['chat', 'wroker']],
    ['with a message', ['chat', 'wroker', 'hi']],
  ])('%s is refused at once with the nearest name, and no agent is called', async (_which, words) => {
    const before = (await mesh.runs()).length
    const { code, out, err } = await command(...words)
    expect(code).not.toBe(0)
    expect(out).toBe('')
    expect(err).toContain('unknown-agent')
    expect(err).toContain('did you mean worker?')
    expect((await mesh.runs()).length).toBe(before)
  })

  it('a text that cannot be a name is a message to the operator', async () => {
    expect(await command('chat', 'What can you do?')).toMatchObject({ code: 0, out: 'Hello.\n' })
    expect((await mesh.runs()).find(({ kind }) => kind === 'chat')).toMatchObject({ agent_id: 'operator' })
  })
})

describe('an agent that is given work by itself', () => {
  it('an agent that triggers name can be deleted only with a confirmation that lists these triggers', async () => {
    const folder = join(mesh.home, 'inbox')
    await mkdir(folder)
    const rule = { path: folder, pattern: '*.txt', agent: 'worker', message: 'Read {filename}.' }
    await writeFile(join(mesh.home, 'config', 'watchers.yaml'), JSON.stringify({ watchers: [rule] }))
    const added = await command('cron', 'add', 'worker', 'every 2h', '--message', 'Look around.')
    expect(added.err).toBe('')
    const hook = { agent_id: 'worker', name: 'ci', instructions: '' }
    expect((await mesh.call(webhookEndpoints.webhookCreate, { body: hook })).status).toBeLessThan(300)
    await eventually('the watcher is known', async () =>
      (await mesh.call(watchEndpoints.watchers)).text.includes('inbox'),
    )

    const refused = await command('delete', 'worker')
    expect(refused.code).not.toBe(0)
    expect(refused.err).toMatch(/watcher of .*inbox .*config\/watchers\.yaml/)
    expect(refused.err).toMatch(/cron job /)
    expect(refused.err).toMatch(/webhook ci/)
    expect(refused.err).toContain('Add --yes')
    const deleted = await command('delete', 'worker', '--yes')
    expect(deleted.err).toMatch(/webhook ci/)
    expect(deleted.out).toContain('worker is deleted')
  })
})
