import type { Thought } from '@flotilla/protocol/normal-answer'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { parseFirst, readJsonQuietly } from '@flotilla/foundation/intake'
import { redact } from '@flotilla/egress/credentials'
import type { Secret } from '@flotilla/egress/credentials'
import { isRecord } from '../empty-answer.ts'
import { charsIn } from '../usage.ts'
import { excerptOf } from './answer-frames.ts'
import { doneEvent, doneMark, isDoneObject } from './done-mark.ts'
import type { Frame } from './event-lines.ts'
import { chatWireSchema, plainParts, reasonIn } from './chat-wire.ts'
import type { WireChunk, WireSaid } from './chat-wire.ts'
import { endOf, laterEnd } from './end-reasons.ts'
import type { NormalEnd } from './end-reasons.ts'
import { belongsTo, choicesIn } from './choices.ts'
import type { WireChoice } from './choices.ts'
import { createCallCollector } from './collect-calls.ts'
import type { CollectedCall, CallCollector } from './collect-calls.ts'
import { createAnswerEnding } from './answer-ending.ts'
import type { AnswerEnding } from './answer-ending.ts'
import { errorEvent, isBareEnd, isSound, usageEvent } from './odd-events.ts'
import { piecesIn, strangeCall } from './call-pieces.ts'
import { isForeign, namesOf, strangeChoice, strangeMessage } from './strange-content.ts'
import { createRepeatedDeltas } from './repeated-deltas.ts'
import { createThinkingTags, unopenedHeldChars } from './thinking-tags.ts'
import { plainFormat, thoughtsIn, thoughtOf } from './thoughts.ts'
import { errorInAnswer } from './error-in-answer.ts'
import type { JudgeError } from '../../llm-provider.ts'
import { unreadable } from './unreadable.ts'
import { counted, usageIn } from './written-usage.ts'
import type { WrittenUsage } from './written-usage.ts'
import { wireValues } from './wire-values.ts'
import type { WireValue } from './wire-values.ts'

/** The new content in one frame of an answer. */
export interface SaidNews {
  readonly text: string
  /** New thinking, in the form of `reasoning_details`. */
  readonly thoughts: readonly Thought[]
  /** True if all text that the reader returned before turned out to be thinking. */
  readonly retracts: boolean
  /** The usage so far as the provider wrote it; null if this frame reports no plausible usage. */
  readonly usage: WrittenUsage | null
}

/** The last content of an answer, with its tool calls and its finish reason. */
export interface AnswerEnd extends SaidNews {
  readonly calls: readonly CollectedCall[]
  readonly end: NormalEnd
  readonly isRefused: boolean
}

/**
 * Reads one model answer of any provider. Throws the Problems `provider-unreadable`, `upstream-failed` and
 * `prompt-too-long`.
 */
export interface AnswerReader {
  take(frame: Frame): SaidNews
  end(): AnswerEnd
  /** Returns the text that the reader held back because it may be thinking; called if the answer breaks off. */
  heldBack(): string
  /** Returns the id and model that the answer names; both are empty until the answer has named them. */
  head(): { readonly id: string; readonly model: string }
}

interface ReaderOptions {
  readonly secrets?: readonly Secret[]
  /** The provider's name, stored with its thinking: only this provider gets the thinking back in its own form. */
  readonly from?: string
  readonly judge?: JudgeError | undefined
  /** True if the receiver can retract text; otherwise the first text is held until it cannot be thinking any more. */
  readonly takesBack?: boolean
}

/** The bound on words and thinking together, characters; no model writes more in one answer. */
const answerMaxChars = 16 * 1024 * 1024
const nothing: SaidNews = { text: '', thoughts: [], retracts: false, usage: null }
/** Data of events that only keep a connection open. */
const keepAlive = /^(?:ping|pong|heartbeat|keep-?alive|null|""|\{\s*\}|\[\s*\])?$/i

interface ReadSoFar {
  id: string
  model: string
  /** The index of the choice that is read: the first choice that arrives; null until a choice arrives. */
  choice: number | null
  readonly said: {
    /** The words as received, including the marks of chat templates. */
    raw: string
    /** The first half of a surrogate pair at the end of an event, held until the next event brings the other half. */
    half: string
    /** Characters of words and thinking together. */
    chars: number
    hasThoughts: boolean
  }
  reason: NormalEnd | null
  isRefused: boolean
  isDone: boolean
  /** True if the answer may be complete: its usage or an end came alone, or it is one message. A later choice sets false. */
  isTold: boolean
  isOneText: boolean
  usage: WrittenUsage | null
  /** A description of the first content that could not be interpreted; null if there was none. */
  strange: string | null
  /** An excerpt of text outside of the event format. */
  stray: string
}

