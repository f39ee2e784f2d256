import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { aWebhookHarness, owner } from '../../testing/webhook-harness.ts'
import type { WebhookHarness } from '../../testing/webhook-harness.ts'
import { historyBounds } from './webhooks.ts'

const body = '{"action":"opened"}'
const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
const signed = (secret: string, of = body, more: object = {}) => ({
  'x-webhook-signature': createHmac('sha256', secret).update(of).digest('hex'),
  ...more,
})
const runsOf = (world: WebhookHarness) => world.ledger.queries.list({ limit: 200 })
const refusedAs = (code: string) => expect.objectContaining({ code })

describe('a body whose signature covers nothing else', () => {
  test.each([
    ['eleven minutes', 11 * minuteMs],
    ['an hour', 60 * minuteMs],
    ['a day', dayMs],
    ['a month', 31 * dayMs],
    ['a year', 365 * dayMs],
  ])('is a duplicate after %s, whatever unsigned id it bears', async (_what, later) => {
    const world = aWebhookHarness()
    const { hook, secret } = await world.hook()
    const first = await world.deliver(hook, body, signed(secret, body, { 'x-github-delivery': 'guid-1' }))
    await world.clock.leap(later)
    world.webhooks.maintain()
    for (const more of [{}, { 'x-github-delivery': 'guid-2' }, { 'webhook-id': 'any' }]) {
      const again = await world.deliver(hook, body, signed(secret, body, more))
      expect(again).toMatchObject({ status: first.status, duplicate: true })
    }
    expect(runsOf(world)).toHaveLength(1)
    expect(world.history(hook)[0]).toMatchObject({ state: 'duplicate', reason: 'the same as delivery 1' })
  })

  test('is known by a mesh that was killed meanwhile, and under a clock that was set back or forth', async () => {
    const world = aWebhookHarness()
    const { hook, secret } = await world.hook()
    const first = await world.deliver(hook, body, signed(secret))
    for (const ms of [10 * 365 * dayMs, -20 * 365 * dayMs, 10 * 365 * dayMs]) {
      await world.clock.leap(ms)
      world.webhooks.maintain()
      world.restart()
      world.webhooks.maintain()
      expect(await world.deliver(hook, body, signed(secret))).toMatchObject({
        duplicate: true,
        status: first.status,
      })
    }
    expect(runsOf(world)).toHaveLength(1)
  })

  test('is known when its row has left the history behind newer ones', async () => {
    const world = aWebhookHarness({ perMinute: 10_000 })
    const { hook, secret } = await world.hook({ when: 'never == true' })
    for (let at = 0; at < historyBounds.rowsMax + 10; at++) {
      await world.deliver(hook, `{"at":${at}}`, signed(secret, `{"at":${at}}`))
    }
    await world.clock.leap(20 * minuteMs)
    world.webhooks.maintain()
    expect(world.webhooks.history.list(owner, hook.id, { limit: 10_000 }).at(-1)?.number).toBeGreaterThan(1)
    expect(await world.deliver(hook, '{"at":0}', signed(secret, '{"at":0}'))).toEqual({
      status: 'accepted',
      run_id: null,
      duplicate: true,
    })
  })

  test('is not pushed out of what is remembered by a stranger’s refusals', async () => {
    const world = aWebhookHarness({ memoryBounds: { perHookMax: 1, perHookAlways: 1, allHooksMax: 1 } })
    const { hook, secret } = await world.hook()
    await world.deliver(hook, body, signed(secret))
    for (let minute = 0; minute < 60; minute++) {
      for (const headers of [{}, signed('another'), signed('another', 'x', { 'webhook-id': `${minute}` })]) {
        await expect(world.deliver(hook, `{"at":${minute}}`, headers)).rejects.toEqual(
          refusedAs('signature-refused'),
        )
      }
      await world.clock.leap(dayMs)
      world.webhooks.maintain()
    }
    expect(await world.deliver(hook, body, signed(secret))).toMatchObject({ duplicate: true })
  })

  test('is known after a rotation, by either secret while both hold', async () => {
    const world = aWebhookHarness()
    const { hook, secret } = await world.hook({ secret: 'the-first-secret-0' })
    await world.deliver(hook, body, signed(secret))
    await world.webhooks.manage.rotate(owner, hook.id, { secret: 'the-second-secret-1', overlapMs: dayMs })
    for (const one of [secret, 'the-second-secret-1']) {
      expect(await world.deliver(hook, body, signed(one))).toMatchObject({ duplicate: true })
    }
    await world.clock.leap(2 * dayMs)
    world.webhooks.maintain()
    await expect(world.deliver(hook, body, signed(secret))).rejects.toEqual(refusedAs('signature-refused'))
    expect(await world.deliver(hook, body, signed('the-second-secret-1'))).toMatchObject({ duplicate: true })
    expect(runsOf(world)).toHaveLength(1)
  })

  test('that came with a stronger signature too is not taken again without it', async () => {
    const world = aWebhookHarness()
    const { hook, secret } = await world.hook()
    const at = new Date(world.clock.now())
    const strong = (id: string) => ({
      'webhook-id': id,
      'webhook-timestamp': `${Math.floor(at.getTime() / 1000)}`,
      'webhook-signature': new Webhook(secret).sign(id, at, body),
    })
    await world.deliver(hook, body, { ...signed(secret), ...strong('msg_1') })
    expect(await world.deliver(hook, body, signed(secret))).toMatchObject({ duplicate: true })
    // Its sender says under a new signed id that this is another event.
    expect(await world.deliver(hook, body, { ...signed(secret), ...strong('msg_2') })).toMatchObject({
      duplicate: false,
    })
  })

  test('was remembered by an earlier release as far as its history reaches', async () => {
    const world = aWebhookHarness()
    const { hook, secret } = await world.hook()
    const first = await world.deliver(hook, body, signed(secret))
    world.database.exec('DELETE FROM webhook_memories; DELETE FROM webhook_bodies')
    world.restart()
    await world.clock.leap(dayMs)
    expect(await world.deliver(hook, body, signed(secret))).toEqual({ ...first, duplicate: true })
  })
})

