import { Problem } from '@flotilla/protocol/problem'
import type { ChannelName } from '@flotilla/protocol/people'
import type { Guard } from '@flotilla/identity/access'
import { channelLimits } from '../channel-limits.ts'
import { albumTimes, joinAlbum } from '../messages/join-album.ts'
import type { FileWork } from '../messages/message-table.ts'
import type { PlainFile } from '../messages/plain-message.ts'
import type { StrangerTable } from '../messages/stranger-table.ts'
import type { WriteDeps } from './write-answer.ts'
import type { CommandCall, CommandDeps, CommandReply } from './channel-command.ts'
import { agentButtons, agentHere, noAgentWords } from './find-agent.ts'
import { giveToAgent } from './give-to-agent.ts'

/** The reply to a voice note that cannot be transcribed. */
export const voiceRefusal =
  'Voice notes are not supported here, because no transcription model is configured. Please write your message as text.'

export type SpeakDeps = CommandDeps &
  WriteDeps & {
    readonly strangers: Pick<StrangerTable, 'forget'>
    readonly guard: Guard
    /** Messages with files were stored. */
    readonly wakeFiles: (channel: ChannelName) => void
    /** True if the owner configured a model that transcribes voice notes. */
    readonly hearsVoice: () => boolean
  }

/** Gives a message to an agent at once, or after the files were fetched. `atOnce` writes the message's row. */
export function createSpeakToAgent(
  deps: SpeakDeps,
  atOnce: (call: CommandCall, work: () => CommandReply) => void,
) {
  function toAgent(call: CommandCall, agentId: string, text: string): void {
    // The check runs before the transaction, so that the count and record of a refusal are not rolled back.
    deps.guard(call.caller, { do: 'submit-run', to: agentId })
    const { files, filesLeftOut, senderId } = call.message
    const isVoice = files.length > 0 && files.every(({ kind }) => kind === 'voice')
    if (text === '' && isVoice && !deps.hearsVoice()) return atOnce(call, () => ({ text: voiceRefusal }))
    const open = deps.messages.openFiles(call.channel, senderId)
    // A text waits until the files of the person's earlier messages were fetched.
    if (files.length > 0 || filesLeftOut > 0 || open.own > 0) return withFiles(call, { agentId, text }, open)
    atOnce(call, () => ({ text: '', became: 'run', runId: giveToAgent(deps, call, { agentId, text }) }))
  }

  /** Returns the earlier messages of the same album, while the album accepts more. */
  const albumOf = ({ channel, message }: CommandCall) =>
    deps.messages.openAlbum(channel, message, deps.clock.now())

  function join(
    call: CommandCall,
    album: FileWork,
    request: Pick<FileWork, 'agentId' | 'text'> | null,
  ): void {
    const { channel, message } = call
    const now = deps.clock.now()
    deps.database.transaction(() => {
      const { id: messageId, senderId } = message
      if (!deps.messages.take({ channel, messageId, senderId, became: 'album', at: now })) return
      deps.messages.changeAlbum(channel, joinAlbum(album, message, { said: request, now }))
      deps.database.afterCommit(() => deps.wakeFiles(channel))
    })
  }

  function withFiles(
    call: CommandCall,
    { agentId, text }: Pick<FileWork, 'agentId' | 'text'>,
    open: { readonly all: number; readonly own: number },
  ): void {
    const { channel, message, person } = call
    // A voice note becomes text of the message and is not stored in the agent's files.
    const isStored = ({ kind }: PlainFile) => kind !== 'voice' || !deps.hearsVoice()
    if (message.files.some(isStored)) deps.guard(call.caller, { do: 'manage-agent', agentId })
    const before = albumOf(call)
    if (before !== null) return join(call, before, { agentId, text })
    if (open.own >= channelLimits.openFilesPerPersonMax || open.all >= channelLimits.openFilesMax) {
      throw new Problem('lane-full', {
        detail: 'your earlier files are still being downloaded; send this message again later',
      })
    }
    const at = deps.clock.now()
    const album = message.albumId === null ? null : albumTimes(at)
    deps.database.transaction(() => {
      const row = { channel, messageId: message.id, senderId: message.senderId, at } as const
      if (!deps.messages.take({ ...row, became: 'files', open: { message, agentId, text, album } })) return
      deps.strangers.forget(channel, message.senderId)
      deps.talks.spoke({ channel, person, place: message.place }, message.senderId, at)
      deps.database.afterCommit(() => deps.wakeFiles(channel))
    })
  }

  function sendText(call: CommandCall, text: string): void {
    const agentId = agentHere(deps, call)
    if (agentId !== null) return toAgent(call, agentId, text)
    const buttons = agentButtons(deps, call)
    if (buttons.length === 0) return atOnce(call, () => ({ text: noAgentWords }))
    const choose = 'Which agent is your message for? Choose one with /use NAME, then send the message again'
    if (!call.message.place.isPrivate)
      return atOnce(call, () => ({
        text: `${choose}; /agents lists the names in a direct conversation.`,
      }))
    const names = buttons.map(({ label }) => label).join(', ')
    atOnce(call, () => ({ text: `${choose}: ${names}`, buttons }))
  }

  return { toAgent, words: sendText, albumOf, join }
}
