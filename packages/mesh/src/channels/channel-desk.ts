import type { ChannelName } from '@flotilla/protocol/people'
import { createCallRate } from '../access/index.ts'
import type { Kernel } from '../kernel/index.ts'
import type { Runs } from '../runs/index.ts'
import type { ChannelAdapter, ReceivedMessage } from './adapter.ts'
import { createAnswerMessage } from './commands/answer-message.ts'
import type { CommandDeps } from './commands/channel-command.ts'
import { createIsWanted } from './delivery/is-wanted.ts'
import { createDeliverOutcomes } from './delivery/deliver-outcomes.ts'
import { createLetterTable } from './delivery/letter-table.ts'
import type { LetterTable } from './delivery/letter-table.ts'
import { createLiveText } from './delivery/live-text.ts'
import type { LiveText } from './delivery/live-text.ts'
import { createPostOffice } from './delivery/post-office.ts'
import type { PostOffice } from './delivery/post-office.ts'
import { createRunPlaces } from './delivery/run-places.ts'
import { createSendLetter } from './delivery/send-letter.ts'
import { createTellNotices } from './delivery/tell-notices.ts'
import { showTyping } from './delivery/show-typing.ts'
import { createMessageTable } from './intake/message-table.ts'
import { createReceiveMessage } from './intake/receive-message.ts'
import type { ReceiveDeps } from './intake/receive-message.ts'
import { createStrangerTable } from './intake/stranger-table.ts'
import { createTalkTable } from './intake/talk-table.ts'
import type { PairingCodes } from './pairing/pairing-codes.ts'
import { createSplitText } from './text/index.ts'

/** What all channels share: the rows, and what is done with what comes and goes. */
export interface ChannelDesk {
  readonly letters: LetterTable
  readonly receive: (channel: ChannelName, message: ReceivedMessage) => Promise<void>
  /** Takes up what a mesh that died left undone. */
  readonly resume: () => Promise<void>
  /** Sends, shows and types on one channel until the signal aborts. */
  readonly serve: (adapter: ChannelAdapter, signal: AbortSignal) => Promise<void>
  /** Nothing that waits for the channel is told any more; how many letters that were. */
  readonly drop: (channel: ChannelName, why: string) => number
  readonly maintain: () => void
  readonly close: () => void
}

export interface ChannelDeskNeeds {
  readonly people: ReceiveDeps['people'] & { ownersOn(channel: ChannelName): readonly string[] }
  readonly runs: Pick<Runs, 'submitRun' | 'steerRun' | 'cancelRun' | 'find' | 'sessions' | 'outbox'>
  readonly control: {
    readonly views: { all: CommandDeps['agents'] }
    readonly approvals: CommandDeps['approvals']
  }
  readonly spending: { readonly report: CommandDeps['report'] }
  readonly codes: PairingCodes
}

export function createChannelDesk(kernel: Kernel, needs: ChannelDeskNeeds): ChannelDesk {
  const { database, clock, log, hooks } = kernel
  const { people, runs } = needs
  const split = createSplitText()
  const letters = createLetterTable(database)
  const places = createRunPlaces(database)
  const isTheirs = (channel: string, senderId: string, person: string): boolean => {
    // While nobody can be told apart, what was asked for is told all the same; owners are told nothing unasked then.
    const isKnown = people.broken() === null
    return !isKnown || people.channelCaller(channel as ChannelName, senderId)?.person === person
  }
  const talks = createTalkTable(database, isTheirs)
  const isWanted = createIsWanted({ ...people, isTheirs, talks })
  const messages = createMessageTable(database)
  const strangers = createStrangerTable(database)
  const offices = new Map<ChannelName, PostOffice>()
  const lives = new Map<ChannelName, LiveText>()
  const wake = (channel: ChannelName) => offices.get(channel)?.wake()
  const delivering = createDeliverOutcomes({
    database,
    places,
    talks,
    letters,
    outbox: runs.outbox,
    wake,
    clock,
  })
  const notices = createTellNotices({
    ...kernel,
    letters,
    talks,
    ownersOn: people.ownersOn,
    settings: () => kernel.settings().channels.notices,
    wake,
  })
  hooks.runSettled.subscribe(delivering.runSettled)
  hooks.agentDeleted.subscribe(talks.forgetAgent)
  hooks.personLeft.subscribe(async (name) => talks.forgetPerson(name))
  const shared = { ...kernel, messages, letters, strangers, talks, places, wake }
  const answering = createAnswerMessage({
    ...shared,
    runs,
    agents: needs.control.views.all,
    approvals: needs.control.approvals,
    report: needs.spending.report,
    now: clock.now,
    callerOf: people.channelCaller,
  })
  const rate = createCallRate({
    clock,
    perMinute: () => kernel.settings().channels.per_minute,
    what: 'channels.per_minute',
  })
  const receive = createReceiveMessage({
    ...shared,
    people,
    codes: needs.codes,
    rate,
    answer: answering.answer,
  })

  return {
    letters,
    receive,
    resume: async () => {
      notices.catchUp()
      await answering.resume()
    },
    serve: async (adapter, signal) => {
      const live = createLiveText({
        adapter,
        events: kernel.events,
        places,
        talks,
        split,
        clock,
        log,
        signal,
      })
      const send = createSendLetter({
        letters,
        split,
        clock,
        liveMessageOf: live.finish,
        settle: delivering.letterSettled,
        isWanted,
      })
      const office = createPostOffice({ letters, send, clock, log })
      lives.set(adapter.name, live)
      offices.set(adapter.name, office)
      const stateOf = (runId: string) => runs.find(runId)?.state ?? null
      try {
        await Promise.all([
          office.run(adapter, signal),
          showTyping({ places, stateOf, clock }, adapter, signal),
        ])
      } finally {
        live.close()
        offices.delete(adapter.name)
      }
    },
    drop: (channel, why) =>
      database.transaction(() => {
        const open = letters.openOf(channel)
        for (const letter of open) delivering.letterSettled(letter, 'dropped', why)
        return open.length
      }),
    maintain: () => {
      const now = clock.now()
      notices.catchUp()
      for (const table of [messages, strangers, talks, places, letters]) table.trim(now)
    },
    close: notices.close,
  }
}