describe('a webhook that takes repetitions', () => {
  test('makes a run of each, but for one that bears the id of before', async () => {
    const world = aWebhookHarness()
    const { hook, secret } = await world.hook({ repeats: 'accept' })
    for (let times = 0; times < 3; times++) {
      expect(await world.deliver(hook, body, signed(secret))).toMatchObject({ duplicate: false })
    }
    const named = signed(secret, body, { 'x-github-delivery': 'guid-1' })
    expect(await world.deliver(hook, body, named)).toMatchObject({ duplicate: false })
    expect(await world.deliver(hook, body, named)).toMatchObject({ duplicate: true })
    expect(runsOf(world)).toHaveLength(4)
    const both = await Promise.all([1, 2].map(() => world.deliver(hook, body, signed(secret))))
    expect(both.map(({ duplicate }) => duplicate)).toEqual([false, false])
  })

  test('knows what came meanwhile once it takes them no more', async () => {
    const world = aWebhookHarness()
    const { hook, secret } = await world.hook({ repeats: 'accept' })
    await world.deliver(hook, body, signed(secret))
    const changed = await world.webhooks.manage.change(owner, hook.id, { repeats: 'refuse' })
    expect(changed.repeats).toBe('refuse')
    expect(await world.deliver(hook, body, signed(secret))).toMatchObject({ duplicate: true })
    await world.webhooks.manage.change(owner, hook.id, { repeats: 'accept' })
    expect(await world.deliver(hook, body, signed(secret))).toMatchObject({ duplicate: false })
  })
})

