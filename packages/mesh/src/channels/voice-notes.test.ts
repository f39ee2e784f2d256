import { Problem } from '@flotilla/protocol/problem'
import { afterEach, describe, expect, test } from 'vitest'
import { aChannelHarness, ann } from '../testing/channel-harness.ts'
import { voiceLimits } from '../models/index.ts'
import type { ChannelHarnessOptions } from '../testing/channel-harness.ts'
import { aReceived, createFakeAdapter } from '../testing/fake-channel.ts'
import type { ReceivedAttachment } from './adapter.ts'
import { ChannelFailure } from './adapter.ts'
import { channelLimits, fileBackOffMs } from './channel-limits.ts'

type Harness = Awaited<ReturnType<typeof aChannelHarness>>

const voice = { model: 'own/whisper', usd_per_minute: 0.006 }
const marked = (words: string) => `[Said in a voice note, as a model wrote it down] ${words}`

const opened: Harness[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.stop()
})

async function open(more: Partial<ChannelHarnessOptions> = {}, fake = createFakeAdapter()) {
  const harness = await aChannelHarness({ adapters: [fake.adapter], voice, ...more })
  opened.push(harness)
  let count = 0
  const say = async (text: string, attachments: readonly ReceivedAttachment[]) => {
    await fake.hear(aReceived({ id: `said-${++count}`, text, attachments }))
    await harness.clock.settle()
  }
  const note = (words: string, kind: ReceivedAttachment['kind'] = 'voice'): ReceivedAttachment => {
    const reference = `ref-${words}`
    fake.keep(reference, Buffer.from(words))
    return { kind, name: `${kind}.bin`, mediaType: 'audio/ogg', sizeBytes: words.length, reference }
  }
  const told = () => fake.messages().map(({ text }) => text)
  const said = () =>
    harness.ledger.queries
      .list({ limit: 50 })
      .map(({ input }) => (input.kind === 'chat' ? input.message : ''))
  return { ...harness, fake, say, note, told, said }
}

