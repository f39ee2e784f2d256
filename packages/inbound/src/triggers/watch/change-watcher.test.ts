import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import { expect, onTestFinished, test } from 'vitest'
import { collectJournal } from '../../../../../tests/support/collected-ports.ts'
import type { Caller } from '../../../../identity/src/access/index.ts'
import { createFileEditor } from '../../../../foundation/src/config/index.ts'
import { createFileWatches } from './carry-watchers.ts'
import { createChangeWatcher } from './change-watcher.ts'

const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
const page: Caller = { kind: 'human', role: 'owner', channel: 'dashboard', page: 'unproved' }
const inbox = { path: '/srv/inbox', pattern: '*.csv', agent: 'clerk', message: 'See {filename}.', when: null }

async function aFile(text: string | null = null) {
  const home = await mkdtemp(join(tmpdir(), 'flotilla-watcher-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  const path = join(home, 'watchers.yaml')
  if (text !== null) await writeFile(path, text)
  const journal = collectJournal()
  let refreshed = 0
  const change = createChangeWatcher({
    kernel: { guard: () => {}, journal },
    files: createFileWatches({
      path,
      editor: createFileEditor(),
      scanFolder: async () => ({ kind: 'whole', leftOut: false }),
    }),
    requireWorking: (agentId) => {
      if (agentId !== 'clerk') throw new Problem('unknown-agent', { detail: `there is no agent ${agentId}` })
    },
    refresh: async () => void (refreshed += 1),
  })
  const read = () => readFile(path, 'utf8').catch(() => null)
  return { change, read, journal, refreshed: () => refreshed }
}

test("a watcher is created, changed, moved and removed, and the owner's comments stay", async () => {
  const { change, read, journal, refreshed } = await aFile('# mine\nwatchers: []\n')
  await change(owner, { before: null, after: inbox })
  expect(await read()).toContain('# mine')
  const quieter = { ...inbox, when: 'size_bytes > 0' }
  await change(owner, { before: inbox, after: quieter })
  expect(await read()).toContain('when: size_bytes > 0')
  const moved = { ...quieter, path: '/srv/other' }
  await change(owner, { before: quieter, after: moved })
  expect(await read()).not.toContain('/srv/inbox')
  await change(owner, { before: moved, after: null })
  expect(await read()).not.toContain('/srv/other')
  expect(journal.entries.map(({ action, subject }) => `${action} ${subject}`)).toEqual([
    'watcher.created /srv/inbox/*.csv',
    'watcher.updated /srv/inbox/*.csv',
    'watcher.updated /srv/other/*.csv',
    'watcher.removed /srv/other/*.csv',
  ])
  expect(refreshed()).toBe(4)
})

test('an entry that has changed is not overwritten', async () => {
  const { change, read, journal } = await aFile()
  await change(owner, { before: null, after: inbox })
  const text = await read()
  const stale = { ...inbox, message: 'As I saw it.' }
  await expect(change(owner, { before: stale, after: inbox })).rejects.toMatchObject({ code: 'conflict' })
  expect(await read()).toBe(text)
  expect(journal.entries).toHaveLength(1)
})

test('an invalid watcher is rejected with its field before it is written', async () => {
  const { change, read } = await aFile()
  const asked = (fields: Partial<typeof inbox> | { when: string }) =>
    change(owner, { before: null, after: { ...inbox, ...fields } })
  const refused = (field: string) => ({ code: 'bad-request', extra: { field } })
  await expect(asked({ path: 'srv' })).rejects.toMatchObject(refused('path'))
  await expect(asked({ pattern: 'a/b' })).rejects.toMatchObject(refused('pattern'))
  await expect(asked({ message: ' ' })).rejects.toMatchObject(refused('message'))
  await expect(asked({ when: 'size_bytes >' })).rejects.toMatchObject(refused('when'))
  await expect(asked({ agent: 'nobody' })).rejects.toMatchObject({ code: 'unknown-agent' })
  await expect(change(owner, { before: null, after: null })).rejects.toMatchObject({ code: 'bad-request' })
  expect(await read()).toBe(null)
})

test("only a person at the terminal or dashboard can change watchers, a page with the owner's proof", async () => {
  const { change, read } = await aFile()
  const agent: Caller = { kind: 'agent', agentId: 'operator', token: 'door', run: null }
  await expect(change(agent, { before: null, after: inbox })).rejects.toMatchObject({ code: 'human-only' })
  const chat: Caller = { kind: 'human', role: 'owner', channel: 'telegram' }
  await expect(change(chat, { before: null, after: inbox })).rejects.toMatchObject({ code: 'human-only' })
  await expect(change(page, { before: null, after: inbox })).rejects.toMatchObject({ code: 'proof-wanted' })
  expect(await read()).toBe(null)
  await change({ ...page, page: 'proved' }, { before: null, after: inbox })
  // Removing a watcher reveals nothing.
  await change(page, { before: inbox, after: null })
  expect(await read()).not.toContain('inbox')
})
