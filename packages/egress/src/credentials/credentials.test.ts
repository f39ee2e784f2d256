import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { afterEach, describe, expect, test } from 'vitest'
import { collectJournal, countingIds } from '../../../../tests/support/collected-ports.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { createFileEditor } from '../../../foundation/src/config/atomic-file.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import type { Action } from '../../../identity/src/access/action.ts'
import { authorize } from '../../../identity/src/access/authorize.ts'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { openDatabase } from '../../../foundation/src/storage/database.ts'
import { allMigrations } from '../../../foundation/src/storage/migrations/all-migrations.ts'
import { migrate } from '../../../foundation/src/storage/migrate.ts'
import { answerText } from './tell-answer.ts'
import { createBindingFile } from './binding-file.ts'
import { createCredentialRequests } from './credential-requests.ts'
import { createGenerateSecret } from './generate-secret.ts'
import { createGeneratedTable } from './generated-table.ts'
import { createListUsable } from './list-usable.ts'
import { createManageCredentials } from './manage-credentials.ts'
import type { CredentialRequest } from './request-table.ts'
import { createVault } from './vault.ts'
import { createIdentityEvents } from '../../../identity/src/events/index.ts'

const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
const agent = (agentId: string): Caller => ({
  kind: 'agent',
  agentId,
  token: 'door',
  run: { runId: 'run_1', agentId, fence: 1, budgetUsd: null } as never, // only the id is read here
})
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const records: Record<string, object> = {
  spawn_2: { allowed_credentials: ['*'] },
  lead: { can_request_user_credentials: true, allowed_credentials: ['*'] },
  worker: { allowed_credentials: ['made_*', 'GITHUB'] },
  plain: {},
  ...Object.fromEntries(
    Array.from({ length: 6 }, (_, index) => [`shelved${index}`, { can_request_user_credentials: true }]),
  ),
}

async function aHarness() {
  const folder = await mkdtemp(join(tmpdir(), 'credentials-'))
  const editor = createFileEditor()
  const clock = createManualClock()
  const database = openDatabase(':memory:')
  migrate(database, allMigrations)
  const journal = collectJournal()
  const decide = (caller: Caller, action: Action) =>
    authorize(
      { broken: null, recordOf: (id) => permissionRecordSchema.parse(records[id] ?? {}) },
      caller,
      action,
    )
  const guard = (caller: Caller, action: Action) => {
    const decision = decide(caller, action)
    if (!decision.allowed) throw new Problem('denied', { detail: decision.reason })
  }
  const vault = await createVault({
    env: { FLOTILLA_SYSTEM_OPENAI_API_KEY: 'system-value-1' },
    envFilePath: join(folder, '.env'),
    editor,
  })
  const bindings = await createBindingFile({
    path: join(folder, 'credentials.json'),
    editor,
    clock,
    log: silentLog,
  })
  closing.push(() => bindings.close())
  const notes: string[] = []
  const notified: CredentialRequest[] = []
  const lane = { full: false, gone: false, archived: '' }
  const requests = createCredentialRequests({
    database,
    guard,
    journal,
    clock,
    newId: countingIds(),
    log: silentLog,
    note: (_caller, message) => void notes.push(message),
    deliver: (request) => {
      if (lane.gone) throw new Problem('unknown-agent')
      if (lane.full) throw new Problem('lane-full')
      if (lane.archived !== '' && request.agentId.startsWith(lane.archived))
        throw new Problem('agent-archived')
      notified.push(request)
    },
  })
  let bytes = 0
  const identityEvents = createIdentityEvents()
  const makers: Record<string, string> = { spawn_1: 'lead', spawn_2: 'spawn_1' }
  identityEvents.makersOf.subscribe((id) => (makers[id] === undefined ? [] : [makers[id]]))
  return {
    vault,
    bindings,
    bindingsPath: join(folder, 'credentials.json'),
    journal,
    notes,
    told: notified,
    lane,
    clock,
    requests,
    generate: createGenerateSecret({
      vault,
      guard,
      database,
      journal,
      clock,
      table: createGeneratedTable(database),
      identityEvents,
      fingerprint: (value) => `${value.length} characters`,
      randomBytes: (count) => Uint8Array.from({ length: count }, () => (bytes = (bytes * 31 + 7) % 256)),
    }),
    usable: createListUsable({ vault, bindings, guard, decide }),
    manage: createManageCredentials({
      vault,
      bindings,
      guard,
      journal,
      fingerprint: (value) => `fp${value.length}`,
      doubts: (url) => (url.port === '3000' ? [`${url.host} is closed`] : []),
      onStored: requests.granted,
    }),
  }
}

