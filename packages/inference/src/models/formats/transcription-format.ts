import * as z from 'zod'
import type { AudioType } from './audio-type.ts'
import { countIn } from './usage.ts'

/** The body of a request to `POST /v1/audio/transcriptions`. */
export interface TranscriptionCall {
  readonly contentType: string
  readonly body: Uint8Array
}

/** A transcript with the billed seconds or tokens that the provider reports; null if it reports none. */
export interface TranscriptionAnswer {
  readonly text: string
  readonly seconds: number | null
  readonly tokens: TranscriptionTokens | null
}

export interface TranscriptionTokens {
  readonly input: number
  /** The tokens of `input` that are audio; all of `input` if the provider does not report them. */
  readonly audio: number
  readonly output: number
}

/** The longest plausible duration, seconds; longer than any accepted file. */
const secondsMax = 1_000_000

/** A duration of zero means that it was not measured. */
const seconds = z
  .union([
    z.number(),
    z
      .string()
      .regex(/^\d{1,9}(?:\.\d{1,9})?$/)
      .transform(Number),
  ])
  .pipe(z.number().positive().max(secondsMax))
  .nullish()
  .catch(null)
const answerSchema = z.looseObject({
  text: z.string(),
  /** The duration in `verbose_json`; some providers write it as a string. */
  duration: seconds,
  usage: z
    .looseObject({
      seconds,
      input_tokens: z.unknown().optional(),
      output_tokens: z.unknown().optional(),
      input_token_details: z.looseObject({ audio_tokens: z.unknown().optional() }).nullish().catch(null),
    })
    .nullish()
    .catch(null),
})

/** Returns the answer format. Whisper models report the duration only in `verbose_json`; others take only `json`. */
function replyFormatOf(model: string): 'verbose_json' | 'json' {
  return /whisper/i.test(model) ? 'verbose_json' : 'json'
}

/** Builds the request. The mesh chooses the file name, so that the sender's file name does not leave the mesh. */
export async function transcriptionCall(
  model: string,
  { audio, type }: { readonly audio: Uint8Array; readonly type: AudioType },
): Promise<TranscriptionCall> {
  const form = new FormData()
  form.append('model', model)
  form.append('response_format', replyFormatOf(model))
  form.append('file', new Blob([Uint8Array.from(audio)], { type: type.mediaType }), `voice.${type.ending}`)
  const encoded = new Response(form)
  const contentType = encoded.headers.get('content-type') ?? ''
  return { contentType, body: new Uint8Array(await encoded.arrayBuffer()) }
}

/** Returns the parsed transcription; null if the answer is not a transcription. Pure. */
export function readTranscription(answer: unknown): TranscriptionAnswer | null {
  const read = answerSchema.safeParse(answer)
  if (!read.success) return null
  const { text, duration, usage } = read.data
  const input = countIn(usage?.input_tokens)
  const output = countIn(usage?.output_tokens)
  const audio = countIn(usage?.input_token_details?.audio_tokens)
  return {
    text,
    seconds: usage?.seconds ?? duration ?? null,
    tokens:
      input === null || output === null ? null : { input, output, audio: Math.min(audio ?? input, input) },
  }
}
