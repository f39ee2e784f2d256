import type { Clock } from '@flotilla/protocol/clock'
import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import type { EventBus } from '../../events/index.ts'
import type { Log } from '../../platform/index.ts'
import type { ChannelAdapter } from '../adapter.ts'
import type { TalkTable } from '../intake/talk-table.ts'
import type { SplitChannelText } from '../text/index.ts'
import type { RunPlace, RunPlaces } from './run-places.ts'
import { leadOf } from './letter-parts.ts'

/** Runs whose words are shown while they are made, of one channel; more are told once they end. */
const liveRunsMax = 100
/** Before the first words are shown: a short answer is there by then, milliseconds. */
const firstWaitMs = 700
const stillWriting = ' …'
/** Of one answer while it is made, UTF-16 code units. */
const shownCharsMax = 4096

interface Live {
  readonly place: RunPlace
  text: string
  messageId: string | null
  shown: string
  /** Ends when nothing writes to the message any more. */
  writing: Promise<void>
  readonly stop: AbortController
}

export interface LiveText {
  /** Nothing more is shown of the run; resolves to the message that was shown, once no edit of it is under way. */
  finish(runId: string): Promise<string | null>
  close(): void
}

/**
 * Shows what agents say while they say it, by edits of one message at the pace of the platform. What fails here is left: the
 * outcome is told whole by its letter, which takes the message's place.
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
  /** Runs that are nobody's here, so that not every word asks the database. */
  const others = new Set<string>()

  const isTold = ({ person, place }: RunPlace) => deps.talks.isTold({ channel: adapter.name, person, place })

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
          'what an agent says is not shown any more while it works; the whole comes with its outcome',
        )
    }
  }

  async function show(runId: string, live: Live): Promise<void> {
    const { place } = live
    if (!isTold(place)) {
      // Nothing is told of its end either.
      live.stop.abort()
      lives.delete(runId)
      return
    }
    const lead = leadOf(place.agentId)
    const spoken = { channel: adapter.name, text: live.text, format: 'markdown', lead } as const
    const [first] = (await deps.split(spoken)).pieces
    if (first === undefined) return
    // Behind a fence it would keep that from ending its block.
    const ending = /(?:^|\n)(?:`{3,}|~{3,})$/.test(first) ? `\n${stillWriting.trim()}` : stillWriting
    const isFull = first.length + ending.length > adapter.traits.messageCharsMax
    const text = isFull ? first : first + ending
    if (text === live.shown) return
    const { place: where } = place
    // What is under way is not cut off: nobody would know whether it is shown.
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
      // A turn that begins again says everything again.
      const live = lives.get(body.run_id)
      if (live && body.state === 'queued') live.text = ''
      return
    }
    if (body.type !== 'text.streamed' || body.run_id === null) return
    const live = lives.get(body.run_id) ?? begin(body.run_id)
    // One message is shown: what is longer is not read over and over, since reading it takes the mesh time.
    if (live) live.text = (live.text + body.content).slice(0, shownMax)
  }

  function begin(runId: string): Live | null {
    if (others.has(runId) || lives.size >= liveRunsMax) return null
    const place = places.find(runId)
    // What comes late would write over the answer.
    if (place?.channel !== adapter.name || !places.isOpen(runId) || !isTold(place)) {
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
