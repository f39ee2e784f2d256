import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { aChannelHarness, ann } from '../../../testing/src/channel-harness.ts'
import { voiceLimits } from '../../../inference/src/models/index.ts'
import type { ChannelHarnessOptions } from '../../../testing/src/channel-harness.ts'
import { aReceived, createFakeAdapter } from '../../../testing/src/fake-channel.ts'
import type { ReceivedAttachment } from './adapter.ts'
import { ChannelFailure } from './adapter.ts'
import { channelLimits, fileBackoff } from './channel-limits.ts'

const voice = { model: 'own/whisper', usd_per_minute: 0.006 }
const marked = (words: string) => `[Transcript of a voice note] ${words}`

async function open(more: Partial<ChannelHarnessOptions> = {}, fake = createFakeAdapter()) {
  const harness = await aChannelHarness({ adapters: [fake.adapter], voice, ...more })
  onTestFinished(() => harness.stop())
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
  const sentTexts = () => fake.messages().map(({ text }) => text)
  const said = () =>
    harness.ledger.queries
      .list({ limit: 50 })
      .map(({ input }) => (input.kind === 'chat' ? input.message : ''))
  return { ...harness, fake, say, note, told: sentTexts, said }
}

describe('voice notes with a transcription model', () => {
  test('a voice note becomes marked text after the typed text', async () => {
    const setup = await open()
    await setup.say('', [setup.note('how is the build?')])
    await setup.say('two more', [setup.note('one'), setup.note('two')])
    expect(setup.said().toReversed()).toEqual([
      marked('how is the build?'),
      `two more\n\n${marked('one')}\n\n${marked('two')}`,
    ])
    expect(setup.told()).toEqual([])
    // Voice notes are not stored as files.
    expect(setup.written.size).toBe(0)
  })

  test('a voice note is charged to its agent and is never a command', async () => {
    const setup = await open()
    await setup.say('@scout listen', [setup.note('/stop')])
    expect(setup.transcribed).toEqual([{ agentId: 'scout', audio: '/stop' }])
    expect(setup.said()[0]).toBe(`listen\n\n${marked('/stop')}`)
  })

  test("voice notes above the model's limit are rejected before the download, and false sizes are read only up to the limit", async () => {
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
    expect(setup.told()).toEqual(Array(2).fill('Left out: voice.bin: the file is larger than 8 MB.'))
  })

  test('invisible characters are removed from a transcript', async () => {
    const setup = await open()
    await setup.say('', [setup.note('a\u{E0041}\u200Bb')])
    expect(setup.said()).toEqual([marked('ab')])
  })

  test('voice notes are processed together with files of the message', async () => {
    const setup = await open()
    await setup.say('', [setup.note('look at this'), setup.note('a file', 'document')])
    expect(setup.said()[0]).toMatch(/look at this\n\nAttached files:\n- \/data\/uploads\/\S+document\.bin$/)
  })

  test('voice notes need no permission to manage the agent, but files do', async () => {
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

  test('voice notes that cannot become a run are rejected before the download and the payment', async () => {
    const setup = await open()
    for (let at = 0; at < channelLimits.openRunsPerPersonMax; at++) await setup.say(`run ${at}`, [])
    await setup.say('', [setup.note('one too many')])
    expect(setup.told()).toEqual([expect.stringMatching(/operator accepts no more messages now/)])
    expect(setup.fake.downloads()).toEqual([])
    expect(setup.transcribed).toEqual([])
  })

  test('voice notes of a person who lost the role are not paid for', async () => {
    const setup = await open()
    setup.fake.failDownloads(1, new ChannelFailure('unreachable', 'no answer'))
    await setup.say('', [setup.note('hello')])
    setup.people.splice(0, 1, { ...setup.people[0]!, role: 'viewer' })
    await setup.clock.advance(fileBackoff.firstMs)
    expect(setup.transcribed).toEqual([])
    expect(setup.said()).toEqual([])
    expect(setup.told()).toEqual([expect.stringMatching(/^Not done/)])
  })

  test.each([
    ['budget-exhausted', 'the budget of the day is used up'],
    ['upstream-failed', 'the provider hung up'],
  ] as const)(
    'voice notes that end with %s get one reply and are not paid for again',
    async (code, detail) => {
      const setup = await open()
      setup.faults.transcribing = async () => ({ failed: new Problem(code, { detail }), waitMs: null })
      await setup.say('', [setup.note('hello')])
      await setup.say('typed', [setup.note('again')])
      await setup.clock.advance(channelLimits.fileTriesMax * fileBackoff.maxMs)
      expect(setup.told()).toEqual([`Left out: voice.bin: ${detail}.`, `Left out: voice.bin: ${detail}.`])
      expect(setup.said()).toEqual([`typed\n\n[Not passed on: voice.bin: ${detail}]`])
      expect(setup.transcribed).toHaveLength(2)
    },
  )

  test('voice notes that were not paid for are retried like files', async () => {
    const setup = await open()
    const failed = new Problem('rate-limited', { detail: 'too many' })
    setup.faults.transcribing = async () => ({ failed, waitMs: 5000 })
    await setup.say('', [setup.note('hello')])
    await setup.clock.advance(4900)
    expect(setup.transcribed).toHaveLength(1)
    await setup.clock.advance(channelLimits.fileTriesMax * fileBackoff.maxMs)
    expect(setup.transcribed).toHaveLength(channelLimits.fileTriesMax)
    expect(setup.told()).toEqual(['Left out: voice.bin: too many.'])
    setup.faults.transcribing = null
    await setup.say('', [setup.note('there')])
    expect(setup.said()).toEqual([marked('there')])
  })

  test('a voice note is paid for once, however often other files are retried', async () => {
    const setup = await open()
    let writes = 0
    setup.faults.writing = async () => {
      if (++writes < 3) throw new Problem('agent-unavailable', { detail: 'it is restarting' })
    }
    await setup.say('', [setup.note('hello'), setup.note('a file', 'document')])
    await setup.clock.advance(10 * fileBackoff.firstMs)
    expect(writes).toBe(3)
    expect(setup.transcribed).toHaveLength(1)
    expect(setup.said()[0]).toContain(marked('hello'))
  })

  test('voice notes without words get a reply', async () => {
    const setup = await open()
    setup.faults.transcribing = async () => ({ text: ' \n ' })
    await setup.say('', [setup.note('hello')])
    expect(setup.told()).toEqual(['Left out: voice.bin: the voice note contains no words.'])
    expect(setup.said()).toEqual([])
  })

  test('voice notes are transcribed again after a crash and become one run', async () => {
    const setup = await open()
    const never = Promise.withResolvers<{ readonly text: string }>()
    setup.faults.transcribing = () => never.promise
    await setup.say('', [setup.note('hello')])
    const again = await open({ of: setup, people: [ann] }, setup.fake)
    await again.clock.settle()
    expect(again.said()).toEqual([marked('hello')])
    // The result of the dead process has no effect.
    never.resolve({ text: 'hello' })
    await again.clock.settle()
    expect(again.said()).toEqual([marked('hello')])
    expect(again.rows('SELECT became, open FROM channel_messages')).toEqual([{ became: 'run', open: null }])
  })
})

test('voice notes are rejected with a reply without a transcription model', async () => {
  const setup = await open({ voice: undefined })
  await setup.say('', [setup.note('hello')])
  await setup.say('typed', [setup.note('hello')])
  expect(setup.told()).toEqual([
    'Voice notes are not supported here, because no transcription model is configured. Please write your message as text.',
    'Left out: voice.bin: voice notes are not supported here.',
  ])
  expect(setup.transcribed).toEqual([])
  expect(setup.fake.downloads()).toEqual([])
})
