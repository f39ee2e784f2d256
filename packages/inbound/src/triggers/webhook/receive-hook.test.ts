import { createHmac } from 'node:crypto'
import { Problem } from '@flotilla/protocol/problem'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../../tests/verifies.ts'
import type { Hook } from './hook-table.ts'
import { signedWindowMs } from './receive-hook.ts'
import { aWebhookHarness, owner } from '../../../../testing/src/webhook-harness.ts'
import type { WebhookHarness } from '../../../../testing/src/webhook-harness.ts'
import { historyBounds } from './webhooks.ts'

const body = '{"action":"opened"}'
const plain = (secret: string, of = body) => ({
  'x-webhook-signature': createHmac('sha256', secret).update(of).digest('hex'),
})
function standard(harness: WebhookHarness, secret: string, id = 'msg_1') {
  const at = new Date(harness.clock.now())
  return {
    'webhook-id': id,
    'webhook-timestamp': `${Math.floor(at.getTime() / 1000)}`,
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  }
}
const refusedAs = (code: string) => expect.objectContaining({ code })
const runsOf = (harness: WebhookHarness) => harness.ledger.queries.list({ limit: 200 })

describe('a delivery', () => {
  test('a delivery starts one run whose origin names the webhook, and its row has the outcome', async () => {
    verifies('endpoints:webhook:forwarded-to-agent', 'events:webhook', 'purpose:chat-mode:webhook-channel')
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook()
    const receipt = await harness.deliver(hook, body, plain(secret))
    const [run] = runsOf(harness)
    expect(receipt).toEqual({ status: 'accepted', run_id: run?.id, duplicate: false })
    expect(run).toMatchObject({
      agentId: 'clerk',
      kind: 'chat',
      origin: { kind: 'webhook', channel: 'mesh', user: hook.id },
    })
    expect(harness.messages()[0]).toContain('"action": "opened"')
    harness.ledger.lifecycle.cancelRun(owner, run?.id ?? '')
    expect(harness.history(hook)).toMatchObject([
      { state: 'accepted', runId: run?.id, outcome: 'cancelled: cancelled' },
    ])
  })

  test('a webhook without a secret needs no signature and ignores one', async () => {
    verifies('authentication:webhook:no-secret', 'authentication:zone-0:optional-hmac')
    const harness = aWebhookHarness()
    const { hook } = await harness.hook({ signed: false })
    await harness.deliver(hook, body)
    await harness.deliver(hook, body, { 'x-webhook-signature': 'anything' })
    expect(runsOf(harness)).toHaveLength(2)
  })

  test('a missing or wrong signature is rejected, counted in one row without the body, and starts no run', async () => {
    verifies('authentication:webhook:signature-verified', 'resources:webhook:secret')
    const harness = aWebhookHarness()
    const { hook } = await harness.hook()
    await expect(harness.deliver(hook, body)).rejects.toEqual(refusedAs('signature-refused'))
    for (let times = 0; times < 500; times++) {
      await expect(harness.deliver(hook, body, plain('another'))).rejects.toEqual(
        refusedAs('signature-refused'),
      )
    }
    expect(runsOf(harness)).toEqual([])
    expect(harness.history(hook)).toMatchObject([
      { state: 'refused', code: 'signature-refused', count: 500, payload: null, runId: null },
      { state: 'refused', count: 1, reason: expect.stringContaining('the signature is missing') },
    ])
  })

  test('a webhook whose secret is missing from the vault rejects deliveries', async () => {
    heedsLesson(21)
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook()
    harness.stored.clear()
    for (const headers of [{}, plain(secret), plain('')]) {
      await expect(harness.deliver(hook, body, headers)).rejects.toEqual(refusedAs('signature-refused'))
    }
  })
})

