import { createHmac } from 'node:crypto'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../../tests/verifies.ts'
import { authorize } from '../../../../identity/src/access/authorize.ts'
import type { Caller } from '../../../../identity/src/access/caller.ts'
import { createSecret } from '../../../../egress/src/credentials/secret.ts'
import { aWebhookHarness, owner } from '../../../../testing/src/webhook-harness.ts'

const hour = 3_600_000
const body = '{"a":1}'
const plain = (secret: string, of = body) => ({
  'x-webhook-signature': createHmac('sha256', secret).update(of).digest('hex'),
})

describe('webhooks belong to the owner', () => {
  test('only a person can create, change, test or read webhooks, whatever a permission record says', () => {
    verifies('resources:webhook:created-in-dashboard', 'endpoints:webhook:created-in-dashboard')
    const everything = permissionRecordSchema.parse({
      can_manage_fleet: true,
      can_manage_cron: true,
      can_edit_agent_config: true,
      can_manage_projects: true,
      can_view_fleet_metrics: true,
      allowed_apis: ['*'],
    })
    const records = { broken: null, recordOf: () => everything }
    const callers: readonly Caller[] = [
      { kind: 'agent', agentId: 'operator', token: 'door', run: null },
      { kind: 'agent', agentId: 'clerk', token: 'door', run: null },
      { kind: 'internal' },
      { kind: 'system' },
      { kind: 'human', role: 'owner', channel: 'slack', user: 'U1' },
      { kind: 'human', role: 'owner', channel: 'webhook' },
    ]
    for (const caller of callers) {
      expect(authorize(records, caller, { do: 'manage-webhooks' }).allowed, caller.kind).toBe(false)
      expect(authorize(records, caller, { do: 'make-webhooks' }).allowed, caller.kind).toBe(false)
    }
    const atTerminal: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
    expect(authorize(records, atTerminal, { do: 'manage-webhooks' }).allowed).toBe(true)
    expect(authorize(records, atTerminal, { do: 'make-webhooks' }).allowed).toBe(true)
    expect(authorize(records, owner, { do: 'make-webhooks' }).allowed).toBe(true)
    expect(authorize(records, owner, { do: 'manage-webhooks' }).allowed).toBe(true)
  })

  test('every use case starts with the permission check', async () => {
    const harness = aWebhookHarness()
    const { hook } = await harness.hook()
    const asked: string[] = []
    const { createWebhooks } = await import('./webhooks.ts')
    const guarded = createWebhooks({
      ...harness,
      log: { warn: () => {}, error: () => {} } as never,
      vault: {
        system: () => undefined,
        names: () => ({ system: [], agent: [] }),
        storeSystem: async () => {},
        removeSystem: async () => {},
      },
      submitRun: harness.ledger.queue.submitRun,
      requireAgent: () => {},
      perMinute: () => 60,
      randomBytes: (count) => Buffer.alloc(count),
      guard: (_caller, action) => {
        asked.push(action.do)
        throw new Error('no')
      },
    })
    const calls = [
      async () => guarded.manage.list(owner),
      () =>
        guarded.manage.create(owner, {
          name: 'x',
          agentId: 'clerk',
          instructions: '',
          when: null,
          perMinute: null,
          signed: true,
        }),
      () => guarded.manage.change(owner, hook.id, { enabled: false }),
      () => guarded.manage.rotate(owner, hook.id, { overlapMs: 0 }),
      () => guarded.manage.remove(owner, hook.id),
      async () => guarded.history.list(owner, hook.id, { limit: 1 }),
      async () => guarded.history.test(owner, hook.id, Buffer.from('{}')),
      async () => guarded.history.replay(owner, hook.id, 1),
    ]
    for (const call of calls) await expect(call()).rejects.toThrow('no')
    expect(asked).toHaveLength(calls.length)
    expect(new Set(asked)).toEqual(new Set(['manage-webhooks', 'make-webhooks']))
    expect(harness.webhooks.manage.list(owner)).toEqual([hook])
  })
})

