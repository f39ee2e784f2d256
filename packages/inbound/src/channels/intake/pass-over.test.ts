import { Problem } from '@flotilla/protocol/problem'
import { afterEach, describe, expect, test } from 'vitest'
import { silentLog } from '../../../../foundation/src/platform/log.ts'
import { aChannelHarness } from '../../../../testing/src/channel-harness.ts'
import { aReceived, createFakeAdapter } from '../../../../testing/src/fake-channel.ts'
import type { PassedOver } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import { createPatientReceive } from './pass-over.ts'

/** A desk that fails with the error of `faultOf`. */
function aDesk(faultOf: (text: string) => unknown) {
  const passed: PassedOver[] = []
  const receive = createPatientReceive({
    receive: async (_channel, { text }) => {
      const fault = faultOf(text)
      if (fault) throw fault
    },
    passOver: (_channel, what) => void passed.push(what),
    log: silentLog,
  })
  const tryTo = async (text: string, id = text) =>
    receive('telegram', aReceived({ id, text })).then(
      () => 'taken',
      () => 'not taken',
    )
  return { passed, tryTo }
}

async function times(count: number, work: () => Promise<string>): Promise<readonly string[]> {
  const ends: string[] = []
  for (let time = 0; time < count; time++) ends.push(await work())
  return ends
}

describe('a message that causes an internal error', () => {
  test('a message that causes an internal error is retried a few times and then skipped', async () => {
    const { passed, tryTo } = aDesk((text) => (text === 'poison' ? new TypeError('x of undefined') : null))
    const before = await times(channelLimits.takeTriesMax - 1, () => tryTo('poison'))
    expect(new Set(before)).toEqual(new Set(['not taken']))
    expect(passed).toEqual([])
    expect(await tryTo('poison')).toBe('taken')
    expect(passed).toEqual([
      { id: 'poison', detail: expect.stringContaining(`${channelLimits.takeTriesMax} times`) },
    ])
    expect(JSON.stringify(passed)).not.toContain('undefined')
    expect(await tryTo('good')).toBe('taken')
  })

  test('attempts are counted per message, and reset once it was processed', async () => {
    let isBroken = true
    const { passed, tryTo } = aDesk(() => (isBroken ? new Error('no') : null))
    await times(channelLimits.takeTriesMax - 1, () => tryTo('one'))
    await times(channelLimits.takeTriesMax - 1, () => tryTo('other'))
    isBroken = false
    expect(await tryTo('one')).toBe('taken')
    isBroken = true
    expect(await tryTo('one')).toBe('not taken')
    expect(passed).toEqual([])
  })

  test.each([
    ['a full disk', new Problem('disk-full', { detail: 'no room' })],
    ['an unreadable people file', new Problem('unprocessable', { detail: 'line 3' })],
    ['a locked database', Object.assign(new Error('locked'), { code: 'ERR_SQLITE_ERROR', errcode: 5 })],
    ['a broken disk', Object.assign(new Error('io'), { code: 'ERR_SQLITE_ERROR', errcode: 10 + (1 << 8) })],
    ['a quota', Object.assign(new Error('quota'), { code: 'EDQUOT' })],
  ])('an error that affects all messages is retried without a limit: %s', async (_what, fault) => {
    const { passed, tryTo } = aDesk(() => fault)
    const ends = await times(5 * channelLimits.takeTriesMax, () => tryTo('anything'))
    expect(new Set(ends)).toEqual(new Set(['not taken']))
    expect(passed).toEqual([])
  })

  test('a message that only the database rejects is skipped', async () => {
    const { passed, tryTo } = aDesk(() =>
      Object.assign(new Error('constraint'), { code: 'ERR_SQLITE_ERROR', errcode: 19 }),
    )
    await times(channelLimits.takeTriesMax, () => tryTo('poison'))
    expect(passed).toHaveLength(1)
  })

  test('the attempts are counted in bounded memory', async () => {
    const { passed, tryTo } = aDesk(() => new Error('no'))
    await times(channelLimits.takeTriesMax - 1, () => tryTo('first'))
    for (let one = 0; one < channelLimits.triedMessagesMax; one++) await tryTo('x', `other-${one}`)
    expect(await tryTo('first')).toBe('not taken')
    expect(passed).toEqual([])
  })
})

describe('a skipped message', () => {
  let stop: () => Promise<void> = async () => {}
  afterEach(() => stop())

  test('a skipped message is in the audit log, and owners get one notice in their direct conversation', async () => {
    const fake = createFakeAdapter()
    const harness = await aChannelHarness({ adapters: [fake.adapter] })
    stop = harness.stop
    await fake.hear(aReceived({ id: 'hello', text: '/help' }))
    for (const _time of [1, 2]) harness.desk.passOver('telegram', { id: 'update:7', detail: 'not readable' })
    await harness.clock.settle()
    const told = fake.messages().filter(({ text }) => text.includes('was skipped'))
    expect(told.map(({ text }) => text)).toEqual([expect.stringMatching(/telegram:update:7.*not readable/)])
    expect(
      harness.rows("SELECT subject FROM journal WHERE action = 'channel.message-passed-over'"),
    ).toContainEqual({
      subject: 'telegram:update:7',
    })
  })
})
