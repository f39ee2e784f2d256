import type { Clock } from '@flotilla/protocol/clock'
import * as z from 'zod'
import type { Secret } from '@flotilla/egress/credentials'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import { ChannelFailure } from '../../adapter.ts'
import type { ChannelAdapter, ChannelListener } from '../../adapter.ts'
import { slackCommand } from '../../commands/command-for-all.ts'
import type { Fetch } from '../bounded-download.ts'
import { createMemoryMarks } from '../channel-marks.ts'
import type { ChannelMarks } from '../channel-marks.ts'
import { createEventLanes } from '../event-lanes.ts'
import type { SlackSelf } from './read-envelope.ts'
import { createSlackCalls } from './slack-calls.ts'
import { createFetchFile } from './slack-files.ts'
import { createSlackListener } from './slack-listener.ts'
import { createSlackMemory } from './slack-memory.ts'
import type { SlackMemory } from './slack-memory.ts'
import { messageBlocks } from './message-blocks.ts'
import { createSlackSocket } from './slack-socket.ts'
import type { SlackSocket } from './slack-socket.ts'
import { authTestSchema, postedSchema, uploadedSchema } from './slack-wire.ts'

export interface SlackOptions {
  /** The bot token, which begins with `xoxb-`. */
  readonly botToken: Secret
  /** The app-level token, which begins with `xapp-` and has the scope connections:write. */
  readonly appToken: Secret
  readonly clock: Clock
  readonly proxies: OutboundProxies
  /** The registered command; `/flotilla` by default. Another app may use a name already, and Slack reserves some. */
  readonly command?: string
  readonly apiUrl?: string
  /** Stores until when messages were processed, so that a restart reads only later messages. In memory by default. */
  readonly marks?: ChannelMarks
  readonly fetch?: Fetch
}

/** The maximum number of envelopes in progress. Slack redelivers further envelopes. */
const underWayMax = 500

/**
 * The Slack adapter, in Socket Mode. The mesh opens the connection and acknowledges an envelope once its
 * message is persisted. A thread is a session; a reply to a top-level mention starts a thread. Slack has no
 * client-chosen id for messages of apps (`client_msg_id` is for its own clients), so it does not deduplicate.
 */
export function createSlackAdapter(options: SlackOptions): ChannelAdapter {
  const { botToken, appToken, clock, command = slackCommand, apiUrl = 'https://slack.com/api/' } = options
  const { fetch = globalThis.fetch, marks = createMemoryMarks() } = options
  const calls = createSlackCalls({ botToken, apiUrl, fetch })
  const lanes = createEventLanes(underWayMax)
  const ending = new AbortController()
  let isClosing = false
  let socket: SlackSocket | null = null
  let memory: SlackMemory | null = null

  async function begin(inbound: ChannelListener): Promise<void> {
    checkTokens(botToken, appToken, inbound)
    inbound.stateChanged({ state: 'connecting', detail: '', repair: '' })
    const { self, teamId } = await findSelf(inbound)
    const known = createSlackMemory(calls, self.userId)
    memory = known
    const listener = createSlackListener({
      self,
      teamId,
      known,
      listener: inbound,
      calls,
      lanes,
      marks,
      clock,
      isClosing: () => isClosing,
      signal: ending.signal,
    })
    socket = createSlackSocket({
      appToken,
      apiUrl,
      fetch,
      proxies: options.proxies,
      clock,
      stateChanged: (state) => {
        inbound.stateChanged(state)
        if (state.state === 'connected') listener.connected()
      },
      onEnvelope: listener.hear,
    })
    await socket.start()
  }

  /** Returns the bot user of the token. Retries until Slack answers. */
  async function findSelf(inbound: ChannelListener): Promise<{ self: SlackSelf; teamId: string }> {
    for (;;) {
      ending.signal.throwIfAborted()
      try {
        const who = await calls.ask((client) => client.auth.test(), authTestSchema, ending.signal)
        return { self: { userId: who.user_id, command }, teamId: who.team_id }
      } catch (error) {
        if (ending.signal.aborted || !(error instanceof ChannelFailure)) throw closedEarly()
        if (error.kind === 'refused') {
          inbound.stateChanged({ state: 'refused', detail: error.message, repair: botTokenRepair })
          throw error
        }
        inbound.stateChanged({ state: 'failing', detail: error.message, repair: '' })
        await clock.sleep(error.retryAfterMs ?? askAgainMs, ending.signal).catch(() => {})
      }
    }
  }

  return {
    name: 'slack',
    // Slack's rate limit allows about one edit per second in each channel.
    traits: {
      messageCharsMax: 3000,
      editEveryMs: 1200,
      buttonsMax: 25,
      dropsRepeats: false,
      fileBytesMax: 50_000_000,
    },
    start: begin,
    send: async ({ place, text, buttons }, signal) => {
      const { conversationId, threadId } = place
      const message = {
        channel: conversationId,
        text,
        ...(threadId === null ? {} : { thread_ts: threadId }),
        ...messageBlocks(text, buttons),
        unfurl_links: false,
        unfurl_media: false,
      }
      const posted = await calls.ask(
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- Slack's, and not a window's
        (client) => client.chat.postMessage(message),
        postedSchema,
        signal,
      )
      if (threadId !== null) memory?.joined({ channelId: conversationId, threadTs: threadId })
      return { id: posted.ts }
    },
    edit: async ({ place, messageId, text, buttons }, signal) => {
      await calls.ask(
        (client) =>
          client.chat.update({
            channel: place.conversationId,
            ts: messageId,
            text,
            // An empty list removes the message's buttons; without this field Slack would keep the buttons.
            blocks: [],
            ...messageBlocks(text, buttons),
          }),
        z.unknown(),
        signal,
      )
    },
    download: createFetchFile({ botToken, apiUrl, fetch }),
    upload: async ({ place, name, bytes }, signal) => {
      const { conversationId, threadId } = place
      const file = { filename: name, file: Buffer.from(bytes), channel_id: conversationId }
      const { files } = await calls.ask(
        (client) =>
          threadId === null
            ? client.filesUploadV2(file)
            : client.filesUploadV2({ ...file, thread_ts: threadId }),
        uploadedSchema,
        signal,
      )
      return { id: files[0]?.files[0]?.id ?? '' }
    },
    close: async () => {
      isClosing = true
      // Waits for work in progress, so that its messages are acknowledged while the connection is open.
      await lanes.idle(clock)
      ending.abort()
      await socket?.close()
    },
  }
}

/** The pause before a failed connection to Slack is tried again if Slack requests no other, in milliseconds. */
const askAgainMs = 2000
const botTokenRepair =
  'Install the app to the workspace at api.slack.com/apps, OAuth & Permissions, and set its bot token (xoxb-).'

function closedEarly(): ChannelFailure {
  return new ChannelFailure('unreachable', 'the channel was closed before Slack answered')
}

/** Checks the prefixes of both tokens, because people easily swap the tokens. */
function checkTokens(botToken: Secret, appToken: Secret, inbound: ChannelListener): void {
  const wrong = !botToken.reveal().startsWith('xoxb-')
    ? { detail: 'the bot token does not begin with xoxb-', repair: botTokenRepair }
    : !appToken.reveal().startsWith('xapp-')
      ? {
          detail: 'the app token does not begin with xapp-',
          repair:
            'Socket Mode needs an app-level token (xapp-) beside the bot token: api.slack.com/apps, Basic Information.',
        }
      : null
  if (wrong === null) return
  inbound.stateChanged({ state: 'refused', ...wrong })
  throw new ChannelFailure('refused', wrong.detail)
}