export function createAnswerReader({
  secrets = [],
  from = '',
  judge,
  takesBack = true,
}: ReaderOptions = {}): AnswerReader {
  const calls = createCallCollector()
  const ending = createAnswerEnding()
  const tags = createThinkingTags(takesBack ? 0 : unopenedHeldChars)
  let lastThought: Thought | null = null
  const repeated = { text: createRepeatedDeltas(), thought: createRepeatedDeltas() }
  const so: ReadSoFar = {
    id: '',
    model: '',
    choice: null,
    said: { raw: '', half: '', chars: 0, hasThoughts: false },
    reason: null,
    isRefused: false,
    isDone: false,
    isTold: false,
    isOneText: false,
    usage: null,
    strange: null,
    stray: '',
  }

  function take({ event, data }: Frame): SaidNews {
    const text = data.trim()
    if (doneMark.test(text) || (doneEvent.test(event) && isBareEnd(text))) so.isDone = true
    if (so.isDone) return lateUsage(text)
    if (keepAlive.test(text)) return nothing
    if (event === 'stray') {
      so.stray = redact(excerptOf(text), secrets)
      return nothing
    }
    so.isOneText = event === 'whole'
    try {
      const values = event === 'error' ? [errorEvent(text)] : wireValues(text, secrets)
      return values
        .map((one) => takeValue(event === 'usage' ? usageEvent(one) : one))
        .reduce(joinNews, nothing)
    } catch (error) {
      if (ending.isComplete() && error instanceof Problem) return nothing
      throw error
    }
  }

  /** Reads the usage that some servers send behind the mark of the end. */
  function lateUsage(text: string): SaidNews {
    const value = so.usage === null ? readJsonQuietly(text, jsonLimits.modelAnswer) : null
    so.usage ??= isRecord(value) ? usageIn(value) : null
    return value === null ? nothing : { ...nothing, usage: so.usage }
  }

  function takeValue({ value, written }: WireValue): SaidNews {
    const failure = errorInAnswer(value, { secrets, judge })
    if (failure !== null) throw failure
    const parsed = parseFirst(chatWireSchema, written)
    if (!parsed.success) {
      const [issue] = parsed.error.issues
      throw unreadable(`${issue?.path.join('.') || 'it'} is not of the expected type`)
    }
    return takeChunk(so, parsed.data, { value, say: readMessage, calls, ending })
  }

  function readMessage(message: WireSaid, isWhole: boolean): SaidNews {
    // A whole message after a stream repeats the thinking that was streamed.
    const found = isWhole && so.said.hasThoughts ? [] : thoughtsIn(message, from)
    const thoughts = isWhole ? found : newThoughts(found)
    let text = ''
    let retracts = false
    for (const part of newParts(message.content, isWhole)) {
      if (!part.known && part.text === '' && part.thinking === '' && part.refusal === '')
        so.strange ??= `a part of type ${part.type.slice(0, 60)}`
      if (part.thinking !== '') thoughts.push(thoughtOf(part.thinking, { field: 'content', from }))
      const tagged = tags.take(part.text)
      const thought = tagged.retracts ? text + tagged.thought : tagged.thought
      if (tagged.retracts) text = ''
      retracts ||= tagged.retracts
      if (thought !== '') thoughts.push(thoughtOf(thought, { field: 'think_tag', from }))
      text += tagged.text + part.refusal
      if (part.refusal !== '') so.isRefused = true
    }
    // OpenAI's models speak in place of writing: the words are beside the sound.
    if (text === '') text = message.audio?.transcript ?? ''
    if (text === '' && isSound(message.audio)) so.strange ??= 'a sound without its words'
    if (message.refusal !== '') {
      so.isRefused = true
      // Some gateways fill the content from the refusal.
      const said = message.content.map((part) => part.text).join('')
      if (message.refusal !== said) text += message.refusal
    }
    return { ...deltaOf(so, { text, thoughts }), retracts }
  }

  /** Returns the parts that are new: some providers repeat all earlier text in the last event or in each event. */
  function newParts(parts: WireSaid['content'], isWhole: boolean): WireSaid['content'] {
    const text = parts.map((part) => part.text).join('')
    const isAgain = isWhole && so.said.raw !== ''
    if (!isAgain) {
      const fresh = isWhole || !parts.every(isPlainPart) ? text : repeated.text.take(text)
      so.said.raw += fresh
      return fresh === text ? parts : plainParts(fresh)
    }
    const all = so.said.raw + repeated.text.rest()
    const fresh = text.startsWith(all) ? text.slice(so.said.raw.length) : all.slice(so.said.raw.length)
    so.said.raw += fresh
    return plainParts(fresh)
  }

  /** The same for thinking without a signature. */
  function newThoughts(found: Thought[]): Thought[] {
    const [only] = found
    if (only === undefined || found.length > 1 || only['format'] !== plainFormat) return found
    const text = repeated.thought.take(String(only['text'] ?? ''))
    lastThought = only
    return text === '' ? [] : [{ ...only, text }]
  }

  /** The text and thinking that were held back because they may repeat what came before. */
  function heldRepeats(): { text: string; thoughts: Thought[]; retracts: boolean } {
    const tagged = tags.take(repeated.text.rest())
    const thought = repeated.thought.rest()
    const thoughts: Thought[] =
      thought === '' || lastThought === null ? [] : [{ ...lastThought, text: thought }]
    if (tagged.thought !== '') thoughts.push(thoughtOf(tagged.thought, { field: 'think_tag', from }))
    return { text: tagged.text, thoughts, retracts: tagged.retracts }
  }

  return {
    take,
    heldBack: () => heldRepeats().text + tags.rest().text,
    head: () => ({ id: so.id, model: so.model }),
    end() {
      const { text: late, thoughts, retracts } = heldRepeats()
      const rest = tags.rest()
      if (rest.thought !== '') thoughts.push(thoughtOf(rest.thought, { field: 'think_tag', from }))
      const half = so.said.half.toWellFormed()
      so.said.half = ''
      const output = { ...deltaOf(so, { text: half + late + rest.text, thoughts }), retracts }
      // Some servers close the stream right after a complete tool call, without a finish reason.
      const isOver = so.isDone || so.isTold || (calls.areWhole() && so.stray === '')
      if (so.reason === null && !isOver) {
        if (so.strange !== null && so.said.chars === 0) throw unreadable(so.strange)
        const why = so.stray === '' ? '' : `: ${so.stray}`
        throw new Problem('upstream-failed', { detail: `the model ended its answer early${why}` })
      }
      const settled = calls.settled(so.reason === 'length')
      const isExplained = so.reason === 'length' || so.reason === 'content_filter'
      if (so.said.chars === 0 && settled.length === 0 && so.strange !== null && !isExplained)
        throw unreadable(so.strange)
      const usage = so.usage && counted(so.usage, so.said.chars + charsIn(settled))
      return { ...output, calls: settled, end: endFor(so, settled), usage, isRefused: so.isRefused }
    },
  }
}

