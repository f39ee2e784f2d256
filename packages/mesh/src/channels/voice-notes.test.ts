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
const marked = (words: string) => `[Transcript of a voice note] ${words}`

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
    const setup = await open()
    await setup.say('', [setup.note('how is the build?')])
    await setup.say('two more', [setup.note('one'), setup.note('two')])
    expect(setup.said().toReversed()).toEqual([
      marked('how is the build?'),
      `two more\n\n${marked('one')}\n\n${marked('two')}`,
    ])
    expect(setup.told()).toEqual([])
    // They are nobody's files.
    expect(setup.written.size).toBe(0)
  })

  test('are paid for by the agent that they are for, and are no commands', async () => {
    const setup = await open()
    await setup.say('@scout listen', [setup.note('/stop')])
    expect(setup.transcribed).toEqual([{ agentId: 'scout', audio: '/stop' }])
    expect(setup.said()[0]).toBe(`listen\n\n${marked('/stop')}`)
  })

  test('that the platform says are too large for a model are refused before they are fetched; those that lie are read no further', async () => {
    const setup = await open()
    const { audioMaxBytes } = voiceLimits
    await setup.say('', [{ ...setup.note('stated'), sizeBytes: audioMaxBytes + 1 }])
    expect(setup.fake.downloads()).toEqual([])
    const lie = setup.note('lie')
    setup.fake.keep(lie.reference, Buffer.alloc(audioMaxBytes + 1))
    await setup.say('', [lie])
    await setup.say('', [{ ...setup.note('whole'), sizeBytes: audioMaxBytes }])
    expect(setup.said()).toEqual([marked('whole')])
    expect(setup.transcribed).toHaveLength(1)
    expect(setup.told()).toEqual(Array(2).fill('Left out: voice.bin: it is larger than 8 MB.'))
  })

  test('lose what nobody could see in them', async () => {
    const setup = await open()
    await setup.say('', [setup.note('a\u{E0041}\u200Bb')])
    expect(setup.said()).toEqual([marked('ab')])
  })

  test('beside files go along with them', async () => {
    const setup = await open()
    await setup.say('', [setup.note('look at this'), setup.note('a file', 'document')])
    expect(setup.said()[0]).toMatch(/look at this\n\nAttached files:\n- \/data\/uploads\/\S+document\.bin$/)
  })

  test('want no right to manage the agent, which its files do', async () => {
    const member = {
      name: 'max',
      role: 'member',
      agents: ['operator'],
      identities: ['telegram:1000'],
    } as const
    const people = [{ ...member, agents: [...member.agents], identities: [...member.identities] }]
    const setup = await open({ people })
    await setup.say('', [setup.note('hello')])
    expect(setup.said()).toEqual([marked('hello')])
  })

  test('are refused before they are fetched or paid for, where they could become no run', async () => {
    const setup = await open()
    for (let at = 0; at < channelLimits.openRunsPerPersonMax; at++) await setup.say(`run ${at}`, [])
    await setup.say('', [setup.note('one too many')])
    expect(setup.told()).toEqual([expect.stringMatching(/operator accepts no more messages now/)])
    expect(setup.fake.downloads()).toEqual([])
    expect(setup.transcribed).toEqual([])
  })

  test('of one whose role was taken meanwhile are not paid for', async () => {
    const setup = await open()
    setup.fake.failDownloads(1, new ChannelFailure('unreachable', 'nobody answers'))
    await setup.say('', [setup.note('hello')])
    setup.people.splice(0, 1, { ...setup.people[0]!, role: 'viewer' })
    await setup.clock.advance(fileBackOffMs.first)
    expect(setup.transcribed).toEqual([])
    expect(setup.said()).toEqual([])
    expect(setup.told()).toEqual([expect.stringMatching(/^Not done/)])
  })

  test.each([
    ['budget-exhausted', 'the budget of the day is used up'],
    ['upstream-failed', 'the provider hung up'],
  ] as const)('that end with %s are told so once, and not paid for again', async (code, detail) => {
    const setup = await open()
    setup.faults.transcribing = async () => ({ failed: new Problem(code, { detail }), waitMs: null })
    await setup.say('', [setup.note('hello')])
    await setup.say('typed', [setup.note('again')])
    await setup.clock.advance(channelLimits.fileTriesMax * fileBackOffMs.max)
    expect(setup.told()).toEqual([`Left out: voice.bin: ${detail}.`, `Left out: voice.bin: ${detail}.`])
    expect(setup.said()).toEqual([`typed\n\n[Not passed on: voice.bin: ${detail}]`])
    expect(setup.transcribed).toHaveLength(2)
  })

  test('that were not paid for are tried again as files are, and not more often', async () => {
    const setup = await open()
    const failed = new Problem('rate-limited', { detail: 'too many' })
    setup.faults.transcribing = async () => ({ failed, waitMs: 5000 })
    await setup.say('', [setup.note('hello')])
    await setup.clock.advance(4900)
    expect(setup.transcribed).toHaveLength(1)
    await setup.clock.advance(channelLimits.fileTriesMax * fileBackOffMs.max)
    expect(setup.transcribed).toHaveLength(channelLimits.fileTriesMax)
    expect(setup.told()).toEqual(['Left out: voice.bin: too many.'])
    setup.faults.transcribing = null
    await setup.say('', [setup.note('there')])
    expect(setup.said()).toEqual([marked('there')])
  })

  test('are paid for once, however often what is beside them is tried', async () => {
    const setup = await open()
    let writes = 0
    setup.faults.writing = async () => {
      if (++writes < 3) throw new Problem('agent-unavailable', { detail: 'it is gone for a moment' })
    }
    await setup.say('', [setup.note('hello'), setup.note('a file', 'document')])
    await setup.clock.advance(10 * fileBackOffMs.first)
    expect(writes).toBe(3)
    expect(setup.transcribed).toHaveLength(1)
    expect(setup.said()[0]).toContain(marked('hello'))
  })

  test('in which nothing is heard are told so', async () => {
    const setup = await open()
    setup.faults.transcribing = async () => ({ text: ' \n ' })
    await setup.say('', [setup.note('hello')])
    expect(setup.told()).toEqual(['Left out: voice.bin: it contains no words.'])
    expect(setup.said()).toEqual([])
  })

  test('are heard again by the next life of a mesh that died over it, and become one run', async () => {
    const setup = await open()
    const never = Promise.withResolvers<{ readonly text: string }>()
    setup.faults.transcribing = () => never.promise
    await setup.say('', [setup.note('hello')])
    const again = await open({ of: setup, people: [ann] }, setup.fake)
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
  const setup = await open({ voice: undefined })
  await setup.say('', [setup.note('hello')])
  await setup.say('typed', [setup.note('hello')])
  expect(setup.told()).toEqual([
    'Voice notes are not supported here, because no transcription model is configured. Please write it as text.',
    'Left out: voice.bin: voice notes are not supported here.',
  ])
  expect(setup.transcribed).toEqual([])
  expect(setup.fake.downloads()).toEqual([])
})
