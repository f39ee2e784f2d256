import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import { expect, it, onTestFinished } from 'vitest'
import { collectJournal } from '../../../../tests/support/collected-ports.ts'
import { eventually } from '../../../../tests/support/eventually.ts'
import { authorize } from '../../../identity/src/access/index.ts'
import type { Caller } from '../../../identity/src/access/index.ts'
import { silentLog } from '../../../foundation/src/platform/index.ts'
import { createRunBackupProgram } from './backup-program.ts'
import type { BackupRequest, BackupEnd } from './backup-program.ts'
import { createHomeBackups, nameAt } from './home-backups.ts'

const owner: Caller = { kind: 'human', role: 'owner', channel: 'dashboard' }
async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-home-backups-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Backups with a fake program. */
async function aHarness() {
  const folder = await aFolder()
  const requests: BackupRequest[] = []
  const ends: ((end: BackupEnd) => void)[] = []
  const journal = collectJournal()
  const rules = { broken: null, recordOf: () => undefined, projectOf: () => null }
  const backups = createHomeBackups({
    guard: (caller, action) => {
      if (!authorize(rules, caller, action).allowed) throw new Problem('denied')
    },
    folder,
    clock: { now: () => Date.UTC(2026, 0, 31, 23, 59, 59), sleep: async () => {} },
    journal,
    log: silentLog,
    run: (one) => {
      requests.push(one)
      return new Promise((resolve) => {
        ends.push(resolve)
        one.signal.addEventListener('abort', () => resolve({ ok: false, message: 'stopped' }))
      })
    },
  })
  return { folder, asked: requests, ends, backups, journal }
}

it('one is made at a time, with progress, and in the audit log before and after, without its passphrase', async () => {
  const { asked, ends, backups, journal, folder } = await aHarness()
  await backups.make(owner, 'a long sentence')
  await expect(backups.make(owner, null)).rejects.toMatchObject({ code: 'conflict' })
  expect(asked).toMatchObject([
    { deed: 'make', file: join(folder, 'backup-20260131T235959Z'), passphrase: 'a long sentence' },
  ])
  asked[0]?.step('Writing')
  asked[0]?.moved({ bytes: 5, of: 10 })
  expect((await backups.view(owner)).working).toMatchObject({ step: 'Writing', bytes: 5, of: 10 })
  ends[0]?.({ ok: true, message: 'The backup contains 2 agents.' })
  await eventually('it has ended', async () => (await backups.view(owner)).working === null || null)
  expect((await backups.view(owner)).last).toMatchObject({
    deed: 'make',
    ok: true,
    words: 'The backup contains 2 agents.',
  })
  expect(journal.entries.map(({ action }) => action)).toEqual(['backup.begun', 'backup.made'])
  expect(JSON.stringify([journal.entries, await backups.view(owner)])).not.toContain('a long sentence')
})

it('only owners see them, and a name with a path is rejected', async () => {
  const { backups, folder, asked } = await aHarness()
  await writeFile(join(folder, '..', 'backup-20260101T000000Z'), 'elsewhere')
  const strangers: [Caller, string][] = [
    [{ kind: 'human', role: 'member', channel: 'dashboard' }, 'denied'],
    [{ kind: 'human', role: 'owner', channel: 'telegram' }, 'human-only'],
    [{ kind: 'internal' }, 'denied'],
  ]
  for (const [caller, code] of strangers) {
    await expect(backups.view(caller)).rejects.toMatchObject({ code })
    await expect(backups.make(caller, null)).rejects.toMatchObject({ code })
    await expect(backups.verify(caller, nameAt(0), null)).rejects.toMatchObject({ code })
  }
  for (const name of ['../backup-20260101T000000Z', 'backup-20260101T000000Z', '/etc/passwd', '']) {
    await expect(backups.verify(owner, name, null)).rejects.toMatchObject({ code: 'not-found' })
  }
  expect(asked).toEqual([])
})

