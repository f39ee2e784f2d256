import type { Clock } from '@flotilla/protocol/clock'
import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import type { EventBus } from '@flotilla/foundation/events'
import type { Log } from '@flotilla/foundation/platform'
import type { ChannelAdapter } from '../adapter.ts'
import type { TalkTable } from '../messages/talk-table.ts'
import type { SplitChannelText } from '../text/index.ts'
import type { RunPlace, RunPlaces } from './run-places.ts'
import { leadOf } from './letter-parts.ts'

/** The maximum number of runs of one channel whose text is shown live. The others are shown only when they end. */
const liveRunsMax = 100
/** The delay before a live text is first shown, in milliseconds. A short answer is complete before that. */
const firstWaitMs = 700
const stillWriting = ' …'
/** The maximum length of a live text, in UTF-16 code units. */
const shownCharsMax = 4096

interface Live {
  readonly place: RunPlace
  text: string
  messageId: string | null
  shown: string
  /** Resolves when no more edits of the message follow. */
  writing: Promise<void>
  readonly stop: AbortController
}

export interface LiveText {
  /** Stops the live text of a run. Resolves with the id of its message once no edit is in progress. */
  finish(runId: string): Promise<string | null>
  close(): void
}

/**
 * Shows an agent's answer while it is generated, by edits of one message at the pace of the platform. Failures are
 * ignored: the letter with the complete outcome replaces the message.
 */
export function createLiveText(deps: {
  readonly adapter: ChannelAdapter
  readonly events: Pick<EventBus, 'subscribe'>
  readonly places: RunPlaces
  readonly talks: Pick<TalkTable, 'isTold'>
  readonly split: SplitChannelText
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}): LiveText {
  const { adapter, places, clock } = deps
  const { editEveryMs, messageCharsMax } = adapter.traits
  const shownMax = Math.min(messageCharsMax, shownCharsMax)
  const lives = new Map<string, Live>()
  /** Runs that do not belong to this channel, cached to avoid a database query for each chunk of text. */
  const others = new Set<string>()

  const isNotified = ({ person, place }: RunPlace) =>
    deps.talks.isTold({ channel: adapter.name, person, place })

  async function write(runId: string, live: Live): Promise<void> {
    const signal = AbortSignal.any([live.stop.signal, deps.signal])
    try {
      await clock.sleep(firstWaitMs, signal)
      while (!signal.aborted) {
        await show(runId, live)
        await clock.sleep(editEveryMs ?? firstWaitMs, signal)
      }
    } catch (error) {
      if (!signal.aborted)
        deps.log.debug(
          { err: error, runId },
          'failed to update the live text of a run; the complete answer follows with its outcome',
        )
    }
  }

  async function show(runId: string, live: Live): Promise<void> {
    const { place } = live
    if (!isNotified(place)) {
      // This person will not get the outcome either, so the live text ends.
      live.stop.abort()
      lives.delete(runId)
      return
    }
    const lead = leadOf(place.agentId)
    const spoken = { channel: adapter.name, text: live.text, format: 'markdown', lead } as const
    const [first] = (await deps.split(spoken)).pieces
    if (first === undefined) return
    // After a closing code fence the mark needs a new line, because text behind a fence would keep its block open.
    const ending = /(?:^|\n)(?:`{3,}|~{3,})$/.test(first) ? `\n${stillWriting.trim()}` : stillWriting
    const isFull = first.length + ending.length > adapter.traits.messageCharsMax
    const text = isFull ? first : first + ending
    if (text === live.shown) return
    const { place: where } = place
    // `live.stop` does not abort this call, because then it would be unknown whether the message is shown.
    if (live.messageId === null) {
      const message = {
        place: where,
        clientId: `${runId}-live`,
        text,
        buttons: [],
        replyToId: place.replyToId,
      }
      live.messageId = (await adapter.send(message, deps.signal)).id
      places.setLive(runId, live.messageId)
    } else {
      await adapter.edit?.({ place: where, messageId: live.messageId, text, buttons: [] }, deps.signal)
    }
    live.shown = text
  }

  function take({ body }: FleetEvent): void {
    if (body.type === 'run.changed') {
      others.delete(body.run_id)
      // A turn that is repeated streams its text from the beginning, so the text so far is dropped.
      const live = lives.get(body.run_id)
      if (live && body.state === 'queued') live.text = ''
      return
    }
    if (body.type !== 'text.streamed' || body.run_id === null) return
    const live = lives.get(body.run_id) ?? begin(body.run_id)
    // The live text is limited to one message, so that a long text is not parsed again and again.
    if (live) live.text = (live.text + body.content).slice(0, shownMax)
  }

  function begin(runId: string): Live | null {
    if (others.has(runId) || lives.size >= liveRunsMax) return null
    const place = places.find(runId)
    // Text that arrives after the run ended is ignored, because it would overwrite the answer.
    if (place?.channel !== adapter.name || !places.isOpen(runId) || !isNotified(place)) {
      if (others.size >= 10 * liveRunsMax) others.clear()
      others.add(runId)
      return null
    }
    const stop = new AbortController()
    const live: Live = {
      place,
      text: '',
      messageId: place.liveMessageId,
      shown: '',
      writing: Promise.resolve(),
      stop,
    }
    lives.set(runId, live)
    live.writing = write(runId, live)
    return live
  }

  const unsubscribe =
    editEveryMs === null || adapter.edit === undefined ? () => {} : deps.events.subscribe(take)

  return {
    finish: async (runId) => {
      const live = lives.get(runId)
      live?.stop.abort()
      await live?.writing
      lives.delete(runId)
      return places.find(runId)?.liveMessageId ?? null
    },
    close: unsubscribe,
  }
}
