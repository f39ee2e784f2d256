import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aCassette, calls, operatorHandsOff, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { verifies } from '../verifies.ts'

/** A manual edit applies within a second; the rest is allowance for this machine. */
const noticedMaxMs = 2500

const cassette = aCassette(
  {
    when: '^note$',
    turns: [
      calls('write_blackboard', { key: 'status/a', value: 1 }),
      says('{{how}}', { capture: { how: '^(.{1,400})' } }),
    ],
  },
  ...operatorHandsOff({ when: '^delegate$', to: 'helper', title: 'Help', answer: 'Helped.' }),
  { agents: ['helper'], when: 'Help', turns: [calls('complete_task', { summary: 'Done.' })] },
  { turns: [says('Yes.')] },
)

describe('config/permissions.json of a running mesh', () => {
  let mesh: MeshProcess
  let path: string
  let whole: string
  beforeAll(async () => {
    mesh = await startMesh({ cassettes: { permissions: cassette } })
    await mesh.createWorker('helper')
    path = join(mesh.home, 'config', 'permissions.json')
    whole = await readFile(path, 'utf8')
    // The processes start before any permission is removed.
    await mesh.ask('hello', { agent: 'helper' })
    await mesh.ask('delegate')
  })
  afterAll(() => mesh.stop())
  beforeEach(() => mesh.restartIfStopped())

  const ready = async () => (await mesh.call(meshHumanEndpoints.readyz)).json()
  const becomes = (state: boolean) =>
    eventually(
      `ready is ${state}`,
      async () => ((await ready())['ready'] === state ? ready() : null),
      noticedMaxMs,
    )

  it('config/permissions.json of a running mesh denies everything within a second of a broken edit, says where, and forgives once it is mended', async () => {
    verifies('purpose:fail-closed', 'purpose:mesh:enforces-permissions')
    const broken = whole.replace('"can_message"', 'can_message')
    const line = broken.slice(0, broken.indexOf('can_message')).split('\n').length
    await writeFile(path, broken)
    const told = await becomes(false)
    expect(JSON.stringify(told)).toContain(`permissions.json line ${line}`)
    expect(told).toMatchObject({ problems: [{ id: 'permissions-broken' }] })
    expect(mesh.log()).toContain(`permissions.json line ${line}`)

    const run = await mesh.ask('hello', { agent: 'helper', session: 'while broken' })
    expect(run.outcome).toMatchObject({ status: 'failed', code: 'denied' })

    await writeFile(path, whole)
    await becomes(true)
    expect((await mesh.ask('hello', { agent: 'helper', session: 'mended' })).state).toBe('done')
  })

  it('config/permissions.json of a running mesh takes an unknown field or a wrong value for broken, not for absent', async () => {
    for (const edit of [
      whole.replace('"can_message"', '"can_mesage"'),
      whole.replace(/"blackboard_read": \[[^\]]*\]/, '"blackboard_read": "all"'),
    ]) {
      expect(edit).not.toBe(whole)
      await writeFile(path, edit)
      expect(JSON.stringify(await becomes(false))).toMatch(/permissions\.json line \d+/)
      await writeFile(path, whole)
      await becomes(true)
    }
  })

  it('config/permissions.json of a running mesh denies everything while it is missing, and does not make a new one', async () => {
    verifies('errors:permissions:missing-file', 'authentication:permissions:missing-file')
    await rm(path)
    await becomes(false)
    expect((await mesh.ask('hello', { agent: 'helper', session: 'missing' })).outcome).toMatchObject({
      code: 'denied',
    })
    expect(await readFile(path, 'utf8').catch(() => 'missing')).toBe('missing')
    await mesh.kill9()
    await mesh.restart()
    expect(await ready()).toMatchObject({ ready: false, problems: [{ id: 'permissions-broken' }] })
    await writeFile(path, whole)
    await becomes(true)
  })

  it('config/permissions.json of a running mesh takes one right away from one agent, at once, and leaves the others theirs', async () => {
    verifies('resources:permission:per-agent', 'resources:permission:file', 'errors:permissions:absent')
    const file = JSON.parse(whole) as { permissions: Record<string, Record<string, unknown>> }
    const helper = { ...file.permissions['helper'], blackboard_write: [] }
    const less = { ...file, permissions: { ...file.permissions, helper } }
    await writeFile(path, JSON.stringify(less, null, 2))
    const said = await eventually(
      'the write is denied',
      async () => {
        const run = await mesh.ask('note', { agent: 'helper', session: `note ${Date.now()}` })
        return run.state === 'done' && run.outcome?.text.includes('denied') ? run : null
      },
      noticedMaxMs * 4,
    )
    expect(said.state).toBe('done')
    expect((await mesh.ask('note', { session: 'operator notes' })).outcome?.text).toContain('status/a')
    expect((await mesh.call(meshHumanEndpoints.metrics)).text).toMatch(
      /flotilla_denials_24h\{agent="helper",action="write-blackboard"\} [1-9]/,
    )
  })
})