describe('the owner', () => {
  test('the owner shows at once what a binding covers and what would still block it', async () => {
    const { manage } = await aHarness()
    const value = 'value-of-service'
    const told = async (hosts: readonly string[]) =>
      (await manage.set(owner, { name: 'svc', value, hosts })).notices
    expect(
      await told(['api.github.com', '*.example.org', 'http://nas.lan:5000', 'https://nas.lan:5001']),
    ).toEqual([])
    expect(await told(['127.0.0.1:3000'])).toEqual([
      '127.0.0.1:3000 covers only https://127.0.0.1:3000; for a service without TLS bind http://127.0.0.1:3000',
      '127.0.0.1:3000 is closed',
    ])
    expect(await told(['http://127.0.0.1:3000'])).toEqual(['127.0.0.1:3000 is closed'])
    expect(await told(['192.168.1.20'])).toEqual([
      expect.stringContaining('covers only https://192.168.1.20'),
    ])
    expect((await manage.bind(owner, { name: 'svc', hosts: ['nas.lan:5000'] })).notices).toEqual([
      expect.stringContaining('http://nas.lan:5000'),
    ])
    expect(manage.list(owner).credentials[0]?.notices).toHaveLength(1)
  })

  test('the owner stores, binds, lists, unbinds and removes, and each is journaled without the value', async () => {
    const { manage, vault, journal } = await aHarness()
    await manage.set(owner, { name: 'GitHub', value: ' value-of-github \n', hosts: ['api.github.com'] })
    expect(vault.agentTier('github')?.reveal()).toBe('value-of-github')
    expect(manage.list(owner)).toEqual({
      broken: null,
      credentials: [
        {
          name: 'github',
          tier: 'agent',
          source: 'file',
          fingerprint: 'fp15',
          hosts: ['api.github.com'],
          note: '',
          programs: [],
          unused_because: null,
          notices: [],
        },
        {
          name: 'openai_api_key',
          tier: 'system',
          source: 'mesh',
          fingerprint: 'fp14',
          hosts: [],
          note: '',
          programs: [],
          unused_because: 'only the mesh itself uses this credential',
          notices: [],
        },
      ],
    })
    await manage.bind(owner, { name: 'github', hosts: ['*.github.com'], note: 'CI' })
    expect(await manage.unbind(owner, 'github')).toMatchObject({
      hosts: [],
      unused_because: 'the credential is bound to no host',
    })
    await manage.remove(owner, 'github')
    expect(vault.agentTier('github')).toBeUndefined()
    await expect(manage.remove(owner, 'github')).rejects.toMatchObject({ code: 'not-found' })
    expect(journal.entries.map(({ action }) => action)).toEqual([
      'credential.bound',
      'credential.stored',
      'credential.bound',
      'credential.unbound',
      'credential.removed',
    ])
    expect(JSON.stringify(journal.entries)).not.toContain('value-of')
  })

  test.each(['FLOTILLA_SYSTEM_OPENAI_API_KEY', 'flotilla_cred_x', '../x', 'a b', '', '_a', 'a'.repeat(129)])(
    'the owner cannot name a credential %j',
    async (name) => {
      const { manage } = await aHarness()
      await expect(manage.set(owner, { name, value: 'some-value-1' })).rejects.toMatchObject({
        code: 'bad-request',
      })
    },
  )

  test('the owner rejects an invalid host, and nothing is stored', async () => {
    const { manage, vault } = await aHarness()
    const set = manage.set(owner, { name: 'x', value: 'some-value-1', hosts: ['*'] })
    await expect(set).rejects.toMatchObject({ code: 'bad-request' })
    expect(vault.agentTier('x')).toBeUndefined()
  })

  test('the owner alone may: no agent, however much it may, and not the mesh itself', async () => {
    verifies('authentication:credentials:handles-only')
    const { manage, requests } = await aHarness()
    for (const caller of [agent('lead'), { kind: 'internal' }, { kind: 'system' }] as const) {
      const denied = { code: 'denied' }
      expect(() => manage.list(caller)).toThrow(expect.objectContaining(denied))
      expect(() => requests.list(caller)).toThrow(expect.objectContaining(denied))
      expect(() => requests.deny(caller, 'cred_1', '')).toThrow(expect.objectContaining(denied))
      await expect(manage.set(caller, { name: 'x', value: 'some-value-1' })).rejects.toMatchObject(denied)
      await expect(manage.bind(caller, { name: 'x', hosts: [] })).rejects.toMatchObject(denied)
      await expect(manage.unbind(caller, 'x')).rejects.toMatchObject(denied)
      await expect(manage.remove(caller, 'x')).rejects.toMatchObject(denied)
    }
  })
})