it('what lies in the folder is listed by its first line, newest first, and nothing else', async () => {
  const { backups, folder } = await aHarness()
  const header = (by: object) =>
    `${JSON.stringify({ format: 'flotilla-backup', version: 1, closed: by })}\nrest`
  await writeFile(join(folder, 'backup-20260101T000000Z'), header({ by: 'nothing' }))
  await writeFile(join(folder, 'backup-20260201T000000Z'), 'something else')
  await writeFile(join(folder, '.backup-20260301T000000Z.1.partial'), header({ by: 'nothing' }))
  const { backups: listed } = await backups.view(owner)
  expect(listed.map(({ name, encrypted }) => [name, encrypted])).toEqual([
    ['backup-20260201T000000Z', null],
    ['backup-20260101T000000Z', false],
  ])
})

it('a mesh that stops ends what goes on', async () => {
  const { backups, asked } = await aHarness()
  await backups.make(owner, null)
  await backups.close()
  expect(asked[0]?.signal.aborted).toBe(true)
  expect((await backups.view(owner)).last).toMatchObject({ ok: false, words: 'stopped' })
})

it('a program that fails, prints nothing or is missing gives a message', async () => {
  const folder = await aFolder()
  const script = join(folder, 'program.mjs')
  const asked: BackupRequest = {
    deed: 'make',
    file: join(folder, 'x'),
    passphrase: null,
    step: () => {},
    moved: () => {},
    signal: new AbortController().signal,
  }
  const run = async (text: string, program = process.execPath) => {
    await writeFile(script, text)
    return createRunBackupProgram({ program: [program, script], env: {}, home: folder })(asked)
  }
  const say = (line: object) => `console.log(${JSON.stringify(JSON.stringify(line))});`
  const problem = { problem: { code: 'disk-full', detail: 'no room', repair: 'Free some.' } }
  expect(await run(`${say(problem)} process.exit(1)`)).toEqual({ ok: false, message: 'no room. Free some.' })
  expect(await run('process.exit(3)')).toMatchObject({
    ok: false,
    message: 'the backup program ended with exit code 3.',
  })
  expect(await run('', join(folder, 'nothing'))).toMatchObject({ ok: false })
  const told = await run(
    `${say({ progress: 'a' })} console.log('no json'); ${say({ agents: 2, files: 3, secrets: false, not_held: ['ann'] })}`,
  )
  expect(told).toEqual({
    ok: true,
    message:
      'The backup contains 2 agents and 3 files, without secrets. ann continued to work while its data was read; files that changed meanwhile may be inconsistent.',
  })
  const skipped = [
    { agent: 'ann', count: 2, first: [{ name: './pipe', why: 'a named pipe' }], ended_by: null },
    { agent: null, count: 1, first: [{ name: 'config/x', why: 'no target' }], ended_by: null },
    { agent: 'bob', count: 0, first: [], ended_by: 'the archive of the agent is longer than 9 MB' },
  ]
  const missing = { skipped, left_out: [{ agent: 'eve', why: 'the engine has gone away' }] }
  const ofMissing =
    'The data of eve is not in the backup: the engine has gone away. 2 entries of the data of ann are not in the backup (such as ./pipe: a named pipe). 1 entry of the home is not in the backup (such as config/x: no target). Only a part of the data of bob is in the backup: the archive of the agent is longer than 9 MB.'
  const about = { product: '1', agents: 2, secrets: true }
  for (const deed of ['make', 'verify'] as const) {
    await writeFile(
      script,
      say(deed === 'make' ? { agents: 2, ...missing } : { ok: true, about, ...missing }),
    )
    const end = await createRunBackupProgram({ program: [process.execPath, script], env: {}, home: folder })({
      ...asked,
      deed,
    })
    expect(end).toMatchObject({ ok: true, message: expect.stringContaining(ofMissing) })
  }
})

it('a backup program that the system refuses at once is a result with the reason', async () => {
  const folder = await aFolder()
  const end = await createRunBackupProgram({ program: [process.execPath], env: {}, home: folder })({
    deed: 'make',
    // An argument above 128 KiB: Node throws E2BIG as it throws ENOMEM.
    file: 'x'.repeat(200_000),
    passphrase: null,
    step: () => {},
    moved: () => {},
    signal: new AbortController().signal,
  })
  expect(end).toEqual({ ok: false, message: expect.stringContaining('E2BIG') as unknown })
})