/** Whether a part is text and nothing else. */
function isPlainPart({ thinking, refusal, call, known }: WireSaid['content'][number]): boolean {
  return known && call === null && thinking === '' && refusal === ''
}

/** The content of two frames joined. */
function joinNews(before: SaidNews, news: SaidNews): SaidNews {
  if (before === nothing) return news
  return {
    text: (news.retracts ? '' : before.text) + news.text,
    thoughts: [...before.thoughts, ...news.thoughts],
    retracts: before.retracts || news.retracts,
    usage: news.usage ?? before.usage,
  }
}

interface Taking {
  readonly value: Readonly<Record<string, unknown>>
  readonly say: (message: WireSaid, isWhole: boolean) => SaidNews
  readonly calls: CallCollector
  readonly ending: AnswerEnding
}

function takeChunk(so: ReadSoFar, chunk: WireChunk, by: Taking): SaidNews {
  if (so.id === '') so.id = chunk.id
  if (so.model === '') so.model = chunk.model
  const usage = usageIn(by.value)
  if (usage !== null) so.usage = usage
  const choices = choicesIn(chunk)
  if (choices.length === 0) takeBareEnd(so, chunk, by)
  const choice = choices.find((one) => so.choice === null || one.index === null || one.index === so.choice)
  if (!choice) {
    // Most providers send the usage alone after the last content; some send it between content events.
    if (choices.length === 0 && usage !== null && so.said.chars + so.said.raw.length > 0) so.isTold = true
    else if (choices.length === 0 && (usage === null || isForeign(by.value)))
      so.strange ??= `an object of ${namesOf(by.value)}`
    return { ...nothing, usage }
  }
  so.isTold = so.isOneText && choice.message != null && !choice.delta
  if (so.choice === null) so.choice = choice.index
  const all = [choice, ...choices.filter((one) => one !== choice && belongsTo(choice, one))]
  // A whole message after streamed pieces repeats their calls; the choices of one event do not repeat each other.
  const hadCalls = by.calls.hasAny()
  return { ...all.map((one) => takeChoice(so, one, { ...by, hadCalls })).reduce(joinNews), usage }
}