describe('a memory that is full', () => {
  const send = (
    world: WebhookHarness,
    { hook, secret }: Awaited<ReturnType<WebhookHarness['hook']>>,
    at: number,
  ) => world.deliver(hook, `{"at":${at}}`, signed(secret, `{"at":${at}}`))

  test('refuses what is new rather than forgetting what may come again, and says so to the owner alone', async () => {
    const world = aWebhookHarness({ memoryBounds: { perHookMax: 2, perHookAlways: 1, allHooksMax: 100 } })
    const made = await world.hook()
    await send(world, made, 1)
    await send(world, made, 2)
    await expect(send(world, made, 3)).rejects.toEqual(
      expect.objectContaining({ code: 'webhook-full', detail: expect.not.stringContaining('2 bodies') }),
    )
    expect(world.history(made.hook)[0]).toMatchObject({
      state: 'refused',
      code: 'webhook-full',
      reason: expect.stringMatching(/2 bodies.*repeats/),
    })
    for (const at of [1, 2]) expect(await send(world, made, at)).toMatchObject({ duplicate: true })
    expect(runsOf(world)).toHaveLength(2)
    // What is older than a month makes room, the oldest first.
    await world.clock.leap(31 * dayMs)
    expect(await send(world, made, 3)).toMatchObject({ duplicate: false })
    expect(await send(world, made, 2)).toMatchObject({ duplicate: true })
  })

  test('forgets none for those that come at the same moment', async () => {
    const world = aWebhookHarness({ memoryBounds: { perHookMax: 2, perHookAlways: 1, allHooksMax: 100 } })
    const made = await world.hook()
    const ends = await Promise.allSettled([1, 2, 3, 4, 5].map((at) => send(world, made, at)))
    const taken = [1, 2, 3, 4, 5].filter((_, index) => ends[index]?.status === 'fulfilled')
    expect(taken).toHaveLength(2)
    expect(runsOf(world)).toHaveLength(2)
    for (const at of taken) expect(await send(world, made, at)).toMatchObject({ duplicate: true })
  })

  test('of one webhook keeps no other from its own', async () => {
    const world = aWebhookHarness({ memoryBounds: { perHookMax: 3, perHookAlways: 1, allHooksMax: 3 } })
    const busy = await world.hook()
    const quiet = await world.hook()
    for (const at of [1, 2, 3]) await send(world, busy, at)
    expect(await send(world, quiet, 1)).toMatchObject({ duplicate: false })
    await expect(send(world, quiet, 2)).rejects.toEqual(refusedAs('webhook-full'))
    await world.webhooks.manage.remove(owner, busy.hook.id)
    expect(await send(world, quiet, 2)).toMatchObject({ duplicate: false })
  })

  test('of a webhook that takes repetitions refuses nothing', async () => {
    const world = aWebhookHarness({ memoryBounds: { perHookMax: 2, perHookAlways: 1, allHooksMax: 2 } })
    const made = await world.hook({ repeats: 'accept' })
    for (const at of [1, 2, 3, 4]) expect(await send(world, made, at)).toMatchObject({ duplicate: false })
    await world.webhooks.manage.change(owner, made.hook.id, { repeats: 'refuse' })
    for (const at of [3, 4]) expect(await send(world, made, at)).toMatchObject({ duplicate: true })
    // A repetition takes no place.
    await world.webhooks.manage.change(owner, made.hook.id, { repeats: 'accept' })
    for (let times = 0; times < 3; times++) await send(world, made, 4)
    await world.webhooks.manage.change(owner, made.hook.id, { repeats: 'refuse' })
    for (const at of [3, 4]) expect(await send(world, made, at)).toMatchObject({ duplicate: true })
  })
})

test('what a deleted webhook remembered is taken away, and nothing of another', async () => {
  const world = aWebhookHarness()
  const one = await world.hook()
  const other = await world.hook()
  for (const { hook, secret } of [one, other]) await world.deliver(hook, body, signed(secret))
  const bodies = () => world.database.prepare('SELECT memory FROM webhook_bodies').all().length
  await world.webhooks.manage.remove(owner, one.hook.id)
  expect(bodies()).toBe(2)
  for (let times = 0; times < 3; times++) world.webhooks.maintain()
  expect(bodies()).toBe(1)
  expect(world.database.prepare('SELECT number FROM webhook_memories').all()).toHaveLength(1)
  expect(await world.deliver(other.hook, body, signed(other.secret))).toMatchObject({ duplicate: true })
})

test('a secret that another webhook has is refused: who overhears one delivery could give it to both', async () => {
  const world = aWebhookHarness()
  const one = await world.hook({ secret: 'shared-by-two-senders' })
  await expect(world.hook({ secret: 'shared-by-two-senders' })).rejects.toEqual(
    expect.objectContaining({ code: 'conflict', detail: expect.stringContaining(one.hook.id) }),
  )
  const other = await world.hook({ secret: 'a-secret-of-its-own' })
  const rotated = world.webhooks.manage.rotate(owner, other.hook.id, {
    secret: 'shared-by-two-senders',
    overlapMs: 0,
  })
  await expect(rotated).rejects.toEqual(refusedAs('conflict'))
  expect(await world.deliver(other.hook, body, signed('a-secret-of-its-own'))).toMatchObject({
    status: 'accepted',
  })
})
