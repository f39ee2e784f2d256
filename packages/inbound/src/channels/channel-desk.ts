import type { ChannelName } from '@flotilla/protocol/people'
import { Problem } from '@flotilla/protocol/problem'
import { createCallRate } from '@flotilla/identity/access'
import type { Artifacts } from '@flotilla/collaboration/artifacts'
import type { Transcribe } from '@flotilla/inference/models'
import type { RunDelivery } from '@flotilla/work/runs'
import type { ChangedIdentity, ChannelAdapter, MovedConversation, PassedOver } from './adapter.ts'
import { createAnswerMessage } from './commands/answer-message.ts'
import type { CommandDeps } from './commands/channel-command.ts'
import { giveToAgent } from './commands/give-to-agent.ts'
import { createIsWanted } from './delivery/is-wanted.ts'
import { createConversationMoves, createKeepMove, sendingToNewest } from './conversation-moves.ts'
import { createDeliverOutcomes } from './delivery/deliver-outcomes.ts'
import { createLetterTable } from './messages/letter-table.ts'
import type { LetterTable } from './messages/letter-table.ts'
import { createLiveText } from './delivery/live-text.ts'
import { createPostOffice } from './delivery/post-office.ts'
import type { PostOffice } from './delivery/post-office.ts'
import { createRunFiles } from './messages/run-files.ts'
import type { SentFile } from './messages/run-files.ts'
import { createRunPlaces } from './delivery/run-places.ts'
import { createSendLetter } from './delivery/send-letter.ts'
import { createNotifyIdentityChange } from './delivery/notify-identity-change.ts'
import { createSendNotices } from './delivery/send-notices.ts'
import { showTyping } from './delivery/show-typing.ts'
import { requireRoom } from './messages/agent-busy.ts'
import { albumTimes } from './messages/join-album.ts'
import { createBringFiles } from './intake/bring-files.ts'
import type { BringFiles, BringFilesDeps } from './intake/bring-files.ts'
import { createTranscribeVoice } from './intake/transcribe-voice.ts'
import { createMessageTable } from './messages/message-table.ts'
import { createPassOver, createPatientReceive } from './intake/pass-over.ts'
import { createReceiveMessage } from './intake/receive-message.ts'
import type { ReceiveDeps, ReceiveMessage } from './intake/receive-message.ts'
import { createStrangerTable } from './messages/stranger-table.ts'
import { createTalkTable } from './messages/talk-table.ts'
import type { PairingCodes } from './pairing/pairing-codes.ts'
import { createPacedSplit } from './text/index.ts'
import type { CollaborationKernel } from '@flotilla/collaboration/events'
import type { WorkKernel } from '@flotilla/work/events'

/** What all channels share: the tables and the handling of incoming and outgoing messages. */
/** The kernel with the events that channels react to. */
export type ChannelKernel = WorkKernel & Pick<CollaborationKernel, 'collaborationEvents'>

export interface ChannelDesk {
  readonly letters: LetterTable
  readonly receive: ReceiveMessage
  readonly passOver: (channel: ChannelName, what: PassedOver) => void
  /** Records that a user has another id on a platform, and notifies the owners. */
  readonly identityChanged: (channel: ChannelName, what: ChangedIdentity) => void
  /** Stores that a platform changed the id of a conversation. */
  readonly moved: (channel: ChannelName, what: MovedConversation) => void
  /** Resumes the work that the previous process of the mesh left unfinished. */
  readonly resume: () => Promise<void>
  /** Sends letters, live text and typing indicators on one channel until the signal aborts. */
  readonly serve: (adapter: ChannelAdapter, signal: AbortSignal) => Promise<void>
  /** Discards all letters that wait for the channel and returns their number. */
  readonly drop: (channel: ChannelName, why: string) => number
  readonly maintain: () => void
  readonly close: () => void
}

export interface ChannelDeskNeeds {
  readonly people: ReceiveDeps['people'] & { ownersOn(channel: ChannelName): readonly string[] }
  readonly runs: CommandDeps['runs'] & Pick<RunDelivery, 'outbox'>
  readonly control: {
    readonly views: { all: CommandDeps['agents'] }
    readonly approvals: CommandDeps['approvals']
  }
  readonly spending: { readonly report: CommandDeps['report'] }
  readonly codes: PairingCodes
  /** Writes files into the home of an agent, as the dashboard does. */
  readonly files: { readonly write: BringFilesDeps['writeFile'] }
  readonly artifacts: Pick<Artifacts, 'read'>
  readonly transcribe: Transcribe
}

