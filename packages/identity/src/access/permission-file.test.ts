import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { verifies } from '../../../../tests/verifies.ts'
import { createFileEditor, readTextFile } from '../../../foundation/src/config/atomic-file.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { systemClock } from '../../../foundation/src/platform/system-clock.ts'
import type { Action } from './action.ts'
import { authorize } from './authorize.ts'
import { workerDefaultRecord } from './default-records.ts'
import { createPermissionFile } from './permission-file.ts'
import type { PermissionFileDeps } from './permission-file.ts'
import { eventually } from '../../../../tests/support/eventually.ts'
import { patient } from '../../../../tests/support/patience.ts'

const whole =
  '{\n  "permissions": {\n    "scout": {\n      "can_message": ["operator"],\n      "blackboard_read": ["*"]\n    }\n  }\n}\n'
const listAgents = { do: 'list-agents' } as const
const scout = { kind: 'agent', agentId: 'scout', token: 'door', run: null } as const

async function opened(text: string | null, more: Partial<PermissionFileDeps> = {}) {
  const path = join(await mkdtemp(join(tmpdir(), 'permissions-')), 'permissions.json')
  if (text !== null) await writeFile(path, text)
  const received: (string | null)[] = []
  const store = await createPermissionFile({
    path,
    editor: createFileEditor(),
    clock: createManualClock(),
    log: silentLog,
    onBroken: (detail) => received.push(detail),
    ...more,
  })
  return { path, store, heard: received }
}