describe('a repeated signed body', () => {
  heedsLesson(22)
  test('a signed delivery with a known id is a duplicate at any time', async () => {
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook()
    const first = await harness.deliver(hook, body, standard(harness, secret))
    await harness.clock.advance(3_600_000)
    const again = await harness.deliver(hook, body, standard(harness, secret))
    expect(again).toEqual({ ...first, duplicate: true })
    expect(runsOf(harness)).toHaveLength(1)
    expect(harness.history(hook)[0]).toMatchObject({
      state: 'duplicate',
      reason: 'the body is the same as that of delivery 1',
    })
    expect(await harness.deliver(hook, body, standard(harness, secret, 'msg_2'))).toMatchObject({
      duplicate: false,
    })
  })

  test('a signed delivery after the timestamp window is rejected', async () => {
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook()
    const captured = standard(harness, secret)
    await harness.clock.advance(301_000)
    await expect(harness.deliver(hook, body, captured)).rejects.toEqual(refusedAs('signature-refused'))
  })

  test('an unsigned id does not block another event with that id', async () => {
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook()
    // An attacker who captured a signed body may send it later under the next event's id.
    await harness.deliver(hook, body, plain(secret))
    await harness.clock.advance(signedWindowMs)
    const named = { ...plain(secret), 'webhook-id': 'event-2' }
    expect(await harness.deliver(hook, body, named)).toMatchObject({ duplicate: true })
    const second = '{"action":"closed"}'
    const true2 = await harness.deliver(hook, second, { ...plain(secret, second), 'webhook-id': 'event-2' })
    expect(true2).toMatchObject({ status: 'accepted', duplicate: false })
    expect(await harness.deliver(hook, body, standard(harness, secret, 'event-2'))).toMatchObject({
      duplicate: false,
    })
    expect(runsOf(harness)).toHaveLength(3)
  })

  test('a rejected delivery does not affect a later valid one', async () => {
    const harness = aWebhookHarness({ perMinute: 1 })
    const { hook, secret } = await harness.hook()
    await harness.deliver(hook, body, standard(harness, secret, 'msg_0'))
    await expect(harness.deliver(hook, body, standard(harness, secret))).rejects.toEqual(
      refusedAs('rate-limited'),
    )
    await harness.clock.advance(120_000)
    expect(await harness.deliver(hook, body, standard(harness, secret))).toMatchObject({
      status: 'accepted',
      duplicate: false,
    })
  })

  test('two concurrent copies are one run, whatever their ids, and count once for the rate', async () => {
    const harness = aWebhookHarness({ perMinute: 2 })
    const { hook, secret } = await harness.hook()
    const guid = (id: string) => ({ ...plain(secret), 'x-github-delivery': id })
    const sent = [plain(secret), plain(secret), guid('1'), guid('2'), guid('1')]
    const receipts = await Promise.all(sent.map((headers) => harness.deliver(hook, body, headers)))
    expect(receipts.map(({ duplicate }) => duplicate)).toEqual([false, true, true, true, true])
    expect(new Set(receipts.map(({ run_id: id }) => id)).size).toBe(1)
    const under = standard(harness, secret)
    const named = await Promise.all([1, 2, 3].map(() => harness.deliver(hook, body, under)))
    expect(named.map(({ duplicate }) => duplicate)).toEqual([false, true, true])
    expect(runsOf(harness)).toHaveLength(2)
  })

  test('a copy is checked separately if the first one is rejected', async () => {
    const harness = aWebhookHarness({ perMinute: 1000 })
    const { hook, secret } = await harness.hook()
    const others = Array.from({ length: 100 }, (_, at) => `{"at":${at}}`)
    const all = [...others, body, body, body].map((one) => harness.deliver(hook, one, plain(secret, one)))
    const outcomes = await Promise.allSettled(all)
    expect(outcomes.slice(0, 100).every(({ status }) => status === 'fulfilled')).toBe(true)
    for (const one of outcomes.slice(100)) expect(one).toMatchObject({ reason: refusedAs('lane-full') })
    expect(runsOf(harness)).toHaveLength(100)
    expect(harness.history(hook)[0]).toMatchObject({ state: 'limited', code: 'lane-full', count: 3 })
  })

  test('a delivery of another webhook is not a duplicate', async () => {
    const harness = aWebhookHarness()
    const one = await harness.hook()
    const other = await harness.hook()
    await harness.deliver(one.hook, body, plain(one.secret))
    expect(await harness.deliver(other.hook, body, plain(other.secret))).toMatchObject({ duplicate: false })
  })
})