export function createChannelDesk(kernel: ChannelKernel, needs: ChannelDeskNeeds): ChannelDesk {
  const { database, clock, log, collaborationEvents, fleetEvents, identityEvents, workEvents } = kernel
  const { people, runs } = needs
  const split = createPacedSplit()
  const letters = createLetterTable(database)
  const places = createRunPlaces(database)
  const runFiles = createRunFiles(database)
  const isTheirs = (channel: string, senderId: string, person: string): boolean => {
    // While people.json cannot be read, replies to requests are still sent; notices to owners are not.
    const isKnown = people.broken() === null
    return !isKnown || people.channelCaller(channel as ChannelName, senderId)?.person === person
  }
  const talks = createTalkTable(database, isTheirs)
  const isWanted = createIsWanted({ ...people, isTheirs, talks })
  const messages = createMessageTable(database)
  const strangers = createStrangerTable(database)
  const moves = createConversationMoves(database)
  const offices = new Map<ChannelName, PostOffice>()
  const porters = new Map<ChannelName, BringFiles>()
  const wakeFiles = (channel: ChannelName) => porters.get(channel)?.wake()
  const voiceSettings = () => kernel.settings().channels.voice
  const wake = (channel: ChannelName) => offices.get(channel)?.wake()
  const delivering = createDeliverOutcomes({
    database,
    places,
    files: runFiles,
    talks,
    letters,
    outbox: runs.outbox,
    wake,
    clock,
  })
  const { ownersOn } = people
  const notices = createSendNotices({ ...kernel, ...noticeSettings(kernel), letters, talks, ownersOn, wake })
  workEvents.runSettled.subscribe(delivering.runSettled)
  workEvents.steerReturned.subscribe(delivering.steerReturned)
  collaborationEvents.artifactSaved.subscribe(({ runId, ...file }) => {
    if (runId !== null && places.isOpen(runId)) runFiles.add(runId, file, clock.now())
  })
  fleetEvents.agentDeleted.subscribe(talks.forgetAgent)
  identityEvents.personLeft.subscribe(async (name) => talks.forgetPerson(name))
  const shared = { ...kernel, messages, letters, strangers, talks, places, wake }
  const commanding = {
    runs,
    guard: kernel.guard,
    decide: kernel.decide,
    talks,
    places,
    agents: needs.control.views.all,
    approvals: needs.control.approvals,
    report: needs.spending.report,
    now: clock.now,
  }
  const answering = createAnswerMessage({
    ...shared,
    ...commanding,
    wakeFiles,
    callerOf: people.channelCaller,
    hearsVoice: () => voiceSettings() !== undefined,
  })
  const rate = createCallRate({
    clock,
    perMinute: () => kernel.settings().channels.per_minute,
    what: 'channels.per_minute',
  })
  const passOver = createPassOver({ ...shared, ownersOn: people.ownersOn })
  const receive = createPatientReceive({
    receive: createReceiveMessage({
      ...shared,
      people,
      codes: needs.codes,
      rate,
      answer: answering.answer,
    }),
    passOver,
    log,
  })

  return {
    letters,
    receive: (channel, received) =>
      receive(channel, { ...received, place: moves.first(channel, received.place) }),
    passOver,
    identityChanged: createNotifyIdentityChange({
      ...shared,
      callerOf: people.channelCaller,
      ownersOn: people.ownersOn,
    }),
    moved: createKeepMove({ ...kernel, moves, wake }),
    resume: async () => {
      notices.catchUp()
      messages.gatherAgain(albumTimes(clock.now()))
      await answering.resume()
    },
    serve: async (platform, signal) => {
      const adapter = sendingToNewest(platform, moves)
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
        database,
        letters,
        split,
        readArtifact: (file) => artifactOf(needs.artifacts, file),
        clock,
        liveMessageOf: live.finish,
        settle: delivering.letterSettled,
        isWanted,
      })
      const office = createPostOffice({ letters, send, clock, log })
      const porter = createBringFiles({
        ...shared,
        callerOf: people.channelCaller,
        writeFile: needs.files.write,
        voice: createTranscribeVoice({ settings: voiceSettings, transcribe: needs.transcribe }),
        requireTaken: ({ caller, message, agentId }) => {
          kernel.guard(caller, { do: 'submit-run', to: agentId })
          requireRoom(places, { agentId, person: caller.person ?? message.senderId })
        },
        give: ({ caller, channel, message, agentId, text }) => {
          const person = caller.person ?? message.senderId
          return giveToAgent(
            commanding,
            { caller, channel, person, message, argument: '' },
            { agentId, text },
          )
        },
      })
      porters.set(adapter.name, porter)
      offices.set(adapter.name, office)
      const stateOf = (runId: string) => runs.find(runId)?.state ?? null
      try {
        await Promise.all([
          office.run(adapter, signal),
          porter.run(adapter, signal),
          showTyping({ places, stateOf, clock }, adapter, signal),
        ])
      } finally {
        live.close()
        offices.delete(adapter.name)
        porters.delete(adapter.name)
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
      for (const table of [messages, strangers, talks, places, runFiles, letters]) table.trim(now)
    },
    close: notices.close,
  }
}

/** Returns the content of an artifact; null if the artifact no longer exists. */
async function artifactOf(
  artifacts: ChannelDeskNeeds['artifacts'],
  { agentId, name }: SentFile,
): Promise<Uint8Array | null> {
  try {
    return (await artifacts.read({ kind: 'system' }, agentId, name)).content
  } catch (error) {
    if (error instanceof Problem && error.code === 'not-found') return null
    throw error
  }
}

function noticeSettings({ settings, ports }: Pick<ChannelKernel, 'settings' | 'ports'>) {
  return {
    settings: () => settings().channels.notices,
    dashboard: () => settings().channels.dashboard_url ?? `http://127.0.0.1:${ports.people}`,
  }
}
