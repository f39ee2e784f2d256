import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { harnessServerName } from '@flotilla/protocol/harness-variable'
import { harnessCallName } from '@flotilla/protocol/harness-api'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { LoopDeps } from '../loop/loop-deps.ts'
import type { LoopState } from '../loop/loop-state.ts'
import { boundInput } from '../loop/task-result.ts'
import type { CallReport, HarnessUpdate } from './read-update.ts'
import { hasContent, joinStated } from './stated-call.ts'
import type { StatedCall } from './stated-call.ts'

/** Longest answer of one turn, in characters; the rest is dropped. */
const answerMaxChars = 200_000
/** Calls of a harness that run at the same time, and calls of one run that are kept; further ones are only shown. */
const openCallsMax = 64
const keptCallsMax = 300
/** Versions of a plan that are shown in one run. */
const plansMax = 200

/** Turns what a harness reports into the frames that people follow and the conversation that they read later. */
export interface TurnRecorder {
  take(update: HarnessUpdate): void
  /** Returns what the harness has stated so far about a call without a result; null for one that is not known. */
  statedOf(callId: string): StatedCall | null
  /** Ends the answer: calls without a result are closed. Returns the text after the last call. */
  finish(): string
}

interface OpenCall {
  stated: StatedCall
  /** Null for a call that is not shown. */
  readonly shown: ShownCall | null
}

interface ShownCall {
  readonly step: number
  readonly startedAt: number
  /** The text before the call. */
  readonly before: string
  isAnnounced: boolean
}

export function createTurnRecorder(
  deps: Pick<LoopDeps, 'watch' | 'clock'> & {
    readonly state: LoopState
    /** Names of the tools of the mesh, whose calls are recorded where they are executed. */
    readonly meshTools: ReadonlySet<string>
    /** Stores the state soon. */
    readonly saveSoon: () => void
  },
): TurnRecorder {
  const { state, watch, clock } = deps
  const calls = new Map<string, OpenCall>()
  let text = ''
  let textTotal = 0
  let answer: number | null = null
  let plan = ''
  let plans = 0

  const takeText = (piece: string): void => {
    const fits = piece.slice(0, Math.max(0, answerMaxChars - textTotal))
    if (fits === '') return
    textTotal += fits.length
    const begins = answer === null
    answer ??= state.step += 1
    text += fits
    watch.onFrame({ type: 'text_delta', content: fits, answer, ...(begins ? { begins } : {}) })
    watch.onStep(state.step)
  }
  const takeOffText = (): string => {
    const before = text
    text = ''
    answer = null
    return before
  }
  const takePlan = (entries: string): void => {
    if (entries === plan || plans >= plansMax) return
    plan = entries
    plans += 1
    state.step += 1
    const name = 'harness_plan'
    watch.onFrame({ type: 'tool_start', step: state.step, name, input: {} })
    watch.onFrame({
      type: 'tool_result',
      step: state.step,
      name,
      output: sanitizeForPrompt(entries),
      ok: true,
    })
  }
  const begin = ({ stated }: CallReport): ShownCall | null => {
    const isHidden = isMeshCall(shownTitle(stated), deps.meshTools)
    if (isHidden || calls.size >= openCallsMax) return null
    state.step += 1
    return {
      step: state.step,
      startedAt: clock.now(),
      before: takeOffText(),
      isAnnounced: false,
    }
  }
  const announce = (call: ShownCall, stated: StatedCall): void => {
    if (call.isAnnounced) return
    call.isAnnounced = true
    watch.onFrame({
      type: 'tool_start',
      step: call.step,
      name: nameOf(stated),
      input: inputOf(stated),
    })
  }
  const end = (
    call: ShownCall,
    stated: StatedCall,
    { ok, output: said }: { readonly ok: boolean; readonly output: string },
  ): void => {
    announce(call, stated)
    const name = nameOf(stated)
    const output = sanitizeForPrompt(said)
    const { step } = call
    if (state.toolOutputs.length < keptCallsMax) {
      const input = inputOf(stated)
      const id = `harness:${step}`
      const requested = { id, name, arguments: JSON.stringify(input) }
      state.messages.push(
        { role: 'assistant', content: sanitizeForPrompt(call.before), toolCalls: [requested] },
        { role: 'tool', toolCallId: id, content: output, ...(ok ? {} : { ended: 'failed' as const }) },
      )
      const durationMs = Math.max(0, clock.now() - call.startedAt)
      state.toolOutputs.push({ step, tool: name, input, output, ok, duration_ms: durationMs })
    }
    watch.onFrame({ type: 'tool_result', step, name, output, ok })
    watch.onStep(state.step)
    deps.saveSoon()
  }
  const takeCall = (report: CallReport): void => {
    const known = calls.get(report.callId)
    const call = known ?? { stated: report.stated, shown: begin(report) }
    if (known === undefined && calls.size < openCallsMax) calls.set(report.callId, call)
    call.stated = joinStated(call.stated, report.stated)
    const { stated, shown } = call
    if (shown !== null && (hasContent(stated.input) || stated.paths.length > 0)) announce(shown, stated)
    if (report.status !== 'completed' && report.status !== 'failed') return
    calls.delete(report.callId)
    if (shown === null) return
    end(shown, stated, { ok: report.status === 'completed', output: report.output })
  }

  return {
    take: (update) => {
      if (update.kind === 'text') takeText(update.text)
      else if (update.kind === 'plan') takePlan(update.text)
      else takeCall(update)
    },
    statedOf: (callId) => calls.get(callId)?.stated ?? null,
    finish: () => {
      for (const { shown, stated } of calls.values())
        if (shown !== null) end(shown, stated, { ok: false, output: '[no result]' })
      calls.clear()
      textTotal = 0
      return takeOffText()
    },
  }
}

/**
 * Whether the call goes to the tools of the mesh: harnesses name such a call after server and tool, each in its own
 * form. Pure.
 */
export function isMeshCall(title: string | null, meshTools: ReadonlySet<string>): boolean {
  if (title === null || !title.toLowerCase().includes(harnessServerName)) return false
  return (title.match(/[a-z_]+/g) ?? []).some((word) =>
    [word, ...afterServer(word)].some((name) => meshTools.has(name)),
  )
}

function afterServer(word: string): readonly string[] {
  const at = word.indexOf(`${harnessServerName}_`)
  return at === -1 ? [] : [word.slice(at + harnessServerName.length).replace(/^_+/, '')]
}

/** Longest title and path of a call, in characters, and the number of paths that are shown. */
const titleMaxChars = 500
const pathsMax = 50

function shownTitle({ title }: StatedCall): string | null {
  return title === null ? null : title.slice(0, titleMaxChars)
}

function nameOf({ tool }: StatedCall): string {
  return harnessCallName(tool ?? 'other')
}

function inputOf(stated: StatedCall): JsonObject {
  const { input } = stated
  const title = shownTitle(stated) ?? ''
  const paths = stated.paths.slice(0, pathsMax).map((path) => path.slice(0, titleMaxChars))
  const given: JsonObject = isJsonObject(input)
    ? input
    : hasContent(input)
      ? { input: input as JsonValue }
      : {}
  const fields: JsonObject = {
    ...(title === '' ? {} : { title: sanitizeForPrompt(title) }),
    ...(paths.length === 0 ? {} : { paths }),
    ...given,
  }
  return boundInput(Object.fromEntries(Object.entries(fields).slice(0, fieldsMax)))
}

/** Fields of a call's input that are shown. */
const fieldsMax = 30
