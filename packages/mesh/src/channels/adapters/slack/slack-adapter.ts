import type { Clock } from '@flotilla/protocol/clock'
import * as z from 'zod'
import type { Secret } from '../../../credentials/index.ts'
import { ChannelFailure } from '../../adapter.ts'
import type { ChannelAdapter, ChannelHearing } from '../../adapter.ts'
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
  /** Begins with `xoxb-`. */
  readonly botToken: Secret
  /** Begins with `xapp-` and has the scope connections:write. */
  readonly appToken: Secret
  readonly clock: Clock
  /** The command that stands for all of ours; a workspace has many apps, and Slack keeps some names for itself. */
  readonly command?: string
  readonly apiUrl?: string
  /** Until when everything was taken, so that what came since is read; kept for as long as the process lives by default. */
  readonly marks?: ChannelMarks
  readonly fetch?: Fetch
}

/** Envelopes that are read at one time; Slack keeps what is over and sends it again. */
const underWayMax = 500

/**
 * Slack in Socket Mode: what people say comes over a connection that the mesh makes, and an envelope is acknowledged once
 * its message stands. A thread is a session: an answer to a mention at the top of a channel begins one. Slack has no id of
 * the sender's for messages that apps write (`client_msg_id` is its own programs' alone), so repeats are not thrown away.
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

  async function begin(hearing: ChannelHearing): Promise<void> {
    checkTokens(botToken, appToken, hearing)
    hearing.stateChanged({ state: 'connecting', detail: '', repair: '' })
    const { self, teamId } = await findSelf(hearing)
    const known = createSlackMemory(calls, self.userId)
    memory = known
    const listener = createSlackListener({
      self,
      teamId,
      known,
      hearing,
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
      clock,
      stateChanged: (state) => {
        hearing.stateChanged(state)
        if (state.state === 'connected') listener.connected()
      },
      onEnvelope: listener.hear,
    })
    await socket.start()
  }

  /** Who the bot token is of; tried until Slack answers. */
  async function findSelf(hearing: ChannelHearing): Promise<{ self: SlackSelf; teamId: string }> {
    for (;;) {
      ending.signal.throwIfAborted()
      try {
        const who = await calls.ask((client) => client.auth.test(), authTestSchema, ending.signal)
        return { self: { userId: who.user_id, command }, teamId: who.team_id }
      } catch (error) {
        if (ending.signal.aborted || !(error instanceof ChannelFailure)) throw closedEarly()
        if (error.kind === 'refused') {
          hearing.stateChanged({ state: 'refused', detail: error.message, repair: botTokenRepair })
          throw error
        }
        hearing.stateChanged({ state: 'failing', detail: error.message, repair: '' })
        await clock.sleep(error.retryAfterMs ?? askAgainMs, ending.signal).catch(() => {})
      }
    }
  }

  return {
    name: 'slack',
    // Slack's tier for edits is about one a second in one channel.
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
            // No buttons any more is an empty list, and not none.
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
      // What is under way is acknowledged while there is a line for it.
      await lanes.idle(clock)
      ending.abort()
      await socket?.close()
    },
  }
}

const askAgainMs = 2000
const botTokenRepair =
  'Install the app to the workspace at api.slack.com/apps, OAuth & Permissions, and set its bot token (xoxb-).'

function closedEarly(): ChannelFailure {
  return new ChannelFailure('unreachable', 'the channel was closed before Slack answered')
}

/** The two are easily taken for one another. */
function checkTokens(botToken: Secret, appToken: Secret, hearing: ChannelHearing): void {
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
  hearing.stateChanged({ state: 'refused', ...wrong })
  throw new ChannelFailure('refused', wrong.detail)
}
