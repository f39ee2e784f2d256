import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import { freePrice } from '../catalog/model-prices.ts'
import type { CatalogModel, ModelCatalog } from '../catalog/model-catalog.ts'
import { resolveModel } from '../catalog/resolve-model.ts'
import { voicePriceOf } from '../catalog/voice-price.ts'
import type { VoicePrice } from '../catalog/voice-price.ts'
import { audioTypeOf } from '../formats/audio-type.ts'
import { readTranscription, transcriptionCall } from '../formats/transcription-format.ts'
import type { TranscriptionAnswer, TranscriptionCall } from '../formats/transcription-format.ts'
import { collect, parsedAnswer } from '../wire/collect-reply.ts'
import type { CallBounds, ProviderReply } from '../llm-provider.ts'
import { openCallAccount } from './call-account.ts'
import { sendOnce } from './send-once.ts'
import type { Outcome } from './send-once.ts'
import type { OpenCallDeps, Opened } from './open-call.ts'
import type { ClientConnection, ReadOn } from './read-on.ts'
import type { ModelWatch } from './watch-models.ts'

export const voiceLimits = {
  /** The bound for one voice note, bytes: nearly an hour as chat platforms record it. */
  audioMaxBytes: 8 * 1024 * 1024,
  /**
   * Bits per second: the lowest rate of Opus, in which chat platforms record. It gives the longest possible duration
   * of a file and so the bound on its cost.
   */
  lowestBitsPerSecond: 6000,
  /** The bound for an answer, which may include the start time of each sentence. */
  answerMaxBytes: 4 * 1024 * 1024,
  /** The bound for the transcript, UTF-16 code units: half an hour of speech. */
  textMaxChars: 25_000,
} as const

export interface VoiceNote {
  /** The agent that gets the transcript; its budget pays. */
  readonly agentId: string
  readonly audio: Uint8Array
  readonly model: string
  /** US dollars; null if the owner set no price. */
  readonly usdPerMinute: number | null
  readonly signal: AbortSignal
}

export type Transcribed =
  | { readonly text: string }
  /** `waitMs`: the minimum wait before a retry, milliseconds; null if a retry is useless or could be billed twice. */
  | { readonly failed: Problem; readonly waitMs: number | null }

/**
 * Transcribes a voice note in one attempt. Nothing is sent before the caller's permission to submit runs to the agent
 * and the agent's budget are checked. Work that a provider may have done is paid: by the reported duration, else by
 * its tokens, else the whole reservation. Rejects only with the signal's reason; after an abort the answer is still
 * read on for its usage.
 */
export type Transcribe = (caller: Caller, note: VoiceNote) => Promise<Transcribed>

export interface TranscribeDeps extends Pick<
  OpenCallDeps,
  'spending' | 'events' | 'clock' | 'log' | 'onShareOf'
> {
  readonly guard: Guard
  readonly catalog: Pick<ModelCatalog, 'find' | 'defaultProvider'>
  readonly watch: Pick<ModelWatch, 'answered' | 'failed' | 'refusalOf'>
  readonly readOn: Pick<ReadOn, 'begin'>
}

export function createTranscribe(deps: TranscribeDeps): Transcribe {
  return async (caller, note) => {
    try {
      deps.guard(caller, { do: 'submit-run', to: note.agentId })
      return await transcribe(deps, note)
    } catch (error) {
      if (note.signal.aborted || !(error instanceof Problem)) throw error
      return { failed: error, waitMs: null }
    }
  }
}