describe('voice notes, where a model for them is set', () => {
  test('are words of the message, marked as what was said, behind what was typed', async () => {
    const world = await open()
    await world.say('', [world.note('how is the build?')])
    await world.say('two more', [world.note('one'), world.note('two')])
    expect(world.said().toReversed()).toEqual([
      marked('how is the build?'),
      `two more\n\n${marked('one')}\n\n${marked('two')}`,
    ])
    expect(world.told()).toEqual([])
    // They are nobody's files.
    expect(world.written.size).toBe(0)
  })

  test('are paid for by the agent that they are for, and are no commands', async () => {
    const world = await open()
    await world.say('@scout listen', [world.note('/stop')])
    expect(world.transcribed).toEqual([{ agentId: 'scout', audio: '/stop' }])
    expect(world.said()[0]).toBe(`listen\n\n${marked('/stop')}`)
  })

  test('that the platform says are too large for a model are refused before they are fetched; those that lie are read no further', async () => {
    const world = await open()
    const { audioMaxBytes } = voiceLimits
    await world.say('', [{ ...world.note('stated'), sizeBytes: audioMaxBytes + 1 }])
    expect(world.fake.downloads()).toEqual([])
    const lie = world.note('lie')
    world.fake.keep(lie.reference, Buffer.alloc(audioMaxBytes + 1))
    await world.say('', [lie])
    await world.say('', [{ ...world.note('whole'), sizeBytes: audioMaxBytes }])
    expect(world.said()).toEqual([marked('whole')])
    expect(world.transcribed).toHaveLength(1)
    expect(world.told()).toEqual(Array(2).fill('Left out: voice.bin: it is larger than 8 MB.'))
  })

  test('lose what nobody could see in them', async () => {
    const world = await open()
    await world.say('', [world.note('a\u{E0041}\u200Bb')])
    expect(world.said()).toEqual([marked('ab')])
  })

  test('beside files go along with them', async () => {
    const world = await open()
    await world.say('', [world.note('look at this'), world.note('a file', 'document')])
    expect(world.said()[0]).toMatch(/look at this\n\nAttached files:\n- \/data\/uploads\/\S+document\.bin$/)
  })

  test('want no right to manage the agent, which its files do', async () => {
    const member = {
      name: 'max',
      role: 'member',
      agents: ['operator'],
      identities: ['telegram:1000'],
    } as const
    const people = [{ ...member, agents: [...member.agents], identities: [...member.identities] }]
    const world = await open({ people })
    await world.say('', [world.note('hello')])
    expect(world.said()).toEqual([marked('hello')])
  })

  test('are refused before they are fetched or paid for, where they could become no run', async () => {
    const world = await open()
    for (let at = 0; at < channelLimits.openRunsPerPersonMax; at++) await world.say(`run ${at}`, [])
    await world.say('', [world.note('one too many')])
    expect(world.told()).toEqual([expect.stringMatching(/operator takes no more now/)])
    expect(world.fake.downloads()).toEqual([])
    expect(world.transcribed).toEqual([])
  })

  test('of one whose role was taken meanwhile are not paid for', async () => {
    const world = await open()
    world.fake.failDownloads(1, new ChannelFailure('unreachable', 'nobody answers'))
    await world.say('', [world.note('hello')])
    world.people.splice(0, 1, { ...world.people[0]!, role: 'viewer' })
    await world.clock.advance(fileBackOffMs.first)
    expect(world.transcribed).toEqual([])
    expect(world.said()).toEqual([])
    expect(world.told()).toEqual([expect.stringMatching(/^That was not done/)])
  })

  test.each([
    ['budget-exhausted', 'the budget of the day is used up'],
    ['upstream-failed', 'the provider hung up'],
  ] as const)('that end with %s are told so once, and not paid for again', async (code, detail) => {
    const world = await open()
    world.faults.transcribing = async () => ({ failed: new Problem(code, { detail }), waitMs: null })
    await world.say('', [world.note('hello')])
    await world.say('typed', [world.note('again')])
    await world.clock.advance(channelLimits.fileTriesMax * fileBackOffMs.max)
    expect(world.told()).toEqual([`Left out: voice.bin: ${detail}.`, `Left out: voice.bin: ${detail}.`])
    expect(world.said()).toEqual([`typed\n\n[Not passed on: voice.bin: ${detail}]`])
    expect(world.transcribed).toHaveLength(2)
  })

  test('that were not paid for are tried again as files are, and not more often', async () => {
    const world = await open()
    const failed = new Problem('rate-limited', { detail: 'too many' })
    world.faults.transcribing = async () => ({ failed, waitMs: 5000 })
    await world.say('', [world.note('hello')])
    await world.clock.advance(4900)
    expect(world.transcribed).toHaveLength(1)
    await world.clock.advance(channelLimits.fileTriesMax * fileBackOffMs.max)
    expect(world.transcribed).toHaveLength(channelLimits.fileTriesMax)
    expect(world.told()).toEqual(['Left out: voice.bin: too many.'])
    world.faults.transcribing = null
    await world.say('', [world.note('there')])
    expect(world.said()).toEqual([marked('there')])
  })

  test('are paid for once, however often what is beside them is tried', async () => {
    const world = await open()
    let writes = 0
    world.faults.writing = async () => {
      if (++writes < 3) throw new Problem('agent-unavailable', { detail: 'it is gone for a moment' })
    }
    await world.say('', [world.note('hello'), world.note('a file', 'document')])
    await world.clock.advance(10 * fileBackOffMs.first)
    expect(writes).toBe(3)
    expect(world.transcribed).toHaveLength(1)
    expect(world.said()[0]).toContain(marked('hello'))
  })

  test('in which nothing is heard are told so', async () => {
    const world = await open()
    world.faults.transcribing = async () => ({ text: ' \n ' })
    await world.say('', [world.note('hello')])
    expect(world.told()).toEqual(['Left out: voice.bin: no words were heard in it.'])
    expect(world.said()).toEqual([])
  })

  test('are heard again by the next life of a mesh that died over it, and become one run', async () => {
    const world = await open()
    const never = Promise.withResolvers<{ readonly text: string }>()
    world.faults.transcribing = () => never.promise
    await world.say('', [world.note('hello')])
    const again = await open({ of: world, people: [ann] }, world.fake)
    await again.clock.settle()
    expect(again.said()).toEqual([marked('hello')])
    // What the dead one still hears changes nothing.
    never.resolve({ text: 'hello' })
    await again.clock.settle()
    expect(again.said()).toEqual([marked('hello')])
    expect(again.rows('SELECT became, open FROM channel_messages')).toEqual([{ became: 'run', open: null }])
  })
})

test('voice notes are refused in words where no model for them is set', async () => {
  const world = await open({ voice: undefined })
  await world.say('', [world.note('hello')])
  await world.say('typed', [world.note('hello')])
  expect(world.told()).toEqual([
    'Voice notes are not understood here: no model writes down what is said in them. Write it, please.',
    'Left out: voice.bin: voice notes are not understood here.',
  ])
  expect(world.transcribed).toEqual([])
  expect(world.fake.downloads()).toEqual([])
})