describe('an agent', () => {
  test('an agent lists what its record allows, and never the system tier', async () => {
    verifies(
      'resources:permission:allowed-credentials-star',
      'resources:permission:allowed-credentials-system',
    )
    const { manage, usable } = await aHarness()
    await manage.set(owner, { name: 'github', value: 'value-of-github', hosts: ['api.github.com'] })
    await manage.set(owner, { name: 'bank', value: 'value-of-bank' })
    expect(usable(agent('worker'))).toEqual([
      { name: 'github', handle: '$CRED{github}', hosts: ['api.github.com'] },
    ])
    expect(usable(agent('lead')).map(({ name }) => name)).toEqual(['bank', 'github'])
    expect(usable(agent('plain'))).toEqual([])
  })

  test('an agent has a secret made that it never sees and that goes nowhere yet', async () => {
    const { generate, vault, usable, journal, bindings } = await aHarness()
    const made = await generate(agent('worker'), { name: 'MADE_one', length: 40, charset: 'alphanumeric' })
    expect(made).toEqual({ name: 'made_one', handle: '$CRED{made_one}' })
    const value = vault.agentTier('made_one')?.reveal() ?? ''
    expect(value).toMatch(/^[A-Za-z0-9]{40}$/)
    expect(bindings.bindingOf('made_one')).toBe(null)
    expect(usable(agent('worker'))).toMatchObject([{ name: 'made_one', hosts: [] }])
    expect(JSON.stringify(journal.entries)).not.toContain(value)
    expect((await generate(agent('worker'), { name: 'made_two', length: 16, charset: 'hex' })).handle).toBe(
      '$CRED{made_two}',
    )
    expect(vault.agentTier('made_two')?.reveal()).toMatch(/^[0-9a-f]{16}$/)
  })

  test('an agent cannot generate one under a forbidden or taken name, also concurrently', async () => {
    const { generate } = await aHarness()
    const input = { name: 'made_x', length: 16, charset: 'urlsafe' } as const
    await expect(generate(agent('worker'), { ...input, name: 'other' })).rejects.toMatchObject({
      code: 'denied',
    })
    await expect(generate(agent('plain'), input)).rejects.toMatchObject({ code: 'denied' })
    const both = await Promise.allSettled([generate(agent('worker'), input), generate(agent('lead'), input)])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    await expect(generate(agent('lead'), input)).rejects.toMatchObject({ code: 'conflict' })
    await expect(generate(agent('lead'), { ...input, name: 'flotilla_system_x' })).rejects.toMatchObject({
      code: 'bad-request',
    })
  })
})