async function transcribe(deps: TranscribeDeps, note: VoiceNote): Promise<Transcribed> {
  const { audio, signal } = note
  if (audio.length > voiceLimits.audioMaxBytes) {
    const mostMb = voiceLimits.audioMaxBytes / 1024 / 1024
    throw new Problem('body-too-large', { detail: `the voice note is larger than ${mostMb} MB` })
  }
  const type = audioTypeOf(audio)
  if (type === null)
    throw new Problem('unprocessable', { detail: 'the voice note has an unknown audio format' })
  const model = modelOf(deps.catalog, note.model)
  const price = voicePriceOf(model, note.usdPerMinute, deps.clock.now())
  const call = await transcriptionCall(model.model, { audio, type })
  signal.throwIfAborted()
  const client = deps.readOn.begin(note.agentId)
  const leave = () => client.clientLeft(signal.reason)
  signal.addEventListener('abort', leave, { once: true })
  try {
    const refusal = deps.watch.refusalOf(model)
    if (refusal !== null) return { failed: refusal, waitMs: null }
    const opened = await open(deps, { note, model, price, call, client })
    if (signal.aborted) opened.account.refund()
    signal.throwIfAborted()
    const transcribing = attempt(deps, opened, price)
    return await new Promise((resolve, reject) => {
      client.left.addEventListener('abort', () => reject(client.left.reason), { once: true })
      transcribing.then(resolve, reject)
    })
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

function modelOf(catalog: TranscribeDeps['catalog'], requested: string): CatalogModel {
  const name = resolveModel(requested, catalog.defaultProvider())
  if (name === null) throw new Problem('not-configured', { detail: `${requested} names no model` })
  const model = catalog.find(name)
  if (model.llm.forms.has('transcription')) return model
  throw new Problem('not-configured', {
    detail: `${model.id}, which channels.voice.model in config/settings.json names, cannot transcribe sound`,
  })
}

interface OpenedNote extends Opened {
  readonly account: ReturnType<typeof openCallAccount>
}

/** Reserves the highest cost of this many bytes. */
async function open(
  deps: TranscribeDeps,
  call: {
    readonly note: VoiceNote
    readonly model: CatalogModel
    readonly price: VoicePrice
    readonly call: TranscriptionCall
    readonly client: ClientConnection
  },
): Promise<OpenedNote> {
  const { model, client } = call
  const { agentId, audio } = call.note
  const secondsAtMost = Math.ceil((audio.length * 8) / voiceLimits.lowestBitsPerSecond)
  const reservation = await deps.spending.reserve({
    agentId,
    run: null,
    model: model.id,
    promptTokens: 0,
    promptNano: Math.ceil(secondsAtMost * call.price.nanoPerSecond),
    outputNanoPerToken: 0,
    answers: 1,
    maxTokens: 1,
  })
  const account = openCallAccount(deps, {
    agentId,
    runId: null,
    model: model.id,
    operation: 'transcription',
    // The cost comes from the reported duration or tokens, so no token price applies to this call.
    price: freePrice,
    reservation,
    promptTokens: 0,
    windowTokens: 0,
    answers: 1,
    answered: () => {},
    closed: client.opened(reservation.reservedNano > 0),
  })
  return {
    model,
    client,
    account,
    costUsdOf: () => 0,
    bounds: boundsOf(deps, agentId),
    request: {
      form: 'transcription',
      agentId,
      model: model.model,
      stream: false,
      parameters: {},
      ...call.call,
    },
  }
}

function boundsOf({ onShareOf }: TranscribeDeps, agentId: string): CallBounds {
  let bytes = 0
  return {
    spend: (work) => onShareOf(agentId, work),
    hold: (more) => {
      bytes += more
      if (bytes > voiceLimits.answerMaxBytes) {
        throw new Problem('upstream-failed', { detail: 'the answer of the model is too large' })
      }
    },
  }
}

/** A transcription belongs to no run, so its waits are not announced. */
const untold = { asking: () => ({ progressed: () => {}, end: () => {} }), retrying: () => {}, over: () => {} }

async function attempt(deps: TranscribeDeps, opened: OpenedNote, price: VoicePrice): Promise<Transcribed> {
  const { model, account } = opened
  const callFacts = { agentId: opened.request.agentId, at: deps.clock.now() }
  const outcome: Outcome<string> = await sendOnce(opened, untold, (reply) => receive(reply, opened, price))
  if ('answer' in outcome) {
    deps.watch.answered(model, callFacts)
    return { text: outcome.answer }
  }
  const { problem, kind, mayBeBilled, retryAfterMs } = outcome.failure
  // A refund has no effect on an amount that is already settled.
  account.refund()
  deps.watch.failed(model, outcome.failure, callFacts)
  const heals = !mayBeBilled && (kind === 'rate-limited' || kind === 'outage')
  return { failed: problem, waitMs: heals ? retryAfterMs : null }
}

async function receive(reply: ProviderReply, opened: OpenedNote, price: VoicePrice): Promise<string> {
  const { account, client } = opened
  try {
    return await collect(reply, opened.bounds, (text) => {
      const answer = readTranscription(parsedAnswer(text))
      if (answer === null) {
        throw new Problem('upstream-failed', { detail: 'the answer of the model is not a transcription' })
      }
      settle(opened, answer, price)
      return cut(answer.text.trim())
    })
  } finally {
    // After any error the provider may still have transcribed and billed. No effect once settled.
    account.settleUnconfirmed(client.why() ?? 'broken-off')
    reply.discard()
  }
}

function settle({ account }: OpenedNote, answer: TranscriptionAnswer, price: VoicePrice): void {
  const { seconds, tokens } = answer
  const usage = { promptTokens: tokens?.input ?? 0, completionTokens: tokens?.output ?? 0 }
  const isByLength = seconds !== null || price.nanoPerSecond === 0
  const byLength = isByLength ? Math.ceil((seconds ?? 0) * price.nanoPerSecond) : null
  const costNano = byLength ?? (tokens === null ? null : price.tokensNano(tokens))
  if (costNano !== null) account.settleCost({ ...usage, costNano })
  else account.settleUnconfirmed('no-usage')
}

/** Cuts a transcript to its bound and marks the cut. Pure. */
function cut(text: string): string {
  const { textMaxChars } = voiceLimits
  return text.length <= textMaxChars ? text : `${text.slice(0, textMaxChars)} [cut]`
}
