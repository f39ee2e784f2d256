import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { aWebhookHarness, owner } from '../../../../testing/src/webhook-harness.ts'
import type { WebhookHarness } from '../../../../testing/src/webhook-harness.ts'
import { historyBounds } from './webhooks.ts'

const body = '{"action":"opened"}'
const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
const signed = (secret: string, of = body, more: object = {}) => ({
  'x-webhook-signature': createHmac('sha256', secret).update(of).digest('hex'),
  ...more,
})
const runsOf = (harness: WebhookHarness) => harness.ledger.queries.list({ limit: 200 })
const refusedAs = (code: string) => expect.objectContaining({ code })

describe('a body with a signature over the body only', () => {
  test.each([
    ['eleven minutes', 11 * minuteMs],
    ['an hour', 60 * minuteMs],
    ['a day', dayMs],
    ['a month', 31 * dayMs],
    ['a year', 365 * dayMs],
  ])('a repeated body is a duplicate after %s, whatever its unsigned id', async (_what, later) => {
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook()
    const first = await harness.deliver(hook, body, signed(secret, body, { 'x-github-delivery': 'guid-1' }))
    await harness.clock.leap(later)
    harness.webhooks.maintain()
    for (const more of [{}, { 'x-github-delivery': 'guid-2' }, { 'webhook-id': 'any' }]) {
      const again = await harness.deliver(hook, body, signed(secret, body, more))
      expect(again).toMatchObject({ status: first.status, duplicate: true })
    }
    expect(runsOf(harness)).toHaveLength(1)
    expect(harness.history(hook)[0]).toMatchObject({
      state: 'duplicate',
      reason: 'the body is the same as that of delivery 1',
    })
  })

  test('a repeated body is recognized after a crash, and with a clock that was set back or forward', async () => {
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook()
    const first = await harness.deliver(hook, body, signed(secret))
    for (const ms of [10 * 365 * dayMs, -20 * 365 * dayMs, 10 * 365 * dayMs]) {
      await harness.clock.leap(ms)
      harness.webhooks.maintain()
      harness.restart()
      harness.webhooks.maintain()
      expect(await harness.deliver(hook, body, signed(secret))).toMatchObject({
        duplicate: true,
        status: first.status,
      })
    }
    expect(runsOf(harness)).toHaveLength(1)
  })

  test('a repeated body is recognized after its row has left the history', async () => {
    const harness = aWebhookHarness({ perMinute: 10_000 })
    const { hook, secret } = await harness.hook({ when: 'never == true' })
    for (let at = 0; at < historyBounds.rowsMax + 10; at++) {
      await harness.deliver(hook, `{"at":${at}}`, signed(secret, `{"at":${at}}`))
    }
    await harness.clock.leap(20 * minuteMs)
    harness.webhooks.maintain()
    expect(harness.webhooks.history.list(owner, hook.id, { limit: 10_000 }).at(-1)?.number).toBeGreaterThan(1)
    expect(await harness.deliver(hook, '{"at":0}', signed(secret, '{"at":0}'))).toEqual({
      status: 'accepted',
      run_id: null,
      duplicate: true,
    })
  })

  test('a remembered body is not displaced by rejected requests of strangers', async () => {
    const harness = aWebhookHarness({ memoryBounds: { perHookMax: 1, perHookAlways: 1, allHooksMax: 1 } })
    const { hook, secret } = await harness.hook()
    await harness.deliver(hook, body, signed(secret))
    for (let minute = 0; minute < 60; minute++) {
      for (const headers of [{}, signed('another'), signed('another', 'x', { 'webhook-id': `${minute}` })]) {
        await expect(harness.deliver(hook, `{"at":${minute}}`, headers)).rejects.toEqual(
          refusedAs('signature-refused'),
        )
      }
      await harness.clock.leap(dayMs)
      harness.webhooks.maintain()
    }
    expect(await harness.deliver(hook, body, signed(secret))).toMatchObject({ duplicate: true })
  })

  test('a repeated body is recognized after a rotation, with either secret while both are valid', async () => {
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook({ secret: 'the-first-secret-0' })
    await harness.deliver(hook, body, signed(secret))
    await harness.webhooks.manage.rotate(owner, hook.id, { secret: 'the-second-secret-1', overlapMs: dayMs })
    for (const one of [secret, 'the-second-secret-1']) {
      expect(await harness.deliver(hook, body, signed(one))).toMatchObject({ duplicate: true })
    }
    await harness.clock.leap(2 * dayMs)
    harness.webhooks.maintain()
    await expect(harness.deliver(hook, body, signed(secret))).rejects.toEqual(refusedAs('signature-refused'))
    expect(await harness.deliver(hook, body, signed('the-second-secret-1'))).toMatchObject({
      duplicate: true,
    })
    expect(runsOf(harness)).toHaveLength(1)
  })

  test('a body that came with a stronger signature too is not accepted again without it', async () => {
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook()
    const at = new Date(harness.clock.now())
    const strong = (id: string) => ({
      'webhook-id': id,
      'webhook-timestamp': `${Math.floor(at.getTime() / 1000)}`,
      'webhook-signature': new Webhook(secret).sign(id, at, body),
    })
    await harness.deliver(hook, body, { ...signed(secret), ...strong('msg_1') })
    expect(await harness.deliver(hook, body, signed(secret))).toMatchObject({ duplicate: true })
    // A new signed id means that the sender reports another event.
    expect(await harness.deliver(hook, body, { ...signed(secret), ...strong('msg_2') })).toMatchObject({
      duplicate: false,
    })
  })

  test('bodies of an earlier release are remembered as far as its history reaches', async () => {
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook()
    const first = await harness.deliver(hook, body, signed(secret))
    harness.database.exec('DELETE FROM webhook_memories; DELETE FROM webhook_bodies')
    harness.restart()
    await harness.clock.leap(dayMs)
    expect(await harness.deliver(hook, body, signed(secret))).toEqual({ ...first, duplicate: true })
  })
})

