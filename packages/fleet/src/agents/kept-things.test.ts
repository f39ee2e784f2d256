import { missingAgent } from '../../../testing/src/missing-agent.ts'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { authorize } from '../../../identity/src/access/index.ts'
import type { Caller } from '../../../identity/src/access/index.ts'
import { createKeptThings, downloadName, lastLines } from './kept-things.ts'

/** Records the requests to an agent after the permission check passed them. */
function aServer() {
  const requests: string[] = []
  const written: unknown[] = []
  const things = createKeptThings({
    guard: (caller, action) => {
      const decision = authorize({ recordOf: () => undefined, broken: null }, caller, action)
      if (!decision.allowed) throw new Problem('denied', { detail: decision.reason })
    },
    journal: { append: (entry) => void written.push(entry) },
    runtime: { logs: async () => 'one\ntwo\n' },
    fleet: {
      require: missingAgent,
      requireWorking: () => {},
      reach: async (agentId) => {
        requests.push(agentId)
        throw new Problem('agent-unavailable', { detail: 'it is not there' })
      },
    },
  })
  return { things, asked: requests, written }
}

const viewer: Caller = { kind: 'human', channel: 'dashboard', role: 'viewer', person: 'vera' }
const member: Caller = { kind: 'human', channel: 'api', role: 'member', person: 'max', agents: ['scribe'] }
const other: Caller = { kind: 'agent', agentId: 'spy', token: 'door', run: null }

describe('an agent’s files, memory and log for people', () => {
  test('an agent’s files, memory and log for people is shown to who may view the fleet, and to no agent without that right', async () => {
    const { things, asked } = aServer()
    const looks = [
      (caller: Caller) => things.identityFiles(caller, 'scribe'),
      (caller: Caller) => things.identityFile(caller, 'scribe', 'SOUL.md'),
      (caller: Caller) => things.folder(caller, 'scribe', ''),
      (caller: Caller) => things.file(caller, 'scribe', { path: 'a', gone: new AbortController().signal }),
      (caller: Caller) => things.facts(caller, 'scribe', { words: '', limit: 5 }),
      (caller: Caller) => things.tools(caller, 'scribe'),
    ]
    for (const look of looks) {
      await expect(look(other)).rejects.toMatchObject({ code: 'denied' })
      await expect(look(viewer)).rejects.toMatchObject({ code: 'agent-unavailable' })
    }
    expect(asked).toHaveLength(looks.length)
    await expect(things.logs(other, 'scribe', 5)).rejects.toMatchObject({ code: 'denied' })
    await expect(things.logs(viewer, 'nobody', 5)).rejects.toMatchObject({ code: 'unknown-agent' })
    await expect(things.identityFile(viewer, 'scribe', '../x')).rejects.toMatchObject({ code: 'not-found' })
  })

  test('an agent’s files, memory and log for people is forgotten by who may act on that agent alone, and no row is written for who may not', async () => {
    const { things, asked, written } = aServer()
    await expect(things.forgetFact(viewer, 'scribe', 'fact_1')).rejects.toMatchObject({ code: 'denied' })
    await expect(things.forgetFact(member, 'courier', 'fact_1')).rejects.toMatchObject({ code: 'denied' })
    await expect(things.forgetFact(other, 'scribe', 'fact_1')).rejects.toMatchObject({ code: 'denied' })
    await expect(things.forgetFact(member, 'scribe', '../x')).rejects.toMatchObject({ code: 'bad-request' })
    expect([asked, written]).toEqual([[], []])
    await expect(things.forgetFact(member, 'scribe', 'fact_1')).rejects.toMatchObject({
      code: 'agent-unavailable',
    })
    expect(asked).toEqual(['scribe'])
  })

  test.each([
    ['notes/today.md', 'today.md'],
    ['a"; filename="x.exe', 'a___filename__x.exe'],
    ['ein Bericht\r\nSet-Cookie: a=b', 'ein_Bericht__Set-Cookie__a_b'],
    ['../..', 'file'],
    ['', 'file'],
  ])('the file %j is saved as %s', (path, name) => {
    expect(downloadName(path)).toBe(name)
  })

  test('the last lines are complete and contain no terminal control sequences', () => {
    expect(lastLines('one\ntwo\n\u001b[2Jthree\u202e\n', 2)).toEqual(['two', '[2Jthree'])
    expect(lastLines('', 5)).toEqual([])
    expect(lastLines('one', 5)).toEqual(['one'])
  })
})