describe('deliveries that are not accepted', () => {
  test('deliveries to a paused agent are queued and done afterwards', async () => {
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook()
    harness.paused.set('clerk', 'the owner is on holiday')
    harness.ledger.start()
    const { run_id: id } = await harness.deliver(hook, body, plain(secret))
    await harness.clock.advance(60_000)
    expect(harness.state({ id: id ?? '' })).toBe('queued')
    harness.paused.clear()
    await harness.clock.advance(60_000)
    expect(harness.state({ id: id ?? '' })).toBe('running')
    await harness.ledger.close()
  })

  test('an archived agent rejects deliveries with a clear error, and the event is recorded', async () => {
    heedsLesson(81)
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook()
    harness.archived.add('clerk')
    await expect(harness.deliver(hook, body, plain(secret))).rejects.toEqual(
      expect.objectContaining({ code: 'agent-archived', detail: expect.not.stringContaining('clerk') }),
    )
    expect(harness.history(hook)).toMatchObject([{ state: 'refused', code: 'agent-archived' }])
    expect(runsOf(harness)).toEqual([])
  })

  test('a disabled webhook says so only to callers with a valid signature', async () => {
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook()
    await harness.webhooks.manage.change(owner, hook.id, { enabled: false })
    await expect(harness.deliver(hook, body, plain(secret))).rejects.toEqual(refusedAs('webhook-disabled'))
    await expect(harness.deliver(hook, body, plain('wrong'))).rejects.toEqual(refusedAs('signature-refused'))
  })

  test('a webhook that is deleted while its deliveries wait for the commit looks unknown and starts no run', async () => {
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook()
    const waiting = harness.deliver(hook, body, plain(secret))
    harness.webhooks.forget('clerk')
    await expect(waiting).rejects.toEqual(refusedAs('not-found'))
    expect(runsOf(harness)).toEqual([])
  })

  test('an unknown webhook gives the same response, whatever is sent', async () => {
    const harness = aWebhookHarness()
    const { hook } = await harness.hook()
    await harness.webhooks.manage.remove(owner, hook.id)
    const seen = [hook.id, 'hook_2', '../x', "'; DROP TABLE webhooks"].map((id) => {
      try {
        harness.webhooks.receive(id, {})
      } catch (error) {
        return error
      }
      return null
    })
    for (const one of seen) expect(one).toEqual(seen[0])
    expect(seen[0]).toEqual(refusedAs('not-found'))
  })

  test('a full lane limits deliveries and stores no part of one', async () => {
    const harness = aWebhookHarness({ perMinute: 1000 })
    const { hook, secret } = await harness.hook()
    for (let at = 0; at < 100; at++)
      await harness.deliver(hook, `{"at":${at}}`, plain(secret, `{"at":${at}}`))
    await expect(harness.deliver(hook, body, plain(secret))).rejects.toEqual(refusedAs('lane-full'))
    expect(harness.webhooks.countsOf(hook.id).counts).toMatchObject({ accepted: 100, limited: 1 })
    expect(runsOf(harness)).toHaveLength(100)
  })

  test('deliveries above the rate must wait, and forged ones do not count', async () => {
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook({ perMinute: 2 })
    const send = (at: number) => harness.deliver(hook, `{"at":${at}}`, plain(secret, `{"at":${at}}`))
    for (let at = 0; at < 50; at++)
      await expect(harness.deliver(hook, body, plain('forged'))).rejects.toEqual(
        refusedAs('signature-refused'),
      )
    await send(1)
    await send(2)
    // A known delivery costs nothing again.
    expect(await send(2)).toMatchObject({ duplicate: true })
    await expect(send(3)).rejects.toEqual(
      expect.objectContaining({ code: 'rate-limited', retryAfterSeconds: expect.any(Number) }),
    )
    expect(harness.history(hook)[0]).toMatchObject({ state: 'limited', code: 'rate-limited' })
  })

  test('a payload that does not meet the condition is skipped with the reason in the row', async () => {
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook({ when: 'action == "closed" and count > 2' })
    expect(await harness.deliver(hook, body, plain(secret))).toEqual({
      status: 'skipped',
      run_id: null,
      duplicate: false,
    })
    expect(await harness.deliver(hook, body, plain(secret))).toEqual({
      status: 'skipped',
      run_id: null,
      duplicate: true,
    })
    const held = '{"action":"closed","count":3}'
    expect(await harness.deliver(hook, held, plain(secret, held))).toMatchObject({ status: 'accepted' })
    expect(harness.history(hook)[2]).toMatchObject({
      state: 'skipped',
      reason: expect.stringContaining('action == "closed"'),
    })
  })

  test('a compressed body is rejected by its headers', async () => {
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook()
    await expect(
      harness.deliver(hook, body, { ...plain(secret), 'content-encoding': 'gzip' }),
    ).rejects.toEqual(refusedAs('unsupported-encoding'))
  })

  test.each([
    ['no type', { 'content-type': undefined }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['text', { 'content-type': 'text/json' }],
    ['another charset', { 'content-type': 'application/json; charset=utf-16' }],
    ['an id of spaces', { 'webhook-id': 'a b' }],
    ['an id that is too long', { 'webhook-id': 'a'.repeat(257) }],
  ])('%s is rejected by the headers', async (_what, headers) => {
    verifies('endpoints:webhook:json-body')
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook()
    await expect(harness.deliver(hook, body, { ...plain(secret), ...headers })).rejects.toEqual(
      refusedAs('bad-request'),
    )
    const types = ['application/json', 'Application/JSON;charset="UTF-8"', 'application/cloudevents+json']
    for (const [at, type] of types.entries()) {
      const good = `[${at}]`
      expect(
        await harness.deliver(hook, good, { ...plain(secret, good), 'content-type': type }),
      ).toMatchObject({ status: 'accepted' })
    }
  })
})

describe('the history of a webhook', () => {
  test('the history keeps the newest rows and younger payloads, for a limited time', async () => {
    const harness = aWebhookHarness({ perMinute: 10_000 })
    const { hook } = await harness.hook({ signed: false, when: 'never == true' })
    for (let at = 0; at < historyBounds.rowsMax + 50; at++) await harness.deliver(hook, `${at}`)
    const numbers = () => {
      const first = harness.webhooks.history.list(owner, hook.id, { limit: 1000 })
      return { rows: first.length, kept: first.filter(({ payload }) => payload !== null).length }
    }
    harness.webhooks.maintain()
    // Rows that are needed to detect repeats stay, without their payloads.
    expect(numbers()).toEqual({ rows: historyBounds.rowsMax + 50, kept: historyBounds.rowsMax })
    await harness.clock.advance(historyBounds.keptForDuplicatesMs + 1)
    harness.webhooks.maintain()
    expect(numbers()).toEqual({ rows: historyBounds.rowsMax, kept: historyBounds.rowsMax })
    await harness.clock.advance(historyBounds.payloadsMaxAgeMs)
    harness.webhooks.maintain()
    expect(numbers()).toEqual({ rows: historyBounds.rowsMax, kept: 0 })
    await harness.clock.advance(historyBounds.rowsMaxAgeMs)
    harness.webhooks.maintain()
    expect(numbers()).toEqual({ rows: 0, kept: 0 })
  })

  test('accepted rows are not displaced by rejected requests of strangers', async () => {
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook()
    await harness.deliver(hook, body, plain(secret))
    const refused = [
      {},
      plain('another'),
      { 'webhook-id': 'a b' },
      { 'content-type': 'text/plain' },
      { 'content-encoding': 'gzip' },
      { 'content-type': 'application/json; charset=utf-16' },
      { 'content-length': '99999999' },
      { 'webhook-signature': 'v1,a' },
      { 'webhook-signature': 'v1,a', 'webhook-id': 'a' },
    ]
    for (let minute = 0; minute < 100; minute++) {
      for (const headers of refused) {
        await expect(harness.deliver(hook, body, headers)).rejects.toThrow(Problem)
      }
      await harness.clock.leap(61_000)
      harness.webhooks.maintain()
    }
    const rows = harness.webhooks.history.list(owner, hook.id, { limit: 10_000 })
    expect(rows.length).toBeLessThan(historyBounds.rowsMax + 10 * 25)
    expect(rows.at(-1)).toMatchObject({ number: 1, state: 'accepted', payload: expect.any(String) })
  })

  test('a replay uses the current instructions, also for skipped deliveries, and names its source', async () => {
    const harness = aWebhookHarness()
    const { hook } = await harness.hook({ signed: false, when: 'a == 1' })
    await harness.deliver(hook, '{"a":2}')
    await harness.webhooks.manage.change(owner, hook.id, { instructions: 'Now do that.' })
    const again = harness.webhooks.history.replay(owner, hook.id, 1)
    expect(again).toMatchObject({ way: 'replay', state: 'accepted', replayOf: 1, number: 2 })
    expect(harness.messages()).toEqual([
      expect.stringMatching(/given again by the owner[\s\S]*"a": 2[\s\S]*Now do that\./),
    ])
    const other = await harness.hook()
    expect(() => harness.webhooks.history.replay(owner, other.hook.id, 1)).toThrow(refusedAs('not-found'))
  })

  test('a pause holds deliveries, but not tests and replays, which a person requests', async () => {
    const harness = aWebhookHarness()
    const { hook } = await harness.hook({ signed: false })
    harness.paused.set('clerk', 'holidays')
    await harness.deliver(hook, body)
    const replayed = harness.webhooks.history.replay(owner, hook.id, 1)
    const tried = harness.webhooks.history.test(owner, hook.id, Buffer.from(body))
    const held = runsOf(harness).map(({ id, proactive }) => [id, proactive])
    const [came] = runsOf(harness).filter(({ proactive }) => proactive)
    expect(Object.fromEntries(held)).toEqual({
      [came?.id ?? '']: true,
      [replayed.runId ?? '']: false,
      [tried.runId ?? '']: false,
    })
  })

  test('tests of the owner are in the history and are processed equally', async () => {
    const harness = aWebhookHarness()
    const { hook } = await harness.hook({ when: 'a == 1' })
    const trial = (payload: object) =>
      harness.webhooks.history.test(owner, hook.id, Buffer.from(JSON.stringify(payload)))
    expect(trial({ a: 2 })).toMatchObject({ way: 'test', state: 'skipped', runId: null })
    expect(trial({ a: 1 })).toMatchObject({ way: 'test', state: 'accepted', runId: expect.any(String) })
  })
})

/** Counts come from table rows, as the owner sees them. */
test("a deleted agent's webhooks, histories and secrets are deleted", async () => {
  const harness = aWebhookHarness()
  const kept: { hook: Hook } = await harness.hook({ agentId: 'other' })
  const { hook, secret } = await harness.hook()
  await harness.deliver(hook, body, plain(secret))
  harness.webhooks.forget('clerk')
  await new Promise((resolve) => setImmediate(resolve))
  expect(harness.webhooks.manage.list(owner).map(({ id }) => id)).toEqual([kept.hook.id])
  expect([...harness.stored.keys()]).toEqual([expect.stringContaining(kept.hook.id.slice(5))])
  expect(() => harness.history(hook)).toThrow(refusedAs('not-found'))
})
