import type { Clock } from '@flotilla/protocol/clock'
import { channelNames } from '@flotilla/protocol/people'
import type { ChannelName } from '@flotilla/protocol/people'
import type { ReturnedSteer, SettledRun } from '@flotilla/work/events'
import type { RunDelivery } from '@flotilla/work/runs'
import type { Database } from '@flotilla/foundation/storage'
import { channelLimits } from '../channel-limits.ts'
import type { TalkTable } from '../messages/talk-table.ts'
import type { Letter, LetterEnd, LetterTable } from '../messages/letter-table.ts'
import type { RunFiles } from '../messages/run-files.ts'
import type { RunPlaces } from './run-places.ts'
import type { RunOutcome } from '@flotilla/protocol/run'
import type { ConversationPlace } from '../adapter.ts'
import { wholeUpTo } from '../text/clean-text.ts'
import { tellableDetail } from './owner-figures.ts'

export interface DeliverOutcomes {
  /** Writes the letter to the person who requested the run, in the transaction that settles the run. */
  readonly runSettled: (run: SettledRun) => void
  /** Writes the letter to the person whose message to a cancelled run was not read, in the same transaction. */
  readonly steerReturned: (steer: ReturnedSteer) => void
  /** Ends the letter. If it carried a run's outcome, the run's outbox row is updated in the same transaction. */
  readonly letterSettled: (letter: Letter, state: LetterEnd, detail: string) => void
}

export function createDeliverOutcomes(deps: {
  readonly database: Database
  readonly places: RunPlaces
  readonly files: RunFiles
  readonly talks: Pick<TalkTable, 'lastPlaceOf' | 'isTold'>
  readonly letters: LetterTable
  readonly outbox: Pick<RunDelivery['outbox'], 'outcomeRead' | 'markFor'>
  readonly wake: (channel: ChannelName) => void
  readonly clock: Clock
}): DeliverOutcomes {
  const { database, places, letters, outbox, clock } = deps

  return {
    runSettled: ({ id, agentId, origin, outcome }) => {
      const now = clock.now()
      places.ended(id, now)
      const channel = channelNames.find((name) => name === origin.channel)
      if (origin.kind !== 'human' || channel === undefined || outcome === null) return
      const known = places.find(id)
      // A run without a stored place began as a steer that arrived too late; the person's last conversation is used.
      const person = origin.user ?? ''
      const place = known?.place ?? deps.talks.lastPlaceOf(channel, person)
      // If the person was removed or the account was unlinked, nothing is sent.
      if (place === null || !deps.talks.isTold({ channel, person, place })) return
      const made = deps.files.of(id)
      const files = made.slice(0, channelLimits.filesPerAnswerMax)
      const text = outcomeText(outcome, place) + restText(made.length - files.length)
      const letter = { channel, place, source: `run:${id}`, runId: id, agentId, person, text, files }
      letters.add({ ...letter, replyToId: known?.replyToId ?? null }, now)
      database.afterCommit(() => deps.wake(channel))
    },
    steerReturned: ({ id, agentId, origin, text }) => {
      const channel = channelNames.find((name) => name === origin.channel)
      const person = origin.user ?? ''
      const place = channel === undefined ? null : deps.talks.lastPlaceOf(channel, person)
      if (channel === undefined || place === null || !deps.talks.isTold({ channel, person, place })) return
      const letter = {
        channel,
        place,
        source: `steer:${id}`,
        person,
        text: returnedText(agentId, text, place),
      }
      letters.add(letter, clock.now())
      database.afterCommit(() => deps.wake(channel))
    },
    letterSettled: (letter, state, detail) =>
      database.transaction(() => {
        letters.settle(letter.id, { state, detail, at: clock.now() })
        if (letter.runId === null) return
        const note = { source: `run:${letter.runId}`, recipient: `human:${letter.channel}` }
        if (state === 'sent') outbox.outcomeRead(letter.runId)
        else outbox.markFor(note, 'undeliverable', detail)
      }),
  }
}

/** Returns the text about the end of a run for the person who requested it, as recorded in the ledger. Pure. */
function outcomeText({ status, text, code }: RunOutcome, place: ConversationPlace): string {
  const detail = tellableDetail({ code, detail: text.trim() }, place)
  if (status === 'done') return detail === '' ? '(Done, without a text.)' : detail
  const how = code === undefined || code === status ? status : `${status}: ${code}`
  return detail === '' ? `(${how})` : `(${how}) ${detail}`
}

/** Characters of a message that are quoted to its sender. */
const quotedMaxChars = 200

/**
 * Returns the notice about a message that starts no run. In a group it is not quoted, since the person may have written
 * it in a direct conversation. Pure.
 */
function returnedText(agentId: string, message: string, { isPrivate }: ConversationPlace): string {
  const line = message.replace(/\s+/g, ' ')
  const excerpt = line.length <= quotedMaxChars ? line : `${wholeUpTo(line, quotedMaxChars)}…`
  const notice = `A message of yours was not read before ${agentId} was stopped, and will not be: send it again if it still matters.`
  return isPrivate ? `${notice}\n“${excerpt}”` : notice
}

/** Returns the note about files that are not sent with an answer. Pure. */
function restText(count: number): string {
  if (count <= 0) return ''
  return `\n\n(${count} more file${count === 1 ? '' : 's'}: in the dashboard, under Artifacts.)`
}
