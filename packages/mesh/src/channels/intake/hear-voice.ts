import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { HumanCaller } from '../../access/index.ts'
import type { Settings } from '../../config/index.ts'
import type { Transcribe } from '../../models/index.ts'
import { ChannelFailure } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import { tellableDetail } from '../delivery/owner-figures.ts'
import { withForwarded } from './forwarded-words.ts'

export interface SpokenNote {
  readonly caller: HumanCaller
  readonly agentId: string
  readonly messageId: string
  /** Of the file in its message. */
  readonly index: number
  /** Whether only the sender reads what is told of it. */
  readonly isPrivate: boolean
}

/** What voice notes say, where the owner set a model that writes it down. */
export interface HearVoice {
  isSet(): boolean
  /**
   * Pays for a note once in this life, however often the message is tried for what is beside it. Rejects with a
   * `ChannelFailure`: `refused` where asking again is of no use, or might be paid for twice.
   */
  words(note: SpokenNote, fetch: () => Promise<Uint8Array>, signal: AbortSignal): Promise<string>
  /** The message is over. */
  forget(messageId: string): void
}

export function createHearVoice(deps: {
  readonly settings: () => Settings['channels']['voice']
  readonly transcribe: Transcribe
}): HearVoice {
  /** By message, then by file; of messages that are open. */
  const heard = new Map<string, Map<number, string>>()

  function keep({ messageId, index }: SpokenNote, words: string): void {
    const ofMessage = heard.get(messageId) ?? new Map<number, string>()
    heard.set(messageId, ofMessage.set(index, words))
    const [oldest] = heard.keys()
    if (heard.size > channelLimits.openFilesMax && oldest !== undefined) heard.delete(oldest)
  }

  return {
    isSet: () => deps.settings() !== undefined,
    async words(note, fetch, signal) {
      const known = heard.get(note.messageId)?.get(note.index)
      if (known !== undefined) return known
      const audio = await fetch()
      const voice = deps.settings()
      if (voice === undefined) throw new ChannelFailure('refused', 'voice notes are not understood here')
      const { model, usd_per_minute: usdPerMinute = null } = voice
      const { caller, agentId } = note
      const said = await deps.transcribe(caller, { agentId, audio, model, usdPerMinute, signal })
      if ('failed' in said) {
        const { failed, waitMs } = said
        const detail = tellableDetail(failed, note)
        throw new ChannelFailure(waitMs === null ? 'refused' : 'rate-limited', detail, waitMs)
      }
      const words = sanitizeForPrompt(said.text).trim()
      if (words === '') throw new ChannelFailure('refused', 'no words were heard in it')
      keep(note, words)
      return words
    },
    forget: (messageId) => void heard.delete(messageId),
  }
}

export interface SpokenWords {
  readonly words: string
  /** The sender passes the note on; somebody else spoke. */
  readonly forwarded?: true | undefined
}

/** The message as the agent reads it: what was typed, then what was said. Pure. */
export function withSpoken(text: string, spoken: readonly SpokenWords[]): string {
  const said = spoken.map(({ words, forwarded }) =>
    forwarded
      ? withForwarded('[A voice note, as a model wrote it down]', { text: words, by: '' })
      : `[Said in a voice note, as a model wrote it down] ${words}`,
  )
  return [text, ...said].filter((part) => part !== '').join('\n\n')
}