describe('the secret of a webhook', () => {
  test('a secret is generated unless the sender has one, and rows contain only its number', async () => {
    const harness = aWebhookHarness()
    const made = await harness.hook()
    expect(made.secret).toBe(`whsec_${Buffer.alloc(32, 7).toString('base64')}`)
    const given = await harness.webhooks.manage.create(owner, {
      name: 'x',
      agentId: 'clerk',
      instructions: '',
      when: null,
      perMinute: null,
      signed: true,
      secret: 'the-secret-of-a-sender',
    })
    expect(given.secret).toBeNull()
    expect(await harness.deliver(given.hook, body, plain('the-secret-of-a-sender'))).toMatchObject({
      status: 'accepted',
    })
    const rows = ['webhooks', 'webhook_deliveries', 'journal', 'runs', 'events'].map((table) =>
      JSON.stringify(harness.database.prepare(`SELECT * FROM ${table}`).all()),
    )
    for (const text of ['the-secret-of-a-sender', made.secret]) expect(rows.join('')).not.toContain(text)
  })

  const wish = (hook: { readonly id: string }, more: { readonly signed?: boolean } = {}) => ({
    id: hook.id,
    name: 'builds',
    agentId: 'clerk',
    instructions: 'Read it well.',
    when: null,
    perMinute: null,
    repeats: 'refuse' as const,
    signed: true,
    ...more,
  })

  test('a secret that is rotated during a preparation is kept', async () => {
    const harness = aWebhookHarness()
    const { hook } = await harness.hook({ secret: 'first-secret-of-all' })
    const prepared = await harness.webhooks.prepare(owner, [wish(hook)])
    await harness.webhooks.manage.rotate(owner, hook.id, { secret: 'second-secret-of-all', overlapMs: 0 })
    await harness.webhooks.manage.change(owner, hook.id, { enabled: false })
    prepared.write()
    await prepared.release()
    expect(harness.webhooks.manage.list(owner)).toMatchObject([
      {
        instructions: 'Read it well.',
        enabled: false,
        secretNumber: 2,
        secretsMade: 2,
        previousNumber: null,
      },
    ])
    await harness.webhooks.manage.change(owner, hook.id, { enabled: true })
    const [now] = harness.webhooks.manage.list(owner)
    await expect(harness.deliver(now!, body, plain('first-secret-of-all'))).rejects.toMatchObject({
      code: 'signature-refused',
    }) // listed above
    expect(await harness.deliver(now!, body, plain('second-secret-of-all'))).toMatchObject({
      status: 'accepted',
    })
  })

  test('a secret that was created during a preparation is not replaced, and a deleted webhook is not recreated', async () => {
    const harness = aWebhookHarness()
    const { hook } = await harness.hook({ signed: false })
    const prepared = await harness.webhooks.prepare(owner, [wish(hook)])
    await harness.webhooks.manage.rotate(owner, hook.id, { secret: 'the-secret-of-a-hand', overlapMs: 0 })
    expect(() => prepared.write()).toThrow(expect.objectContaining({ code: 'conflict' }))
    await prepared.release()
    const [now] = harness.webhooks.manage.list(owner)
    expect(await harness.deliver(now!, body, plain('the-secret-of-a-hand'))).toMatchObject({
      status: 'accepted',
    }) // listed above
    const late = await harness.webhooks.prepare(owner, [wish(hook, { signed: false })])
    await harness.webhooks.manage.remove(owner, hook.id)
    expect(() => late.write()).toThrow(expect.objectContaining({ code: 'conflict' }))
    expect(harness.webhooks.manage.list(owner)).toEqual([])
  })

  test('during the overlap of a rotation both secrets are valid, and then only the new one', async () => {
    const harness = aWebhookHarness()
    const { hook } = await harness.hook({ secret: 'first-secret-of-all' })
    const rotate = (secret: string, overlapMs: number) =>
      harness.webhooks.manage.rotate(owner, hook.id, { secret, overlapMs })
    const works = async (secret: string, of: string) => {
      try {
        return (await harness.deliver(hook, of, plain(secret, of))).status === 'accepted'
      } catch {
        return false
      }
    }
    const rotated = await rotate('second-secret-of-all', hour)
    expect(rotated.hook.previousUntil).toBe(harness.clock.now() + hour)
    expect([await works('first-secret-of-all', '1'), await works('second-secret-of-all', '2')]).toEqual([
      true,
      true,
    ])
    await harness.clock.advance(hour)
    expect([await works('first-secret-of-all', '3'), await works('second-secret-of-all', '4')]).toEqual([
      false,
      true,
    ])
    harness.webhooks.maintain()
    await new Promise((resolve) => setImmediate(resolve))
    expect(harness.stored.size).toBe(1)
    await rotate('third-secret-of-all', 0)
    expect([await works('second-secret-of-all', '5'), await works('third-secret-of-all', '6')]).toEqual([
      false,
      true,
    ])
    expect(harness.stored.size).toBe(1)
  })

  test('of two concurrent rotations one secret works, and no number is reused', async () => {
    const harness = aWebhookHarness()
    const { hook } = await harness.hook()
    const rotate = (secret: string) =>
      harness.webhooks.manage.rotate(owner, hook.id, { secret, overlapMs: hour })
    const [one, other] = await Promise.all([rotate('one-of-the-secrets'), rotate('other-of-the-secrets')])
    expect(one?.hook.secretNumber).not.toBe(other?.hook.secretNumber)
    expect(await harness.deliver(hook, body, plain('other-of-the-secrets'))).toMatchObject({
      status: 'accepted',
    })
  })

  test('secrets without a webhook are deleted, and similar credentials of the owner are not', async () => {
    const harness = aWebhookHarness()
    const { hook } = await harness.hook()
    const [ours = ''] = harness.stored.keys()
    harness.stored.set('webhook_github_1', createSecret('webhook_github_1', 'the owner’s own'))
    harness.webhooks.maintain()
    await new Promise((resolve) => setImmediate(resolve))
    expect([...harness.stored.keys()]).toEqual([ours, 'webhook_github_1'])
    await harness.webhooks.manage.remove(owner, hook.id)
    expect([...harness.stored.keys()]).toEqual(['webhook_github_1'])
  })

  test('a secret is deleted when signatures are switched off, and a rotation creates one again', async () => {
    const harness = aWebhookHarness()
    const { hook } = await harness.hook()
    await harness.webhooks.manage.change(owner, hook.id, { signed: false })
    expect(harness.stored.size).toBe(0)
    expect(await harness.deliver(hook, body)).toMatchObject({ status: 'accepted' })
    const { secret } = await harness.webhooks.manage.rotate(owner, hook.id, { overlapMs: hour })
    await expect(harness.deliver(hook, '2')).rejects.toEqual(
      expect.objectContaining({ code: 'signature-refused' }),
    )
    expect(await harness.deliver(hook, '3', plain(secret ?? '', '3'))).toMatchObject({ status: 'accepted' })
  })
})

