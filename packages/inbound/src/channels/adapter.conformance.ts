import { setTimeout as delay } from 'node:timers/promises'
import { channelIdentities } from '@flotilla/protocol/people'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { referenceMaxChars } from './adapter.ts'
import type {
  ChannelAdapter,
  ChannelFailureKind,
  ChannelState,
  ConversationPlace,
  ReceivedMessage,
} from './adapter.ts'

/** A fake platform and the adapter that connects to the platform. Each test gets a new pair. */
export interface ChannelUnderTest {
  /** The adapter has not been started. */
  readonly adapter: ChannelAdapter
  readonly platform: FakePlatform
  /** A direct conversation with the sender, and a group. */
  readonly places: { readonly alone: ConversationPlace; readonly group: ConversationPlace }
  readonly close: () => Promise<void>
}

export interface FakePlatform {
  /**
   * Sends a message as a user of the platform. Resolves with the message's mark once the platform has it, even if the
   * adapter does not acknowledge it.
   */
  readonly say: (said: SaidOnPlatform) => Promise<string>
  /**
   * True once the adapter acknowledged the message (offset, acknowledgement, status 200), so that the platform does
   * not send it again.
   */
  readonly isTaken: (mark: string) => boolean
  /** Returns the messages that users see, in order, with all edits applied. */
  readonly shown: () => readonly ShownOnPlatform[]
  /** Returns the files that users see, in order. */
  readonly shownFiles: () => readonly ShownFileOnPlatform[]
  /** Makes the next call that sends or edits a message fail in this way. */
  readonly failNext: (how: FakeFailure) => void
}

export interface SaidOnPlatform {
  readonly place: ConversationPlace
  readonly text: string
  readonly by: 'person' | 'bot'
  /** In a group: true for a mention of the bot or a reply to it. */
  readonly addressed: boolean
  /** A file in the same message as the text. */
  readonly file?: FileOnPlatform
}

export interface FileOnPlatform {
  readonly name: string
  readonly mediaType: string
  readonly bytes: Uint8Array
}

export interface ShownOnPlatform {
  readonly conversationId: string
  readonly text: string
}

export interface ShownFileOnPlatform {
  readonly conversationId: string
  readonly name: string
  readonly bytes: Uint8Array
}

/**
 * `rate-limited` asks the client to wait `fakeRetryAfterMs`. `cut-after` closes the connection after the platform
 * stored the message.
 */
export type FakeFailure = 'rate-limited' | 'gone' | 'refused' | 'unreachable' | 'cut-after'

/** The wait that a fake platform asks for, in milliseconds. */
export const fakeRetryAfterMs = 2000

export interface ConformanceOptions {
  /**
   * False if the platform does not redeliver unacknowledged messages. A message that cannot be
   * stored is then lost, and the adapter reports the loss.
   */
  readonly sendsAgain: boolean
  /** The failures that the platform can produce; if left out, all failures. */
  readonly failures?: readonly FakeFailure[]
}

const kinds: Readonly<Record<FakeFailure, readonly ChannelFailureKind[]>> = {
  'rate-limited': ['rate-limited'],
  gone: ['gone'],
  refused: ['refused'],
  unreachable: ['unreachable'],
  'cut-after': ['unsure'],
}