describe('a webhook that accepts repeated bodies', () => {
  test('each repeated body starts a run, except one with a known id', async () => {
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook({ repeats: 'accept' })
    for (let times = 0; times < 3; times++) {
      expect(await harness.deliver(hook, body, signed(secret))).toMatchObject({ duplicate: false })
    }
    const named = signed(secret, body, { 'x-github-delivery': 'guid-1' })
    expect(await harness.deliver(hook, body, named)).toMatchObject({ duplicate: false })
    expect(await harness.deliver(hook, body, named)).toMatchObject({ duplicate: true })
    expect(runsOf(harness)).toHaveLength(4)
    const both = await Promise.all([1, 2].map(() => harness.deliver(hook, body, signed(secret))))
    expect(both.map(({ duplicate }) => duplicate)).toEqual([false, false])
  })

  test('bodies are remembered for the time when repeats are rejected again', async () => {
    const harness = aWebhookHarness()
    const { hook, secret } = await harness.hook({ repeats: 'accept' })
    await harness.deliver(hook, body, signed(secret))
    const changed = await harness.webhooks.manage.change(owner, hook.id, { repeats: 'refuse' })
    expect(changed.repeats).toBe('refuse')
    expect(await harness.deliver(hook, body, signed(secret))).toMatchObject({ duplicate: true })
    await harness.webhooks.manage.change(owner, hook.id, { repeats: 'accept' })
    expect(await harness.deliver(hook, body, signed(secret))).toMatchObject({ duplicate: false })
  })
})

