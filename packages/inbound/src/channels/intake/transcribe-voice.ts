import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { HumanCaller } from '@flotilla/identity/access'
import type { Settings } from '@flotilla/foundation/config'
import type { Transcribe } from '@flotilla/inference/models'
import { ChannelFailure } from '../adapter.ts'
import { channelLimits } from '../channel-limits.ts'
import { tellableDetail } from '../delivery/owner-figures.ts'
import { withForwarded } from '../messages/forwarded-text.ts'

export interface SpokenNote {
  readonly caller: HumanCaller
  readonly agentId: string
  readonly messageId: string
  /** The index of the file in its message. */
  readonly index: number
  /** True if only the sender can read the reply. */
  readonly isPrivate: boolean
}

/** Transcribes voice notes, if the owner configured a transcription model. */
export interface TranscribeVoice {
  isSet(): boolean
  /**
   * Resolves with the transcript. Pays for each note once per process, even if other files of the message need
   * another attempt. Rejects with a `ChannelFailure`: `refused` if a retry does not help or could be charged twice.
   */
  words(note: SpokenNote, fetch: () => Promise<Uint8Array>, signal: AbortSignal): Promise<string>
  /** The message is closed. */
  forget(messageId: string): void
}

export function createTranscribeVoice(deps: {
  readonly settings: () => Settings['channels']['voice']
  readonly transcribe: Transcribe
}): TranscribeVoice {
  /** The transcripts of unfinished messages, by message and file. */
  const transcripts = new Map<string, Map<number, string>>()

  function keep({ messageId, index }: SpokenNote, transcript: string): void {
    const ofMessage = transcripts.get(messageId) ?? new Map<number, string>()
    transcripts.set(messageId, ofMessage.set(index, transcript))
    const [oldest] = transcripts.keys()
    if (transcripts.size > channelLimits.openFilesMax && oldest !== undefined) transcripts.delete(oldest)
  }

  return {
    isSet: () => deps.settings() !== undefined,
    async words(note, fetch, signal) {
      const known = transcripts.get(note.messageId)?.get(note.index)
      if (known !== undefined) return known
      const audio = await fetch()
      const voice = deps.settings()
      if (voice === undefined) throw new ChannelFailure('refused', 'voice notes are not supported here')
      const { model, usd_per_minute: usdPerMinute = null } = voice
      const { caller, agentId } = note
      const result = await deps.transcribe(caller, { agentId, audio, model, usdPerMinute, signal })
      if ('failed' in result) {
        const { failed, waitMs } = result
        const detail = tellableDetail(failed, note)
        throw new ChannelFailure(waitMs === null ? 'refused' : 'rate-limited', detail, waitMs)
      }
      const transcript = sanitizeForPrompt(result.text).trim()
      if (transcript === '') throw new ChannelFailure('refused', 'the voice note contains no words')
      keep(note, transcript)
      return transcript
    },
    forget: (messageId) => void transcripts.delete(messageId),
  }
}

export interface SpokenWords {
  readonly words: string
  /** True if the sender forwards a note that another person spoke. */
  readonly forwarded?: true | undefined
}

/** Returns the message as the agent reads it: typed text, then transcripts. Pure. */
export function withSpoken(text: string, spoken: readonly SpokenWords[]): string {
  const transcripts = spoken.map(({ words: transcript, forwarded }) =>
    forwarded
      ? withForwarded('[Transcript of a voice note]', { text: transcript, by: '' })
      : `[Transcript of a voice note] ${transcript}`,
  )
  return [text, ...transcripts].filter((part) => part !== '').join('\n\n')
}