describe('invalid webhooks', () => {
  test.each([
    ['a missing agent', { agentId: 'nobody' }, 'unknown-agent'],
    ['an invalid condition', { when: 'a =' }, 'bad-request'],
    [
      'a secret for a webhook without signatures',
      { signed: false, secret: 'some-secret-of-it' },
      'bad-request',
    ],
    ['a key that is not base64', { secret: 'whsec_!!!!!!!!!!!!!!!!' }, 'bad-request'],
  ])('a webhook is rejected: %s', async (_what, more, code) => {
    const harness = aWebhookHarness()
    await expect(harness.hook(more)).rejects.toMatchObject({ code })
    expect(harness.webhooks.manage.list(owner)).toEqual([])
    expect(harness.stored.size).toBe(0)
  })

  test('an invalid change leaves the webhook as it is', async () => {
    const harness = aWebhookHarness()
    const { hook } = await harness.hook()
    const change = harness.webhooks.manage.change(owner, hook.id, { when: '((', name: 'new' })
    await expect(change).rejects.toMatchObject({ code: 'bad-request' })
    expect(harness.webhooks.manage.list(owner)).toEqual([hook])
    const unnamed = await harness.webhooks.manage.change(owner, hook.id, { name: 'new', when: undefined })
    expect(unnamed).toEqual({ ...hook, name: 'new' })
  })
})
