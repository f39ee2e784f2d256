import type { ChannelName } from '@flotilla/protocol/people'
import { ChannelFailure } from '../../inbound/src/channels/adapter.ts'
import type {
  ChannelAdapter,
  ChannelListener,
  ChannelTraits,
  OutgoingFile,
  OutgoingMessage,
  ReceivedMessage,
} from '../../inbound/src/channels/adapter.ts'
import { fakeRetryAfterMs } from '../../inbound/src/channels/adapter.conformance.ts'
import type {
  FakeFailure,
  FakePlatform,
  SaidOnPlatform,
} from '../../inbound/src/channels/adapter.conformance.ts'

export interface ShownMessage extends OutgoingMessage {
  readonly id: string
}

export interface FakeChannel {
  readonly adapter: ChannelAdapter
  readonly platform: FakePlatform
  /** All messages that the platform stored, with the mark that the adapter received. */
  readonly messages: () => readonly ShownMessage[]
  /** Every call that sends, including failed ones and dropped repeats. */
  readonly calls: () => readonly OutgoingMessage[]
  /** Files that the platform has. */
  readonly files: () => readonly OutgoingFile[]
  /** The next upload fails in this way. */
  readonly onNextUpload: (how: FakeFailure) => void
  /** Stores the file of a reference. */
  readonly keep: (reference: string, bytes: Uint8Array) => void
  /** Calls of `download`, by reference. */
  readonly downloads: () => readonly string[]
  /** The next `times` downloads fail in this way. */
  readonly failDownloads: (times: number, failure: ChannelFailure) => void
  /** Makes downloads hang until their signal aborts them. */
  readonly holdDownloads: () => void
  readonly edits: () => number
  readonly typings: () => number
  /** Delivers a message from the wire; rejects if it was not accepted. */
  readonly hear: (message: ReceivedMessage) => Promise<void>
}

const refusals: Readonly<Record<FakeFailure, () => ChannelFailure>> = {
  'rate-limited': () => new ChannelFailure('rate-limited', 'too fast', fakeRetryAfterMs),
  gone: () => new ChannelFailure('gone', 'the conversation is closed'),
  refused: () => new ChannelFailure('refused', 'the message is not accepted'),
  unreachable: () => new ChannelFailure('unreachable', 'no answer'),
  'cut-after': () => new ChannelFailure('unsure', 'the line broke'),
}

const againMs = 5

/** An in-memory platform: it redelivers messages that were not acknowledged, as a polling client sees it. */
export function createFakeAdapter({
  name = 'telegram',
  ...fields
}: Partial<ChannelTraits> & { readonly name?: ChannelName } = {}): FakeChannel {
  const traits: ChannelTraits = {
    messageCharsMax: 4096,
    editEveryMs: 10,
    buttonsMax: 10,
    dropsRepeats: true,
    fileBytesMax: 1_000_000,
    ...fields,
  }
  const taken = new Set<string>()
  const calls: OutgoingMessage[] = []
  const messages: ShownMessage[] = []
  const failures: FakeFailure[] = []
  const files: OutgoingFile[] = []
  const kept = new Map<string, Uint8Array>()
  const downloads: string[] = []
  const uploadFailures: FakeFailure[] = []
  const downloadFailures: ChannelFailure[] = []
  let areHeld = false
  let listener: ChannelListener | null = null
  let count = 0
  let edits = 0
  let typings = 0

  async function give(message: ReceivedMessage): Promise<void> {
    for (let taking = listener; taking; taking = listener) {
      try {
        await taking.received(message)
        taken.add(message.id)
        return
      } catch {
        await new Promise((resolve) => setTimeout(resolve, againMs))
      }
    }
  }

  const adapter: ChannelAdapter = {
    name,
    traits,
    start: async (given) => {
      listener = given
      given.stateChanged({ state: 'connected', detail: '', repair: '' })
    },
    send: async (message, signal) => {
      signal.throwIfAborted()
      calls.push(message)
      const failure = failures.shift()
      if (failure !== undefined && failure !== 'cut-after') throw refusals[failure]()
      const known = traits.dropsRepeats
        ? messages.find(({ clientId }) => clientId === message.clientId)
        : undefined
      const id = known?.id ?? `m${++count}`
      if (!known) messages.push({ ...message, id })
      if (failure !== undefined) throw refusals[failure]()
      return { id }
    },
    ...(traits.editEveryMs === null
      ? {}
      : {
          edit: async (edited) => {
            edits++
            const failure = failures.shift()
            if (failure !== undefined && failure !== 'cut-after') throw refusals[failure]()
            const index = messages.findIndex(({ id }) => id === edited.messageId)
            const before = messages[index]
            if (!before) throw new ChannelFailure('refused', 'there is no such message')
            messages[index] = { ...before, text: edited.text, buttons: edited.buttons }
          },
        }),
    ...(traits.fileBytesMax === 0
      ? {}
      : {
          upload: async (file, signal) => {
            signal.throwIfAborted()
            const failure = uploadFailures.shift() ?? failures.shift()
            if (failure !== undefined && failure !== 'cut-after') throw refusals[failure]()
            const isKnown = traits.dropsRepeats && files.some(({ clientId }) => clientId === file.clientId)
            if (!isKnown) files.push(file)
            if (failure !== undefined) throw refusals[failure]()
            return { id: `f${++count}` }
          },
        }),
    download: async (reference, maxBytes, signal) => {
      signal.throwIfAborted()
      downloads.push(reference)
      if (areHeld)
        await new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error)),
        )
      const failure = downloadFailures.shift()
      if (failure) throw failure
      const bytes = kept.get(reference)
      if (!bytes) throw new ChannelFailure('gone', 'the platform has it no more')
      if (bytes.length > maxBytes)
        throw new ChannelFailure('too-large', `the file is larger than ${maxBytes} bytes`)
      return bytes
    },
    showTyping: async () => void typings++,
    close: async () => void (listener = null),
  }

  return {
    adapter,
    platform: {
      say: async (said: SaidOnPlatform) => {
        const id = `u${++count}`
        const { file, ...words } = said
        if (file) kept.set(`file-${id}`, file.bytes)
        const attachments = file
          ? [{ kind: 'document', ...file, sizeBytes: file.bytes.length, reference: `file-${id}` } as const]
          : []
        if (said.by === 'person') void give(aReceived({ ...words, id, attachments }))
        return id
      },
      isTaken: (mark) => taken.has(mark),
      shown: () => messages.map(({ place, text }) => ({ conversationId: place.conversationId, text })),
      shownFiles: () =>
        files.map(({ place, name, bytes }) => ({ conversationId: place.conversationId, name, bytes })),
      failNext: (how) => void failures.push(how),
    },
    messages: () => messages,
    calls: () => calls,
    files: () => files,
    downloads: () => downloads,
    failDownloads: (times, failure) => {
      for (let time = 0; time < times; time++) downloadFailures.push(failure)
    },
    holdDownloads: () => void (areHeld = true),
    onNextUpload: (how) => void uploadFailures.push(how),
    keep: (reference, bytes) => void kept.set(reference, bytes),
    edits: () => edits,
    typings: () => typings,
    hear: async (message) => {
      if (!listener) throw new Error('the adapter is not started')
      await listener.received(message)
    },
  }
}

export function aReceived(fields: Partial<ReceivedMessage> = {}): ReceivedMessage {
  return {
    id: 'u1',
    senderId: '1000',
    senderName: 'Ann',
    place: { conversationId: '1000', threadId: null, isPrivate: true },
    text: 'hello',
    pressed: null,
    addressed: true,
    attachments: [],
    ...fields,
  }
}