/** Takes an end in an object of its own, without a choice. */
function takeBareEnd(so: ReadSoFar, chunk: WireChunk, { value, ending }: Taking): void {
  // Some gateways end a step before or between the words with such an object, so content behind it counts.
  if (isDoneObject(value)) so.isTold = true
  const end = endOf(reasonIn(value) || chunk.done_reason)
  if (end === null) return
  ending.take({ hasContent: false, hasReason: true })
  so.reason = laterEnd(so.reason, end)
}

function takeChoice(
  so: ReadSoFar,
  choice: WireChoice,
  by: Taking & { readonly hadCalls: boolean },
): SaidNews {
  const isWhole = !choice.delta || (choice.message != null && isSilent(choice.delta))
  const message = isWhole ? choice.message : choice.delta
  const rawChars = so.said.raw.length
  if (!message && choice.text === '') so.strange ??= strangeChoice(by.value)
  const news = message ? by.say(message, isWhole) : deltaOf(so, { text: choice.text, thoughts: [] })
  const pieces = message && !(isWhole && by.hadCalls) ? piecesIn(message, isWhole) : []
  for (const piece of pieces) by.calls.take(piece)
  if (message) so.strange ??= strangeCall(message.tool_calls)
  const isSaying =
    news.text !== '' || news.thoughts.length + pieces.length > 0 || so.said.raw.length > rawChars
  if (message && !isSaying) so.strange ??= strangeMessage(message)
  if (by.calls.hasAny()) so.said.chars += 1
  const end = endOf(choice.finish_reason)
  by.ending.take({ hasContent: isSaying, hasReason: end !== null })
  so.reason = laterEnd(so.reason, end)
  return news
}

/** Whether a delta that comes together with a whole message has no content. */
function isSilent(message: WireSaid): boolean {
  const { content, reasoning_content: thought, refusal, tool_calls: calls, function_call: call } = message
  return content.length + thought.length + calls.length === 0 && refusal === '' && !call
}

function deltaOf(so: ReadSoFar, { text: piece, thoughts }: Pick<SaidNews, 'text' | 'thoughts'>): SaidNews {
  // Two events may split a surrogate pair: the first half waits for the second, because clients reject a lone half.
  const text = so.said.half + piece
  const last = text.charCodeAt(text.length - 1)
  so.said.half = last >= 0xd800 && last <= 0xdbff ? text.slice(-1) : ''
  const output = { text: text.slice(0, text.length - so.said.half.length).toWellFormed(), thoughts }
  const thoughtChars = output.thoughts.reduce((sum, { text, data }) => sum + charsOf(text) + charsOf(data), 0)
  so.said.chars += output.text.length + thoughtChars
  if (so.said.chars > answerMaxChars) throw unreadable('it is too large')
  so.said.hasThoughts ||= thoughts.length > 0
  return { ...output, retracts: false, usage: null }
}

function charsOf(value: unknown): number {
  return typeof value === 'string' ? value.length : 0
}

/**
 * Returns the normal finish reason. The content decides, not the stated reason: an answer with tool calls ends as
 * `tool_calls`, any other as `stop`. Only a refusal, a length limit and a content filter keep their reason.
 */
function endFor(so: ReadSoFar, calls: readonly CollectedCall[]): NormalEnd {
  if (so.isRefused) return 'content_filter'
  if (so.reason === 'length' || so.reason === 'content_filter') return so.reason
  return calls.length > 0 ? 'tool_calls' : 'stop'
}