describe('credentials that are generated for one agent', () => {
  const form = { length: 16, charset: 'hex' } as const
  const full = /100 credentials were generated for lead, the most for one agent/

  test('credentials that are generated for one agent are a hundred at most, with those of the agents it made, and others still have theirs', async () => {
    const { generate, vault } = await aHarness()
    for (let count = 0; count < 99; count++) await generate(agent('lead'), { ...form, name: `own_${count}` })
    const last = ['lead', 'spawn_2'].map((id) => generate(agent(id), { ...form, name: `made_by_${id}` }))
    const [own, ofChild] = await Promise.allSettled(last)
    expect(own?.status).toBe('fulfilled')
    expect(ofChild).toMatchObject({ reason: { code: 'unprocessable', detail: expect.stringMatching(full) } })
    await generate(agent('worker'), { ...form, name: 'made_other' })
    await vault.removeAgent('own_7')
    await generate(agent('spawn_2'), { ...form, name: 'made_by_child' })
    await expect(generate(agent('lead'), { ...form, name: 'too_many' })).rejects.toMatchObject({
      code: 'unprocessable',
    })
  })

  test('credentials that are generated for one agent are five where other credentials fill the table', async () => {
    const { generate, vault } = await aHarness()
    for (let count = 0; count < 1000; count++)
      await vault.storeAgent(`held_${count}`, `value-number-${count}`)
    for (let count = 0; count < 5; count++)
      await generate(agent('worker'), { ...form, name: `made_floor${count}` })
    await expect(generate(agent('worker'), { ...form, name: 'made_six' })).rejects.toMatchObject({
      detail: expect.stringContaining('there are 1005 credentials'),
    })
  })
})

test('a credential that is removed while its binding cannot be is gone, and that is journaled', async () => {
  const { manage, vault, bindings, bindingsPath, journal } = await aHarness()
  await manage.set(owner, { name: 'github', value: 'value-of-github', hosts: ['api.github.com'] })
  await writeFile(bindingsPath, '{')
  await bindings.refresh()
  await expect(manage.remove(owner, 'github')).rejects.toMatchObject({ code: 'unprocessable' })
  expect(vault.agentTier('github')).toBeUndefined()
  expect(journal.entries.at(-1)).toMatchObject({ action: 'credential.removed', subject: 'github' })
})