describe('the permission file', () => {
  test('a missing permission file denies everything', async () => {
    verifies(
      'authentication:permissions:missing-file',
      'errors:permissions:missing-file',
      'resources:permission:file',
    )
    const { store, heard } = await opened(null)
    expect(authorize(store.snapshot(), scout, listAgents)).toMatchObject({
      allowed: false,
      reason:
        'all agents are denied everything, because the permission file is invalid: config/permissions.json is missing',
    })
    expect(heard).toEqual(['config/permissions.json is missing'])
    await store.close()
  })

  test.each([
    ['is cut off', '{\n  "permissions": {\n    "scout": {\n', 4],
    ['has a misspelt field', whole.replace('can_message', 'can_mesage'), 4],
    [
      'has a flag that is no flag',
      whole.replace('["operator"]', '["operator"],\n      "can_spawn": "yes"'),
      5,
    ],
    ['has one agent twice', whole.replace('"scout": {', '"scout": {},\n    "scout": {'), 4],
    ['is not JSON at all', 'permissions: none', 1],
    ['is empty', '', 1],
  ])('the permission file that %s denies everything and names the line', async (_what, text, line) => {
    const { store, heard } = await opened(text)
    expect(authorize(store.snapshot(), scout, listAgents).allowed).toBe(false)
    expect(heard[0]).toContain(`config/permissions.json line ${line}: `)
    await store.close()
  })

  test.each<[flag: string, action: Action]>([
    ['can_manage_fleet', { do: 'manage-fleet' }],
    ['can_manage_projects', { do: 'manage-projects' }],
    ['can_edit_agent_config', { do: 'edit-agent-config', agentId: 'other' }],
    ['can_view_fleet_metrics', { do: 'view-fleet' }],
    ['can_route_tasks', { do: 'route-tasks' }],
    ['can_request_user_credentials', { do: 'request-credential' }],
  ])('that leaves out %s gives it to the operator and to no worker', async (flag, action) => {
    verifies('resources:permission:control-flags-default')
    const decided = async (record: object) => {
      const { store } = await opened(JSON.stringify({ permissions: { operator: record, scout: record } }))
      const [forOperator, forWorker] = ['operator', 'scout'].map((agentId) =>
        authorize(store.snapshot(), { ...scout, agentId }, action),
      )
      await store.close()
      return [forOperator, forWorker]
    }
    const refused = { allowed: false, field: flag }
    expect(await decided({})).toMatchObject([{ allowed: true, field: flag }, refused])
    expect(await decided({ [flag]: false })).toMatchObject([refused, refused])
    expect(await decided({ [flag]: true })).toMatchObject([{ allowed: true }, { allowed: true }])
  })

  test('the permission file gives each agent its own record, and knows the lines of its fields', async () => {
    verifies('resources:permission:per-agent')
    const { store } = await opened(whole)
    const snapshot = store.snapshot()
    expect(snapshot.recordOf('scout')?.can_message).toEqual(['operator'])
    expect(snapshot.recordOf('other')).toBeUndefined()
    expect([
      snapshot.lineOf('scout'),
      snapshot.lineOf('scout', 'blackboard_read'),
      snapshot.lineOf('scout', 'can_spawn'),
    ]).toEqual([3, 5, null])
    await store.close()
  })

  test('the permission file takes an edit by hand within a second, in either direction', async () => {
    const { path, store, heard } = await opened(whole, { clock: systemClock })
    await writeFile(path, whole.replace('"operator"', '"*"'))
    await expect
      .poll(() => store.snapshot().recordOf('scout')?.can_message, { timeout: patient(1000) })
      .toEqual(['*'])
    await writeFile(path, '{')
    await expect.poll(() => store.snapshot().broken, { timeout: patient(1000) }).toContain('line 1')
    await rm(path)
    await expect.poll(() => store.snapshot().broken, { timeout: patient(1000) }).toContain('missing')
    await writeFile(path, whole)
    await expect.poll(() => store.snapshot().broken, { timeout: patient(1000) }).toBeNull()
    expect(heard.map((detail) => detail === null)).toEqual([true, false, false, true])
    await store.close()
  })

  test('the permission file keeps all of fifty concurrent edits and a manual edit in between', async () => {
    const { path, store } = await opened(whole)
    const edits = Array.from({ length: 50 }, (_, index) =>
      store.edit((records) => ({ ...records, [`agent-${index}`]: workerDefaultRecord })),
    )
    await Promise.all(edits)
    await writeFile(path, ((await readTextFile(path)) ?? '').replace('"agent-7"', '"by-hand"'))
    await store.edit((records) => ({ ...records, last: workerDefaultRecord }))
    const names = Object.keys(
      (JSON.parse((await readTextFile(path)) ?? '') as { permissions: object }).permissions,
    )
    expect(names).toHaveLength(52)
    expect(names).toEqual(expect.arrayContaining(['scout', 'by-hand', 'agent-49', 'last']))
    expect(store.snapshot().recordOf('by-hand')).toEqual(workerDefaultRecord)
    await store.close()
  })

  test('an edit does not overwrite a broken permission file', async () => {
    const { path, store } = await opened('{ "permissions": {} ')
    await expect(store.edit((records) => ({ ...records }))).rejects.toMatchObject({
      code: 'unprocessable',
      extra: { line: 1 },
    })
    expect(await readTextFile(path)).toBe('{ "permissions": {} ')
    await store.close()
  })

  test('the permission file holds although its record and its announcement meet a full disk, and records again until that succeeds', async () => {
    const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' })
    const recorded: unknown[] = []
    let isFull = true
    const clock = createManualClock()
    const { store, path } = await opened(whole, {
      clock,
      onBroken: () => {
        if (isFull) throw full
      },
      onRecords: (records) => {
        if (isFull) throw full
        recorded.push(Object.keys(records))
      },
    })
    expect(authorize(store.snapshot(), scout, listAgents)).toMatchObject({ allowed: true })
    await store.edit((records) => ({ ...records, clerk: workerDefaultRecord }))
    expect(store.snapshot().broken).toBeNull()
    isFull = false
    await clock.advance(500)
    await eventually('it was recorded', () => recorded.length > 0)
    expect(recorded.at(-1)).toEqual(['scout', 'clerk'])
    await store.close()
    await rm(path)
  })

  test('an edit is recorded under its actor, also where the file is read before the edit ends or the record fails first', async () => {
    let reads = 0
    /** The agents of each record; a record of an older text would undo the edit. */
    const texts: string[] = []
    const recordedBy = new Map<string, string>()
    let fails = 0
    const clock = createManualClock()
    const plain = createFileEditor()
    const { store, path } = await opened(whole, {
      clock,
      // Writing takes longer than the file's next check, as on a slow disk.
      editor: {
        edit: async (...parts) => {
          await plain.edit(...parts)
          const before = reads
          await clock.advance(500)
          await eventually('the file was read', () => reads > before)
        },
      },
      onRecords: (records, actor) => {
        reads += 1
        texts.push(Object.keys(records).join(' '))
        if (fails-- > 0) throw new Error('no space left')
        for (const id of Object.keys(records)) if (!recordedBy.has(id)) recordedBy.set(id, actor)
      },
    })
    await store.edit((records) => ({ ...records, clerk: workerDefaultRecord }), 'human:ann@dashboard')
    expect(recordedBy.get('clerk')).toBe('human:ann@dashboard')
    expect(texts).toEqual(texts.toSorted((one, next) => one.length - next.length))
    fails = 3
    await store.edit((records) => ({ ...records, writer: workerDefaultRecord }), 'human:ann@dashboard')
    const text = (await readTextFile(path)) ?? ''
    await writeFile(path, text.replace('"clerk"', '"by-hand"'))
    await store.refresh()
    expect(recordedBy.get('writer')).toBe('human:ann@dashboard')
    expect(recordedBy.get('by-hand')).toBe('human:file')
    await store.close()
  })

  test('the permission file stops looking when it is closed', async () => {
    const clock = createManualClock()
    const { store } = await opened(whole, { clock })
    expect(clock.sleepers()).toBe(1)
    await store.close()
    expect(clock.sleepers()).toBe(0)
  })
})
