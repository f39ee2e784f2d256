import * as z from 'zod'
import type { AudioType } from './audio-type.ts'
import { countIn } from './usage.ts'

/** Sound that goes out, as `POST /v1/audio/transcriptions` takes it. */
export interface TranscriptionCall {
  readonly contentType: string
  readonly body: Uint8Array
}

/** What was said, and what the provider tells of its bill: by the length of the sound, or by tokens; null where it does not. */
export interface TranscriptionAnswer {
  readonly text: string
  readonly seconds: number | null
  readonly tokens: TranscriptionTokens | null
}

export interface TranscriptionTokens {
  readonly input: number
  /** The audio tokens among them; all of them if not reported. */
  readonly audio: number
  readonly output: number
}

/** Longer than any file that is taken; what tells more is not believed, seconds. */
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
  /** Of `verbose_json`; some write it as text. */
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

/** Those of Whisper's family tell the length of the sound in this form alone, and newer ones know only the plain one. */
function replyFormatOf(model: string): 'verbose_json' | 'json' {
  return /whisper/i.test(model) ? 'verbose_json' : 'json'
}

/** Its name is ours: that of the sender would go to a provider, which need not know it. */
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

/** Null for what is no transcription. Pure. */
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
