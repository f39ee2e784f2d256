import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { collectJournal } from '../../../../tests/support/collected-ports.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { createFileEditor } from '../../../foundation/src/config/atomic-file.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import { operatorDefaultRecord } from './default-records.ts'
import { createJournalGrants } from './journal-grants.ts'
import { createPermissionFile } from './permission-file.ts'

const record = (more: object = {}) => permissionRecordSchema.parse(more)

describe('grants in the journal', () => {
  test('grants in the journal are recorded once for each agent and field', () => {
    const journal = collectJournal()
    const tell = createJournalGrants({ database: migrated(), journal, log: silentLog })
    tell({ scout: record({ allowed_apis: ['llm'] }) }, 'human:cli')
    tell({ scout: record({ allowed_apis: ['llm'] }) }, 'human:file')
    tell({ scout: record({ allowed_apis: ['llm', 'http'], can_spawn: true }) }, 'human:file')
    tell({}, 'system')
    expect(journal.entries).toEqual([
      {
        actor: 'human:cli',
        action: 'permission.granted',
        subject: 'scout',
        detail: { allowed_apis: ['llm'] },
      },
      {
        actor: 'human:file',
        action: 'permission.changed',
        subject: 'scout',
        detail: {
          allowed_apis: { from: ['llm'], to: ['llm', 'http'] },
          can_spawn: { from: false, to: true },
        },
      },
      { actor: 'system', action: 'permission.revoked', subject: 'scout', detail: {} },
    ])
  })

  test('grants that were edited by hand while the mesh was down are recorded at the next start', () => {
    const database = migrated()
    const journal = collectJournal()
    createJournalGrants({ database, journal, log: silentLog })({ scout: record() }, 'system')
    createJournalGrants({ database, journal, log: silentLog })(
      { scout: record({ can_manage_fleet: true }) },
      'human:file',
    )
    expect(journal.entries.at(-1)).toMatchObject({
      action: 'permission.changed',
      detail: { can_manage_fleet: { from: false, to: true } },
    })
  })

  test('grants name a manual edit of the file, or else the actor of each change', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'grants-'))
    const path = join(folder, 'permissions.json')
    const write = (permissions: object) => writeFile(path, JSON.stringify({ permissions }))
    await write({ scout: {} })
    const clock = createManualClock()
    const journal = collectJournal()
    const store = await createPermissionFile({
      path,
      editor: createFileEditor(),
      clock,
      log: silentLog,
      onBroken: () => {},
      onRecords: createJournalGrants({ database: migrated(), journal, log: silentLog }),
    })
    await write({ scout: { can_use_browser: true } })
    await store.edit((records) => ({ ...records, helper: record({ can_message: ['*'] }) }), 'agent:operator')
    await writeFile(path, 'no json')
    await store.refresh()
    await write({ scout: { can_use_browser: true } })
    await store.refresh()
    expect(journal.entries.map(({ actor, action, subject }) => `${actor} ${action} ${subject}`)).toEqual([
      'human:file permission.granted scout',
      'human:file permission.changed scout',
      'agent:operator permission.granted helper',
      'human:file permission.revoked helper',
    ])
    await store.close()
    await rm(folder, { recursive: true })
  })

  describe('of flags that the operator’s entry leaves out', () => {
    const fleetFlag = 'can_manage_fleet'
    const others = { ...operatorDefaultRecord, can_spawn: false }
    const { [fleetFlag]: _taken, ...withoutFleet } = others

    /**
     * A home of an earlier release whose audit log recorded the file as read, with missing fields as false.
     */
    async function anUpgrade(operator: object, before: object | null) {
      const folder = await mkdtemp(join(tmpdir(), 'grants-'))
      const path = join(folder, 'permissions.json')
      const write = (permissions: object) => writeFile(path, JSON.stringify({ permissions }))
      await write({ operator })
      const database = migrated()
      if (before)
        database
          .prepare('INSERT INTO permissions_seen (id, records) VALUES (1, ?)')
          .run(JSON.stringify({ operator: record(before) }))
      const journal = collectJournal()
      const warned: string[] = []
      const log = {
        ...silentLog,
        warn: (fields: object, fact: string) => warned.push(`${fact} ${JSON.stringify(fields)}`),
      }
      const start = () =>
        createPermissionFile({
          path,
          editor: createFileEditor(),
          clock: createManualClock(),
          log,
          onBroken: () => {},
          onRecords: createJournalGrants({ database, journal, log }),
        })
      const told = () =>
        journal.entries.map(
          ({ actor, action, detail }) => `${actor} ${action} ${Object.keys(detail ?? {}).join()}`,
        )
      return { start, told, warned, journal, write, end: () => rm(folder, { recursive: true }) }
    }

    test('grants in the journal of flags that the operator’s entry leaves out are recorded once as granted by the mesh, and logged with how to remove them', async () => {
      const home = await anUpgrade(withoutFleet, { ...others, [fleetFlag]: false })
      for (let starts = 0; starts < 3; starts++) await (await home.start()).close()
      expect(home.journal.entries).toEqual([
        {
          actor: 'system',
          action: 'permission.changed',
          subject: 'operator',
          detail: { [fleetFlag]: { from: false, to: true } },
        },
      ])
      expect(home.warned).toHaveLength(1)
      expect(home.warned[0]).toContain('can_manage_fleet=false')
      await home.end()
    })

    test('grants in the journal of flags that the operator’s entry leaves out are separate from manual edits before that start', async () => {
      const home = await anUpgrade({ ...withoutFleet, can_spawn: true }, { ...others, [fleetFlag]: false })
      await (await home.start()).close()
      expect(home.told()).toEqual([
        'human:file permission.changed can_spawn',
        'system permission.changed can_manage_fleet',
      ])
      await home.end()
    })

    test('grants in the journal of flags that the operator’s entry leaves out are not recorded as manual edits if nothing was recorded before', async () => {
      const home = await anUpgrade(withoutFleet, null)
      await (await home.start()).close()
      expect(home.told()[0]).toMatch(/^human:file permission.granted /)
      expect(home.told()[0]).not.toContain(fleetFlag)
      expect(home.told().slice(1)).toEqual(['system permission.changed can_manage_fleet'])
      await home.end()
    })

    test('grants in the journal of flags that the operator’s entry leaves out are a hand’s doing where it leaves them out later', async () => {
      const home = await anUpgrade({ ...others, [fleetFlag]: false }, { ...others, [fleetFlag]: false })
      const store = await home.start()
      await home.write({ operator: withoutFleet })
      await store.refresh()
      expect(home.told()).toEqual(['human:file permission.changed can_manage_fleet'])
      expect(home.warned).toEqual([])
      await store.close()
      await home.end()
    })
  })
})
