import { createHash } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import * as z from 'zod'
import { createRecentIds } from '../../recent-ids.ts'
import { ChannelFailure, repeatMark } from '../../adapter.ts'
import type { SentMessage } from '../../adapter.ts'
import { wireList, wireText } from '../wire-text.ts'
import type { ChannelMarks } from '../channel-marks.ts'
import type { DiscordRest, RestRequest } from './discord-rest.ts'
import { sentSchema, snowflake } from './discord-wire.ts'
import { snowflakeAt } from './snowflake.ts'

/** The maximum length of a nonce at Discord, in characters. */
const nonceMaxChars = 25
/** How long a nonce is relied on, in milliseconds. Discord remembers a nonce for "the past few minutes". */
const nonceHoldsMs = 120_000
/** The maximum number of messages whose delivery is unknown. The oldest entries are removed. */
const unsureMax = 100
/** How long an unknown delivery is remembered, in milliseconds; a message is retried for a day. */
const unsureHoldsMs = 25 * 3_600_000
/** The allowed difference between Discord's clock and this machine's clock, in milliseconds. */
const clocksDifferMs = 60_000
/** How many pages of a channel are searched for a message that may have been delivered. */
const pagesMax = 5
/** The maximum number of messages in one page of Discord's history. */
const pageMax = 100
/** How many ids and nonces of this process are remembered, to recognize its messages when Discord reports them. */
const sentMax = 2000
const unsureKey = 'discord:unsure'

interface Sending extends Pick<RestRequest, 'files'> {
  readonly channelId: string
  readonly clientId: string
  readonly body: Readonly<Record<string, unknown>>
  /** The text by which the message is found in its channel; null if the message has no text. */
  readonly looksLike: string | null
}

interface SendOnceDeps {
  readonly rest: DiscordRest
  readonly marks: ChannelMarks
  readonly clock: Clock
  readonly ourUserId: () => string
}

const pageSchema = wireList(
  z.looseObject({
    id: snowflake,
    content: wireText(4000),
    author: z.looseObject({ id: snowflake }),
  }),
  pageMax,
)

export interface SendOnce {
  readonly send: (sending: Sending, signal: AbortSignal) => Promise<SentMessage>
  /** True if a message under the bot's name may have been sent by this process. */
  readonly mayBeOurs: (message: { readonly id: string; readonly nonce: string | null }) => boolean
}

/**
 * Sends a message exactly once. For a few minutes Discord deduplicates by nonce. For a message whose delivery is
 * unknown, the time of the first attempt is stored. A later repeat is searched for in the channel before it is sent.
 * A file cannot be searched for, so its repeat carries the repeat mark.
 */
export function createSendOnce({ rest, marks, clock, ourUserId }: SendOnceDeps): SendOnce {
  /** Ids and nonces of this process. */
  const sent = createRecentIds(sentMax)
  const kept = () =>
    new Map(
      (marks.read(unsureKey) ?? '').split(' ').flatMap((entry): [string, number][] => {
        const [nonce, at] = entry.split('@')
        return nonce && at && clock.now() - Number(at) < unsureHoldsMs ? [[nonce, Number(at)]] : []
      }),
    )

  function change(how: (unsure: Map<string, number>) => void): void {
    const unsure = kept()
    how(unsure)
    const entries = [...unsure].slice(-unsureMax)
    marks.write(unsureKey, entries.map(([nonce, at]) => `${nonce}@${at}`).join(' '))
  }

  async function findSent(
    sending: Sending,
    sinceMs: number,
    signal: AbortSignal,
  ): Promise<SentMessage | null> {
    let after = snowflakeAt(sinceMs - clocksDifferMs)
    for (let page = 0; page < pagesMax; page++) {
      const path = `/channels/${sending.channelId}/messages` as const
      const query = { after, limit: String(pageMax) }
      const found = await rest.ask({ method: 'get', path, query }, pageSchema, signal)
      const same = found.find(
        ({ content, author }) => author.id === ourUserId() && content === sending.looksLike?.trim(),
      )
      if (same) return { id: same.id }
      if (found.length < pageMax) return null
      after = found.reduce((last, { id }) => (BigInt(id) > BigInt(last) ? id : last), after)
    }
    return null
  }

  async function send(sending: Sending, signal: AbortSignal): Promise<SentMessage> {
    const { channelId, clientId, body, files, looksLike } = sending
    const nonce = createHash('sha256').update(clientId).digest('base64url').slice(0, nonceMaxChars)
    sent.add(nonce)
    const firstAt = kept().get(nonce)
    if (firstAt === undefined) change((unsure) => unsure.set(nonce, clock.now()))
    const isForgotten = firstAt !== undefined && clock.now() - firstAt > nonceHoldsMs
    if (isForgotten && looksLike !== null) {
      const found = await findSent(sending, firstAt, signal)
      if (found) {
        change((unsure) => unsure.delete(nonce))
        return found
      }
    }
    // A message without text cannot be found again, so it carries the repeat mark itself.
    const marked = isForgotten && looksLike === null ? { content: repeatMark.trim() } : {}
    try {
      const request: RestRequest = {
        method: 'post',
        path: `/channels/${channelId}/messages`,
        body: { ...body, ...marked, nonce, enforce_nonce: true },
        ...(files === undefined ? {} : { files }),
      }
      const { id } = await rest.ask(request, sentSchema, signal)
      change((unsure) => unsure.delete(nonce))
      sent.add(id)
      return { id }
    } catch (error) {
      const isUnsure = !(error instanceof ChannelFailure) || error.kind === 'unsure'
      // A refused retry does not show that an earlier attempt failed, so its entry stays.
      if (!isUnsure && firstAt === undefined) change((unsure) => unsure.delete(nonce))
      throw error
    }
  }

  return {
    send,
    mayBeOurs: ({ id, nonce }) => {
      if (sent.has(id)) return true
      // While any delivery is unknown, a message without a nonce may be the one that was sent.
      return nonce === null ? kept().size > 0 : sent.has(nonce) || kept().has(nonce)
    },
  }
}