describe('a request for a credential', () => {
  const asked = { name: 'GitHub', service: 'GitHub, api.github.com', description: 'open\nissues\u202E' }

  test('a request of a deleted agent is removed, and an agent re-created under its id is not notified', async () => {
    const { requests, manage, told, lane } = await aHarness()
    requests.request(agent('lead'), asked)
    lane.full = true
    const answered = requests.request(agent('lead'), { ...asked, name: 'gitlab' })
    requests.deny(owner, answered.id, 'no')
    requests.forget('lead')
    lane.full = false
    await manage.set(owner, { name: asked.name, value: 'value-of-github' })
    requests.sweep()
    expect([told, requests.list(owner)]).toEqual([[], []])
  })

  test('a request for a credential needs its permission', async () => {
    heedsLesson(42)
    verifies('resources:permission:can-request-user-credentials')
    const { requests, notes } = await aHarness()
    for (const caller of [agent('plain'), agent('worker'), owner])
      expect(() => requests.request(caller, asked)).toThrow(expect.objectContaining({ code: 'denied' }))
    expect(notes).toEqual([])
    expect(requests.request(agent('lead'), asked)).toMatchObject({ state: 'open', name: 'github' })
  })

  test('a request for a credential is one row and one note, however often it is asked', async () => {
    const { requests, notes } = await aHarness()
    const first = requests.request(agent('lead'), asked)
    expect(requests.request(agent('lead'), { ...asked, name: 'GITHUB' }).id).toBe(first.id)
    expect(notes).toEqual([
      `lead asks for the credential github of GitHub, api.github.com: open issues\nStore it: flotilla credentials set github --host HOST\nRefuse it: flotilla credentials deny ${first.id}`,
    ])
    expect(requests.list(owner)).toMatchObject([{ id: first.id, runId: 'run_1', agentId: 'lead' }])
  })

  test('a request for a credential is granted by storing the credential, and the agent is notified once', async () => {
    const { requests, manage, told } = await aHarness()
    requests.request(agent('lead'), asked)
    await manage.set(owner, { name: 'github', value: 'value-of-github', hosts: ['api.github.com'] })
    await manage.set(owner, { name: 'github', value: 'value-of-github-2' })
    requests.sweep()
    expect(told).toMatchObject([{ name: 'github', state: 'granted' }])
    expect(requests.request(agent('lead'), asked).state).toBe('open')
  })

  test('a request for a credential is denied by the owner with a reason, once', async () => {
    const { requests, told } = await aHarness()
    const { id } = requests.request(agent('lead'), asked)
    expect(requests.deny(owner, id, 'use the public API')).toMatchObject({ state: 'denied' })
    expect(told).toMatchObject([{ reason: 'use the public API' }])
    expect(() => requests.deny(owner, id, '')).toThrow(expect.objectContaining({ code: 'conflict' }))
    expect(() => requests.deny(owner, 'cred_0', '')).toThrow(expect.objectContaining({ code: 'not-found' }))
  })

  test('an answer that meets a full lane is delivered later', async () => {
    const { requests, lane, told } = await aHarness()
    const { id } = requests.request(agent('lead'), asked)
    lane.full = true
    requests.deny(owner, id, '')
    requests.sweep()
    expect(told).toEqual([])
    lane.full = false
    requests.sweep()
    requests.sweep()
    expect(told).toHaveLength(1)
  })

  test('a request for a credential is answered however many answers wait for agents that take none', async () => {
    const { requests, lane, told } = await aHarness()
    lane.archived = 'shelved'
    for (let agentNumber = 0; agentNumber < 6; agentNumber++) {
      for (let name = 0; name < 10; name++) {
        const request = requests.request(agent(`shelved${agentNumber}`), { ...asked, name: `key_${name}` })
        requests.deny(owner, request.id, '')
      }
    }
    const { id } = requests.request(agent('lead'), asked)
    requests.deny(owner, id, 'no')
    requests.sweep()
    expect(told).toMatchObject([{ id, agentId: 'lead' }])
    lane.archived = ''
    requests.sweep()
    requests.sweep()
    expect(told).toHaveLength(61)
  })

  test('a request of a missing agent is not retried forever', async () => {
    const { requests, lane, told } = await aHarness()
    const { id } = requests.request(agent('lead'), asked)
    lane.gone = true
    requests.deny(owner, id, '')
    lane.gone = false
    requests.sweep()
    expect(told).toEqual([])
  })

  test('a request for a credential expires after a week and notifies the agent', async () => {
    const { requests, clock, told } = await aHarness()
    requests.request(agent('lead'), asked)
    await clock.advance(6 * 24 * 3600 * 1000)
    requests.sweep()
    expect(told).toEqual([])
    await clock.advance(24 * 3600 * 1000)
    requests.sweep()
    expect(told).toMatchObject([{ state: 'expired' }])
  })

  test('a request for a credential is one of ten at most that wait for one agent', async () => {
    const { requests } = await aHarness()
    for (let n = 0; n < 10; n++) requests.request(agent('lead'), { ...asked, name: `n${n}` })
    expect(() => requests.request(agent('lead'), { ...asked, name: 'n10' })).toThrow(
      expect.objectContaining({ code: 'unprocessable' }),
    )
  })

  test('a request for a credential is answered in words that say the next step', () => {
    const request: CredentialRequest = {
      id: 'cred_1',
      agentId: 'lead',
      name: 'github',
      service: 'GitHub',
      description: '',
      runId: null,
      state: 'granted',
      reason: '',
      createdAt: 0,
      answeredAt: 1,
      notifiedAt: null,
    }
    const hosts = ['api.github.com']
    expect(answerText(request, { mayUse: true, hosts })).toContain(
      'Write $CRED{github} in http_request; the mesh inserts the value in requests to api.github.com.',
    )
    expect(answerText(request, { mayUse: false, hosts })).toContain('allowed_credentials')
    expect(answerText(request, { mayUse: true, hosts: [] })).toContain('bound to no host')
    expect(answerText({ ...request, state: 'denied', reason: 'no need' }, { mayUse: true, hosts })).toContain(
      'rejected the request: no need',
    )
    expect(answerText({ ...request, state: 'expired' }, { mayUse: true, hosts })).toContain(
      'No person answered',
    )
  })
})
