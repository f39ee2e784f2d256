import { mkdtemp, readFile, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import type { Caller } from '../access/index.ts'
import { isAtTerminal } from '../access/at-terminal.ts'
import { authorize } from '../access/authorize.ts'
import { createFileEditor } from '../../../foundation/src/config/atomic-file.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { channelCaller, personNow } from './index.ts'
import { createManagePeople } from './manage-people.ts'
import { createPeopleFile, digestOf } from './people-file.ts'

const owner: Caller = { kind: 'human', channel: 'cli', role: 'owner' }

async function aHome(text?: string) {
  const path = join(await mkdtemp(join(tmpdir(), 'people-')), 'people.json')
  if (text !== undefined) await writeFile(path, text)
  const clock = createManualClock()
  const changes: boolean[] = []
  const journal: { actor: string; action: string; subject: string }[] = []
  const file = await createPeopleFile({
    path,
    editor: createFileEditor(),
    clock,
    log: silentLog,
    onChange: (_now, _before, byHand) => void changes.push(byHand),
  })
  onTestFinished(() => file.close())
  let tokens = 0
  const left: string[] = []
  const manage = createManagePeople(
    {
      guard: (caller, action) => {
        const decision = authorize({ broken: null, recordOf: () => undefined }, caller, action)
        if (!decision.allowed) throw new Problem('denied', { detail: decision.reason })
      },
      journal: { append: ({ actor, action, subject }) => void journal.push({ actor, action, subject }) },
      randomToken: () => `secret${++tokens}`,
      clock,
    },
    file,
    async (name) => void left.push(name),
  )
  const kept = () => readFile(path, 'utf8')
  return { path, clock, file, manage, changes, journal, kept, left }
}

const ann = { name: 'ann', role: 'member', agents: ['ada'], identities: [] } as const
const wanted = () => ({ ...ann, agents: [...ann.agents], identities: [] })
const codeOf = async (work: Promise<unknown>) =>
  work.then(
    () => 'no problem',
    (error: unknown) => (error instanceof Problem ? error.code : String(error)),
  )

describe('people', () => {
  test('without a file there are no people', async () => {
    const { file, manage } = await aHome()
    expect(manage.list(owner)).toEqual([])
    expect(file.snapshot().byToken('flp_x')).toBeNull()
  })

  test('an added person is known by a token that is shown once and stored as a digest', async () => {
    const { file, manage, kept, journal, path, clock } = await aHome()
    const { token, person } = await manage.add(owner, wanted())
    expect(token).toBe('flp_secret1')
    expect(person).toEqual({
      ...ann,
      token: 'valid',
      token_expires_at: new Date(clock.now() + 90 * 24 * 3600 * 1000).toISOString(),
    })
    expect(file.snapshot().byToken(token)).toMatchObject({ name: 'ann', role: 'member', agents: ['ada'] })
    expect(await kept()).not.toContain('secret1')
    expect(await kept()).toContain(digestOf(token))
    expect(journal).toEqual([{ actor: 'human:cli', action: 'person.added', subject: 'ann' }])
    expect((await stat(path)).mode & 0o077).toBe(0)
  })

  test('a new token invalidates the old one', async () => {
    const { file, manage } = await aHome()
    const { token } = await manage.add(owner, wanted())
    const rotated = await manage.rotate(owner, 'ann')
    expect(file.snapshot().byToken(token)).toBeNull()
    expect(file.snapshot().byToken(rotated.token)?.name).toBe('ann')
  })

  test('tokens of owners expire on request, and others after 90 days by default', async () => {
    const { manage, clock } = await aHome()
    const day = 24 * 3600 * 1000
    const start = clock.now()
    const inDays = (days: number) => new Date(start + days * day).toISOString()
    const add = (name: string, role: 'owner' | 'viewer', days?: number | null) =>
      manage.add(owner, { ...wanted(), name, role, expires_days: days })
    const made = [
      await add('bob', 'viewer'),
      await add('cleo', 'viewer', 30),
      await add('dan', 'viewer', null),
      await add('max', 'owner'),
      await add('mia', 'owner', 1),
    ]
    expect(made.map(({ person }) => person.token_expires_at)).toEqual([
      inDays(90),
      inDays(30),
      null,
      null,
      inDays(1),
    ])
    await clock.leap(30 * day)
    expect(manage.list(owner).map(({ name, token }) => [name, token])).toEqual([
      ['bob', 'valid'],
      ['cleo', 'expired'],
      ['dan', 'valid'],
      ['max', 'valid'],
      ['mia', 'expired'],
    ])
    const { person } = await manage.rotate(owner, 'cleo')
    expect(person).toMatchObject({ token: 'valid', token_expires_at: inDays(120) })
    expect((await manage.rotate(owner, 'cleo', 1)).person.token_expires_at).toBe(inDays(31))
  })

  test('a changed person keeps the token and unnamed fields', async () => {
    const { file, manage } = await aHome()
    const { token } = await manage.add(owner, wanted())
    expect(await manage.change(owner, 'ann', { agents: ['bob'] })).toMatchObject({
      role: 'member',
      agents: ['bob'],
    })
    expect(await manage.change(owner, 'ann', { role: 'viewer', identities: ['user:7'] })).toMatchObject({
      role: 'viewer',
      agents: ['bob'],
    })
    expect(file.snapshot().byToken(token)?.role).toBe('viewer')
    expect(file.snapshot().byUser(7)?.name).toBe('ann')
    expect(file.snapshot().byName('ann')).toMatchObject({ role: 'viewer', agents: ['bob'] })
  })

  test('a removed person has no access', async () => {
    const { file, manage, left } = await aHome()
    const { token } = await manage.add(owner, wanted())
    expect(left).toEqual([])
    await manage.remove(owner, 'ann')
    expect(left).toEqual(['ann'])
    expect(file.snapshot().byToken(token)).toBeNull()
    expect(file.snapshot().byName('ann')).toBeNull()
    expect(await codeOf(manage.rotate(owner, 'ann'))).toBe('not-found')
  })

  test('names and accounts are unique', async () => {
    const { manage } = await aHome()
    await manage.add(owner, { ...wanted(), identities: ['user:7'] })
    expect(await codeOf(manage.add(owner, wanted()))).toBe('conflict')
    expect(await codeOf(manage.add(owner, { ...wanted(), name: 'bob', identities: ['user:7'] }))).toBe(
      'conflict',
    )
    await manage.add(owner, { ...wanted(), name: 'bob' })
    expect(await codeOf(manage.change(owner, 'bob', { identities: ['user:7'] }))).toBe('conflict')
  })

  test('a person is looked up by name, with the current permissions and no grants of others', async () => {
    const { file, manage } = await aHome()
    await manage.add(owner, wanted())
    expect(personNow(file.snapshot(), 'ann')).toEqual([{ role: 'member', agents: ['ada'] }])
    await manage.change(owner, 'ann', { role: 'viewer' })
    expect(personNow(file.snapshot(), 'ann')).toEqual([{ role: 'viewer' }])
    await manage.remove(owner, 'ann')
    expect(personNow(file.snapshot(), 'ann')).toEqual([])
  })

  test('a person is known by either spelling of a number, or by the exact one if two people have one each', async () => {
    const { file, manage } = await aHome()
    const personOf = (id: string) => channelCaller(file.snapshot(), 'whatsapp', id)?.person ?? null
    await manage.add(owner, { ...wanted(), identities: ['whatsapp:5511987654321'] })
    expect(['5511987654321', '551187654321', '551187654322'].map(personOf)).toEqual(['ann', 'ann', null])
    const bob = { ...wanted(), name: 'bob', identities: ['whatsapp:551187654321'] }
    await manage.add(owner, bob)
    expect(['5511987654321', '551187654321'].map(personOf)).toEqual(['ann', 'bob'])
  })

  test("a person is known on a channel by the platform's id, with the current role", async () => {
    const { file, manage, kept } = await aHome()
    await manage.add(owner, { ...wanted(), identities: ['telegram:123'] })
    const now = () => channelCaller(file.snapshot(), 'telegram', '123')
    expect(now()).toEqual({
      kind: 'human',
      channel: 'telegram',
      user: 'ann',
      role: 'member',
      person: 'ann',
      agents: ['ada'],
    })
    expect(channelCaller(file.snapshot(), 'discord', '123')).toBeNull()
    expect(channelCaller(file.snapshot(), 'telegram', '1234')).toBeNull()
    await manage.change(owner, 'ann', { role: 'owner' })
    const asOwner = now()
    expect(asOwner).toMatchObject({ role: 'owner', channel: 'telegram' })
    // A chat is no terminal, so approvals that need one cannot be confirmed there.
    expect(asOwner && isAtTerminal(asOwner)).toBe(false)
    await manage.change(owner, 'ann', { remove_identities: ['telegram:123'] })
    expect(now()).toBeNull()
    expect(await kept()).not.toContain('telegram')
  })

  test('identities are added to a person, each to one person only', async () => {
    const { manage } = await aHome()
    await manage.add(owner, { ...wanted(), identities: ['user:7'] })
    await manage.add(owner, { ...wanted(), name: 'bob' })
    const linked = { add_identities: ['telegram:123', 'slack:T1:U2'] }
    const identities = ['user:7', 'telegram:123', 'slack:T1:U2']
    expect(await manage.change(owner, 'ann', linked)).toMatchObject({ identities })
    expect(await manage.change(owner, 'ann', linked)).toMatchObject({ identities })
    expect(await codeOf(manage.change(owner, 'bob', { add_identities: ['slack:T1:U2'] }))).toBe('conflict')
    expect(
      await manage.change(owner, 'ann', { remove_identities: ['slack:T1:U2', 'telegram:9'] }),
    ).toMatchObject({ identities: ['user:7', 'telegram:123'] })
    await manage.change(owner, 'bob', { add_identities: ['slack:T1:U2'] })
    const many = Array.from({ length: 21 }, (_, index) => `user:${index + 100}`)
    expect(await codeOf(manage.change(owner, 'bob', { add_identities: many }))).toBe('unprocessable')
    expect(await codeOf(manage.change(owner, 'bob', { add_identities: ['local'] }))).toBe('unprocessable')
  })

  test('only owners can manage people', async () => {
    const { manage } = await aHome()
    await manage.add(owner, wanted())
    const others: readonly Caller[] = [
      { kind: 'human', channel: 'cli', role: 'member', person: 'ann', agents: ['*'] },
      { kind: 'human', channel: 'cli', role: 'viewer' },
      { kind: 'agent', agentId: 'operator', token: 'door', run: null },
      { kind: 'internal' },
    ]
    for (const caller of others) {
      expect(() => manage.list(caller)).toThrow(expect.objectContaining({ code: 'denied' }))
      expect(await codeOf(manage.add(caller, { ...wanted(), name: 'eve' }))).toBe('denied')
      expect(await codeOf(manage.change(caller, 'ann', { role: 'owner' }))).toBe('denied')
      expect(await codeOf(manage.rotate(caller, 'ann'))).toBe('denied')
      expect(await codeOf(manage.remove(caller, 'ann'))).toBe('denied')
    }
  })
})

describe('the people file', () => {
  const entry = (more: object) =>
    JSON.stringify({ people: [{ name: 'ann', role: 'viewer', ...more }] }, null, 1)

  test('the file is read again after an edit by hand, and edits apply to its current content', async () => {
    const { path, clock, file, manage, changes } = await aHome()
    await writeFile(path, entry({ identities: ['user:7'] }))
    await clock.advance(1000)
    await file.refresh()
    expect(file.snapshot().byUser(7)?.name).toBe('ann')
    await manage.add(owner, { ...wanted(), name: 'bob' })
    expect(manage.list(owner).map(({ name }) => name)).toEqual(['ann', 'bob'])
    expect(changes).toEqual([true, false])
  })

  test.each([
    ['an unknown role', entry({ role: 'boss' }), /line 5: people\.0\.role/],
    ['an unknown field', entry({ rule: 'owner' }), /line \d+: people\.0/],
    [
      'a duplicate name',
      '{"people":[{"name":"a","role":"viewer"},\n{"name":"a","role":"owner"}]}',
      /line 2: .*two people have the name a/,
    ],
    [
      'a member with the identity session',
      entry({ role: 'member', identities: ['session'] }),
      /identities of owners alone/,
    ],
    ['an invalid identity', entry({ identities: ['telegram:ann'] }), /line \d+: .*telegram:123456789/],
    [
      'an identity of two people',
      '{"people":[{"name":"a","role":"viewer","identities":["telegram:1"]},\n{"name":"b","role":"owner","identities":["telegram:1"]}]}',
      /line 2: .*two people have the identity telegram:1/,
    ],
    ['invalid JSON', '{"people": [', /line 1/],
  ])('a file with %s gives no one access and reports line and repair', async (_what, text, reason) => {
    const { file, manage, path } = await aHome(text)
    expect(file.snapshot().people).toEqual([])
    expect(file.snapshot().broken).toMatch(reason)
    expect(() => personNow(file.snapshot(), 'ann')).toThrow(
      expect.objectContaining({ code: 'unprocessable' }),
    )
    expect(() => manage.list(owner)).toThrow(expect.objectContaining({ code: 'unprocessable' }))
    expect(await codeOf(manage.add(owner, wanted()))).toBe('unprocessable')
    // A file that must be repaired by hand is not overwritten.
    expect(await readFile(path, 'utf8')).toBe(text)
    await writeFile(path, entry({}))
    await file.refresh()
    expect(file.snapshot().broken).toBeNull()
  })
})

test('the example in the page on people is a valid file', async () => {
  const page = await readFile(join(import.meta.dirname, '../../../../docs/people.md'), 'utf8')
  const example = /```json\n([^]*?)```/.exec(page)?.[1] ?? ''
  const { file } = await aHome(example)
  expect(file.snapshot()).toMatchObject({ broken: null })
  expect(file.snapshot().people.map(({ name, role }) => [name, role])).toEqual([
    ['ann', 'member'],
    ['vic', 'viewer'],
    ['max', 'owner'],
  ])
})