describe('a full body memory', () => {
  const send = (
    harness: WebhookHarness,
    { hook, secret }: Awaited<ReturnType<WebhookHarness['hook']>>,
    at: number,
  ) => harness.deliver(hook, `{"at":${at}}`, signed(secret, `{"at":${at}}`))

  test('a full memory rejects new bodies instead of forgetting, and only the owner gets the reason', async () => {
    const harness = aWebhookHarness({ memoryBounds: { perHookMax: 2, perHookAlways: 1, allHooksMax: 100 } })
    const made = await harness.hook()
    await send(harness, made, 1)
    await send(harness, made, 2)
    await expect(send(harness, made, 3)).rejects.toEqual(
      expect.objectContaining({ code: 'webhook-full', detail: expect.not.stringContaining('2 bodies') }),
    )
    expect(harness.history(made.hook)[0]).toMatchObject({
      state: 'refused',
      code: 'webhook-full',
      reason: expect.stringMatching(/2 bodies.*repeats/),
    })
    for (const at of [1, 2]) expect(await send(harness, made, at)).toMatchObject({ duplicate: true })
    expect(runsOf(harness)).toHaveLength(2)
    // Bodies older than a month are evicted, the oldest first.
    await harness.clock.leap(31 * dayMs)
    expect(await send(harness, made, 3)).toMatchObject({ duplicate: false })
    expect(await send(harness, made, 2)).toMatchObject({ duplicate: true })
  })

  test('a full memory forgets nothing for concurrent deliveries', async () => {
    const harness = aWebhookHarness({ memoryBounds: { perHookMax: 2, perHookAlways: 1, allHooksMax: 100 } })
    const made = await harness.hook()
    const ends = await Promise.allSettled([1, 2, 3, 4, 5].map((at) => send(harness, made, at)))
    const taken = [1, 2, 3, 4, 5].filter((_, index) => ends[index]?.status === 'fulfilled')
    expect(taken).toHaveLength(2)
    expect(runsOf(harness)).toHaveLength(2)
    for (const at of taken) expect(await send(harness, made, at)).toMatchObject({ duplicate: true })
  })

  test('the memory of one webhook does not limit the guaranteed part of others', async () => {
    const harness = aWebhookHarness({ memoryBounds: { perHookMax: 3, perHookAlways: 1, allHooksMax: 3 } })
    const busy = await harness.hook()
    const quiet = await harness.hook()
    for (const at of [1, 2, 3]) await send(harness, busy, at)
    expect(await send(harness, quiet, 1)).toMatchObject({ duplicate: false })
    await expect(send(harness, quiet, 2)).rejects.toEqual(refusedAs('webhook-full'))
    await harness.webhooks.manage.remove(owner, busy.hook.id)
    expect(await send(harness, quiet, 2)).toMatchObject({ duplicate: false })
  })

  test('a webhook that accepts repeated bodies is never full', async () => {
    const harness = aWebhookHarness({ memoryBounds: { perHookMax: 2, perHookAlways: 1, allHooksMax: 2 } })
    const made = await harness.hook({ repeats: 'accept' })
    for (const at of [1, 2, 3, 4]) expect(await send(harness, made, at)).toMatchObject({ duplicate: false })
    await harness.webhooks.manage.change(owner, made.hook.id, { repeats: 'refuse' })
    for (const at of [3, 4]) expect(await send(harness, made, at)).toMatchObject({ duplicate: true })
    // A repeated body takes no space.
    await harness.webhooks.manage.change(owner, made.hook.id, { repeats: 'accept' })
    for (let times = 0; times < 3; times++) await send(harness, made, 4)
    await harness.webhooks.manage.change(owner, made.hook.id, { repeats: 'refuse' })
    for (const at of [3, 4]) expect(await send(harness, made, at)).toMatchObject({ duplicate: true })
  })
})

test('the memory of a deleted webhook is removed, and nothing of another', async () => {
  const harness = aWebhookHarness()
  const one = await harness.hook()
  const other = await harness.hook()
  for (const { hook, secret } of [one, other]) await harness.deliver(hook, body, signed(secret))
  const bodies = () => harness.database.prepare('SELECT memory FROM webhook_bodies').all().length
  await harness.webhooks.manage.remove(owner, one.hook.id)
  expect(bodies()).toBe(2)
  for (let times = 0; times < 3; times++) harness.webhooks.maintain()
  expect(bodies()).toBe(1)
  expect(harness.database.prepare('SELECT number FROM webhook_memories').all()).toHaveLength(1)
  expect(await harness.deliver(other.hook, body, signed(other.secret))).toMatchObject({ duplicate: true })
})

test('a secret of another webhook is rejected, because a captured delivery could be replayed to both', async () => {
  const harness = aWebhookHarness()
  const one = await harness.hook({ secret: 'shared-by-two-senders' })
  await expect(harness.hook({ secret: 'shared-by-two-senders' })).rejects.toEqual(
    expect.objectContaining({ code: 'conflict', detail: expect.stringContaining(one.hook.id) }),
  )
  const other = await harness.hook({ secret: 'a-secret-of-its-own' })
  const rotated = harness.webhooks.manage.rotate(owner, other.hook.id, {
    secret: 'shared-by-two-senders',
    overlapMs: 0,
  })
  await expect(rotated).rejects.toEqual(refusedAs('conflict'))
  expect(await harness.deliver(other.hook, body, signed('a-secret-of-its-own'))).toMatchObject({
    status: 'accepted',
  })
})
