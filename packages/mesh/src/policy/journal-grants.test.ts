import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { collectJournal } from '../../../../tests/support/collected-ports.ts'
import { createManualClock } from '../../../../tests/support/manual-clock.ts'
import { createFileEditor } from '../config/atomic-file.ts'
import { silentLog } from '../log.ts'
import { migrated } from '../runs/ledger-world.ts'
import { createJournalGrants } from './journal-grants.ts'
import { createPermissionFile } from './permission-file.ts'

const record = (more: object = {}) => permissionRecordSchema.parse(more)

describe('grants in the journal', () => {
  test('are told by agent and field, once', () => {
    const journal = collectJournal()
    const tell = createJournalGrants({ database: migrated(), journal })
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

  test('that a hand made while the mesh was down are found at the next start', () => {
    const database = migrated()
    const journal = collectJournal()
    createJournalGrants({ database, journal })({ scout: record() }, 'system')
    createJournalGrants({ database, journal })({ scout: record({ can_manage_fleet: true }) }, 'human:file')
    expect(journal.entries.at(-1)).toMatchObject({
      action: 'permission.changed',
      detail: { can_manage_fleet: { from: false, to: true } },
    })
  })

  test('name the hand for what it changed in the file, and whoever else for what they changed', async () => {
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
      onRecords: createJournalGrants({ database: migrated(), journal }),
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
})