/** The tests that every adapter of `adapter.ts` must pass. */
export function channelAdapterConformance(
  name: string,
  open: () => Promise<ChannelUnderTest>,
  {
    sendsAgain,
    failures = ['rate-limited', 'gone', 'refused', 'unreachable', 'cut-after'],
  }: ConformanceOptions,
): void {
  describe(`channel adapter: ${name}`, () => {
    const opened: ChannelUnderTest[] = []
    afterEach(async () => {
      for (const one of opened.splice(0)) {
        await one.adapter.close()
        await one.close()
      }
    })

    async function started(receive: (message: ReceivedMessage) => Promise<void> = async () => {}) {
      const under = await open()
      opened.push(under)
      const received: ReceivedMessage[] = []
      const states: ChannelState[] = []
      await under.adapter.start({
        received: async (message) => {
          received.push(message)
          await receive(message)
        },
        stateChanged: (state) => void states.push(state),
        passedOver: () => {},
      })
      return { ...under, heard: received, states }
    }

    const never = new AbortController().signal
    const message = (place: ConversationPlace, text: string, clientId = 'note_1-0') => ({
      place,
      clientId,
      text,
      buttons: [],
      replyToId: null,
    })

    test('the adapter is connected once the platform answers', async () => {
      const { states } = await started()
      await vi.waitFor(() => expect(states.at(-1)?.state).toBe('connected'))
    })

    test('a direct message arrives with its id, sender and place', async () => {
      const { adapter, platform, places, heard } = await started()
      await platform.say({ place: places.alone, text: 'good morning', by: 'person', addressed: true })
      await vi.waitFor(() => expect(heard).toHaveLength(1))
      expect(heard[0]).toMatchObject({
        text: 'good morning',
        addressed: true,
        pressed: null,
        place: places.alone,
      })
      expect(heard[0]?.senderId).toMatch(channelIdentities[adapter.name].form)
      expect(heard[0]?.id.length).toBeGreaterThan(0)
    })

    test('two messages have different ids', async () => {
      const { platform, places, heard } = await started()
      for (const text of ['one', 'two']) {
        await platform.say({ place: places.alone, text, by: 'person', addressed: true })
      }
      await vi.waitFor(() => expect(heard).toHaveLength(2))
      expect(new Set(heard.map(({ id }) => id)).size).toBe(2)
    })

    test('messages between users are not marked as addressed to the bot', async () => {
      const { platform, places, heard } = await started()
      await platform.say({ place: places.group, text: 'lunch?', by: 'person', addressed: false })
      await platform.say({ place: places.group, text: 'for us', by: 'person', addressed: true })
      await vi.waitFor(() => expect(heard.some(({ addressed }) => addressed)).toBe(true))
      expect(heard.filter(({ addressed }) => addressed)).toHaveLength(1)
      expect(heard.find(({ addressed }) => addressed)?.place.isPrivate).toBe(false)
    })

    test('messages of bots are dropped', async () => {
      const { platform, places, heard } = await started()
      await platform.say({ place: places.alone, text: 'beep', by: 'bot', addressed: true })
      await platform.say({ place: places.alone, text: 'a person', by: 'person', addressed: true })
      await vi.waitFor(() => expect(heard.map(({ text }) => text)).toContain('a person'))
      expect(heard.map(({ text }) => text)).toEqual(['a person'])
    })

    test('a message is acknowledged only after it was persisted', async () => {
      const row = Promise.withResolvers<void>()
      const { platform, places, heard } = await started(() => row.promise)
      const saying = platform.say({ place: places.alone, text: 'keep this', by: 'person', addressed: true })
      await vi.waitFor(() => expect(heard).toHaveLength(1))
      const mark = await saying
      await delay(30)
      if (sendsAgain) expect(platform.isTaken(mark)).toBe(false)
      row.resolve()
      await vi.waitFor(() => expect(platform.isTaken(mark)).toBe(true))
    })

    test.runIf(sendsAgain)(
      'a message that was not persisted is delivered again under the same id',
      async () => {
        let broken = true
        const { platform, places, heard } = await started(async () => {
          if (broken) throw new Error('the disk is full')
        })
        const mark = await platform.say({ place: places.alone, text: 'again', by: 'person', addressed: true })
        await vi.waitFor(() => expect(heard.length).toBeGreaterThan(0))
        expect(platform.isTaken(mark)).toBe(false)
        broken = false
        await vi.waitFor(() => expect(platform.isTaken(mark)).toBe(true))
        expect(new Set(heard.map(({ id }) => id)).size).toBe(1)
      },
    )

    test('a message that was sent is shown and has an id', async () => {
      const { adapter, platform, places } = await started()
      const sent = await adapter.send(message(places.alone, 'hello'), never)
      expect(sent.id.length).toBeGreaterThan(0)
      expect(platform.shown()).toEqual([{ conversationId: places.alone.conversationId, text: 'hello' }])
    })

    test('a message of the maximum length is shown in full', async () => {
      const { adapter, platform, places } = await started()
      const text = 'ab cd '
        .repeat(Math.ceil(adapter.traits.messageCharsMax / 6))
        .slice(0, adapter.traits.messageCharsMax - 1)
      await adapter.send(message(places.alone, `${text}x`), never)
      expect(platform.shown().map((shown) => shown.text)).toEqual([`${text}x`])
    })

    test('a message that is sent twice is shown once where the platform deduplicates', async () => {
      const { adapter, platform, places } = await started()
      await adapter.send(message(places.alone, 'once'), never)
      await adapter.send(message(places.alone, 'once'), never)
      expect(platform.shown()).toHaveLength(adapter.traits.dropsRepeats ? 1 : 2)
    })

    test('an edit replaces the text of the message', async () => {
      const { adapter, platform, places } = await started()
      expect(adapter.edit === undefined).toBe(adapter.traits.editEveryMs === null)
      if (!adapter.edit) return
      const { id } = await adapter.send(message(places.alone, 'half'), never)
      await adapter.edit({ place: places.alone, messageId: id, text: 'whole', buttons: [] }, never)
      expect(platform.shown().map(({ text }) => text)).toEqual(['whole'])
    })

    test.each(failures)('a call that fails with %s throws the matching ChannelFailure', async (how) => {
      const { adapter, platform, places } = await started()
      platform.failNext(how)
      const failure = await adapter.send(message(places.alone, 'lost'), never).then(
        () => null,
        (error: unknown) => error,
      )
      expect(failure).toMatchObject({ name: 'ChannelFailure' })
      expect(kinds[how]).toContain((failure as { kind: ChannelFailureKind }).kind)
      if (how === 'rate-limited') expect(failure).toMatchObject({ retryAfterMs: fakeRetryAfterMs })
      // The failure of one message must not affect the next message.
      await adapter.send(message(places.alone, 'found', 'note_2-0'), never)
      expect(platform.shown().map(({ text }) => text)).toContain('found')
    })

    const file = { name: 'notes.txt', mediaType: 'text/plain', bytes: Buffer.from('0123456789'.repeat(30)) }

    async function heardFile(under: Awaited<ReturnType<typeof started>>) {
      const { platform, places, heard } = under
      await platform.say({ place: places.alone, text: 'see', by: 'person', addressed: true, file })
      await vi.waitFor(() => expect(heard).toHaveLength(1))
      const attachment = heard[0]?.attachments[0]
      if (!attachment) throw new Error('no file was received')
      return attachment
    }

    test('a received file has a reference that can be stored and is downloaded in full', async () => {
      const under = await started()
      const attachment = await heardFile(under)
      expect(attachment.kind).toBe('document')
      expect([file.bytes.length, null]).toContain(attachment.sizeBytes)
      expect(attachment.reference.length).toBeGreaterThan(0)
      expect(attachment.reference.length).toBeLessThanOrEqual(referenceMaxChars)
      const { download } = under.adapter
      for (const maxBytes of [file.bytes.length, 10 * file.bytes.length]) {
        expect(Buffer.from((await download?.(attachment.reference, maxBytes, never)) ?? [])).toEqual(
          file.bytes,
        )
      }
    })

    test('a file above the size limit is not downloaded, and an aborted download rejects', async () => {
      const under = await started()
      const { reference } = await heardFile(under)
      await expect(under.adapter.download?.(reference, file.bytes.length - 1, never)).rejects.toMatchObject({
        name: 'ChannelFailure',
        kind: 'too-large',
      })
      await expect(under.adapter.download?.(reference, 1000, AbortSignal.abort())).rejects.toThrow(/./)
    })

    test.each(['https://files.example.org/notes.txt', 'file:///etc/passwd', '../../x', ''])(
      'a reference that the platform did not issue (%j) is rejected',
      async (reference) => {
        const { adapter } = await started()
        await expect(adapter.download?.(reference, 1000, never)).rejects.toMatchObject({
          name: 'ChannelFailure',
          kind: expect.stringMatching(/^(?:refused|gone)$/),
        })
      },
    )

    test('an uploaded file is shown in full under its name', async () => {
      const { adapter, platform, places } = await started()
      expect(adapter.upload === undefined).toBe(adapter.traits.fileBytesMax === 0)
      const sent = await adapter.upload?.({ ...file, place: places.alone, clientId: 'note_1-1' }, never)
      expect(sent?.id.length).toBeGreaterThan(0)
      expect(platform.shownFiles()).toMatchObject([
        { conversationId: places.alone.conversationId, name: 'notes.txt' },
      ])
      expect(Buffer.from(platform.shownFiles()[0]?.bytes ?? [])).toEqual(file.bytes)
    })

    test('an aborted upload rejects and shows nothing', async () => {
      const { adapter, places, platform } = await started()
      const sending = adapter.upload?.({ ...file, place: places.alone, clientId: 'a-1' }, AbortSignal.abort())
      await expect(sending).rejects.toThrow(/./)
      expect(platform.shownFiles()).toEqual([])
    })

    test('an aborted send rejects', async () => {
      const { adapter, places } = await started()
      await expect(adapter.send(message(places.alone, 'late'), AbortSignal.abort())).rejects.toThrow(/./)
    })

    test('no message arrives after close', async () => {
      const { adapter, platform, places, heard } = await started()
      await adapter.close()
      await platform
        .say({ place: places.alone, text: 'anybody?', by: 'person', addressed: true })
        .catch(() => {})
      await delay(50)
      expect(heard).toEqual([])
    })

    test('closing twice, and closing before the start, is harmless', async () => {
      const under = await open()
      opened.push(under)
      await under.adapter.close()
      await expect(under.adapter.close()).resolves.toBeUndefined()
    })

    test('name and limits of the adapter are valid', async () => {
      const under = await open()
      opened.push(under)
      const { traits, name: channel } = under.adapter
      expect(Object.keys(channelIdentities)).toContain(channel)
      expect(traits.messageCharsMax).toBeGreaterThanOrEqual(1000)
      expect(traits.buttonsMax).toBeGreaterThanOrEqual(0)
      expect(traits.editEveryMs ?? 1).toBeGreaterThan(0)
    })
  })
}
