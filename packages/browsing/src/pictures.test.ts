import { expect, test } from 'vitest'
import { heedsLesson } from '../../../tests/verifies.ts'
import { Problem } from '@flotilla/protocol/problem'
import { person } from '../../testing/src/ledger-harness.ts'
import { createPictures } from './pictures.ts'
import type { Session } from './held-sessions.ts'
import type { BrowserSessions } from './sessions.ts'

const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16, 0x4a, 0x46, 0x49, 0x46])

function looking(take: () => Promise<Uint8Array | null> = async () => jpeg) {
  let now = 1000
  let requestCount = 0
  let open = true
  const service = {
    picture: () => {
      requestCount++
      return take()
    },
  } as unknown as NonNullable<Session['service']> // only its picture is requested
  const sessions: Pick<BrowserSessions, 'of'> = {
    of: () => ({ service: open ? service : null }) as Session, // no other field is read
  }
  const picture = createPictures({
    sessions,
    guard: (caller, action) => {
      if (caller.kind === 'agent') throw new Problem('denied', { detail: action.do })
    },
    requireAgent: (agentId) => {
      if (agentId !== 'ada') throw new Problem('unknown-agent')
    },
    clock: { now: () => now, sleep: async () => {} },
  })
  return {
    see: (agentId = 'ada') => picture(person, agentId),
    picture,
    asked: () => requestCount,
    pass: (ms: number) => (now += ms),
    close: () => (open = false),
  }
}

test('one picture serves all who ask while it is taken and for two seconds more', async () => {
  heedsLesson(119)
  const { see, asked, pass } = looking()
  expect(await Promise.all([see(), see()])).toEqual([
    { type: 'image/jpeg', content: jpeg },
    { type: 'image/jpeg', content: jpeg },
  ])
  pass(1999)
  await see()
  expect(asked()).toBe(1)
  pass(1)
  await see()
  expect(asked()).toBe(2)
})

test('one that lasts is waited for by all, and so is a failure', async () => {
  const gate = Promise.withResolvers<Uint8Array | null>()
  const { see, asked, pass } = looking(() => gate.promise)
  const first = see()
  pass(60_000)
  const second = see()
  gate.reject(new Problem('upstream-timeout'))
  await expect(first).rejects.toMatchObject({ code: 'upstream-timeout' })
  await expect(second).rejects.toMatchObject({ code: 'upstream-timeout' })
  await expect(see()).rejects.toMatchObject({ code: 'upstream-timeout' })
  expect(asked()).toBe(1)
})

test('an invalid picture is not passed on, and a missing one is not found', async () => {
  await expect(looking(async () => Buffer.from('<script>')).see()).rejects.toMatchObject({
    code: 'upstream-failed',
  })
  await expect(looking(async () => null).see()).rejects.toMatchObject({ code: 'not-found' })
})

test('a closed browser is not opened, and the permission is checked first', async () => {
  const { see, picture, asked, close } = looking()
  await expect(see('nobody')).rejects.toMatchObject({ code: 'unknown-agent' })
  await expect(
    picture({ kind: 'agent', agentId: 'ada', token: 'door', run: null }, 'ada'),
  ).rejects.toMatchObject({ code: 'denied' })
  close()
  await expect(see()).rejects.toMatchObject({ code: 'not-found' })
  expect(asked()).toBe(0)
})
