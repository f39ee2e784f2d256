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

/** What Discord takes as a nonce, characters. */
const nonceMaxChars = 25
/** Discord knows a nonce for «the past few minutes»; after this much nobody relies on it, milliseconds. */
const nonceHoldsMs = 120_000
/** Messages of which is not known whether they arrived; the oldest are forgotten. */
const unsureMax = 100
/** A message is tried for a day and given up then, and nobody asks for it any more, milliseconds. */
const unsureHoldsMs = 25 * 3_600_000
/** So far back a message may be for the clocks of both sides differing, milliseconds. */
const clocksDifferMs = 60_000
/** So much of a channel is looked through for a message that may have arrived, pages of a hundred. */
const pagesMax = 5
const pageMax = 100
/** Messages that were sent here, and are known when Discord tells of them. */
const sentMax = 2000
const unsureKey = 'discord:unsure'

interface Sending extends Pick<RestRequest, 'files'> {
  readonly channelId: string
  readonly clientId: string
  readonly body: Readonly<Record<string, unknown>>
  /** The text by which it is found again in its channel; null for what has none. */
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
  /** Whether a message that bears our name may be one that was sent here. */
  readonly mayBeOurs: (message: { readonly id: string; readonly nonce: string | null }) => boolean
}

/**
 * Sends a message so that Discord has it once. For a few minutes Discord itself throws a repeat away, by its nonce. Of a
 * message that may have arrived is kept when it was sent first: a repeat that comes later than those minutes is looked for
 * in its channel before it is sent, and a file, which nothing there is known by, is marked as one.
 */
export function createSendOnce({ rest, marks, clock, ourUserId }: SendOnceDeps): SendOnce {
  /** Ids and nonces of this life. */
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
    // What has no text is not found again; it bears the mark itself.
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
      // What was refused after an attempt that may have arrived is as unsure as before.
      if (!isUnsure && firstAt === undefined) change((unsure) => unsure.delete(nonce))
      throw error
    }
  }

  return {
    send,
    mayBeOurs: ({ id, nonce }) => {
      if (sent.has(id)) return true
      // While there is one of which nobody knows whether it arrived, any that says nothing else of itself may be it.
      return nonce === null ? kept().size > 0 : sent.has(nonce) || kept().has(nonce)
    },
  }
}
