import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { expect, test } from 'vitest'
import { sessionHistory } from './session-history.ts'
import { createSessions } from './sessions.ts'
import type { Session } from './sessions.ts'

function aSession(...said: string[]): Session {
  const messages = said.map((text) => ({ role: 'user', content: sanitizeForPrompt(text) }) as const)
  return { messages, rounds: 1, continues: 0, flushed: false, taskId: null, trust: 'owner' }
}

function inFolder(sessionsMax?: number) {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'sessions-'))
  let now = 0
  const clock = { now: () => (now += 1), sleep: async () => undefined }
  const sessions = createSessions({ dataDirectory, clock, ...(sessionsMax ? { sessionsMax } : {}) })
  const files = (folder: string) => readdirSync(join(dataDirectory, '.flotilla', folder))
  const text = (path: string) => readFileSync(join(dataDirectory, '.flotilla', path), 'utf8')
  return { sessions, files, text }
}

test('a reset conversation is archived before it is forgotten, and one hundred archives are kept', async () => {
  const { sessions, files } = inFolder()
  for (let turn = 0; turn < 103; turn++) {
    await sessions.save('main', aSession('one', 'two'), (await sessions.load('main')).mark)
    expect(await sessions.reset('main')).toBe(2)
  }
  expect(await sessions.reset('main')).toBe(0)
  expect((await sessions.load('main')).messages).toEqual([])
  expect(files('archives').length).toBeLessThanOrEqual(100)
  expect(files('sessions')).toEqual([])
})

test('the newest hundred archives are kept whole, since what a person forgot by mistake is found only there', async () => {
  const { sessions, files, text } = inFolder()
  for (let turn = 0; turn < 103; turn++) {
    await sessions.save('main', aSession(`said ${turn}`), (await sessions.load('main')).mark)
    await sessions.reset('main')
  }
  const kept = files('archives').map((name) => /said \d+/.exec(text(join('archives', name)))?.[0])
  const newest = Array.from({ length: 100 }, (_, at) => `said ${at + 3}`)
  expect(new Set(kept)).toEqual(new Set(newest))
  expect(kept).toHaveLength(100)
})

test('a turn that began before the reset does not bring the conversation back', async () => {
  const { sessions } = inFolder()
  const { mark } = await sessions.load('main')
  await sessions.reset('main')
  await sessions.save('main', aSession('late'), mark)
  expect((await sessions.load('main')).messages).toEqual([])
})

test('a turn that begins while the conversation is forgotten finds it forgotten, and is kept itself', async () => {
  const { sessions } = inFolder()
  await sessions.save('main', aSession('before'), 0)
  const resetting = sessions.reset('main')
  const { messages, mark } = await sessions.load('main')
  await resetting
  expect(messages).toEqual([])
  await sessions.save('main', aSession('after'), mark)
  expect((await sessions.load('main')).messages.map(({ content }) => content)).toEqual(['after'])
})

test('conversations are listed; beyond their bound the oldest goes to the archive and is not lost', async () => {
  const { sessions, files } = inFolder(3)
  for (const name of ['a', 'b', 'c', 'd']) {
    await sessions.save(name, aSession(name), 0)
    // Files are ordered by their times, which have a limited resolution.
    await new Promise((resolve) => {
      setTimeout(resolve, 15)
    })
  }
  const { sessions: listed, total } = await sessions.list()
  expect(listed.map(({ session }) => session)).toEqual(['d', 'c', 'b'])
  expect(total).toBe(3)
  expect(files('archives')).toHaveLength(1)
})

test('a history shows the newest messages and says how many there are', () => {
  const history = sessionHistory('main', aSession('one', 'two', 'three'), 2)
  expect(history.messages.map(({ text }) => text)).toEqual(['two', 'three'])
  expect(history.total).toBe(3)
})

test('a history of long texts fits what the mesh reads', () => {
  const history = sessionHistory(
    'main',
    aSession(...Array.from({ length: 90 }, () => '界'.repeat(30_000))),
    500,
  )
  expect(Buffer.byteLength(JSON.stringify(history))).toBeLessThan(4 * 1024 * 1024)
  expect(history.messages[0]?.text.endsWith(' [cut]')).toBe(true)
})
