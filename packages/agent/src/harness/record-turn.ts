import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { harnessServerName } from '@flotilla/protocol/harness-variable'
import { harnessCallName } from '@flotilla/protocol/harness-api'
import type { HarnessCallKind } from '@flotilla/protocol/harness-api'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { LoopDeps } from '../loop/loop-deps.ts'
import type { LoopState } from '../loop/loop-state.ts'
import { boundInput } from '../loop/task-result.ts'
import type { CallReport, HarnessUpdate } from './read-update.ts'

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
  /** Ends the answer: calls without a result are closed. Returns the text after the last call. */
  finish(): string
}

interface OpenCall {
  readonly step: number
  readonly startedAt: number
  /** The text before the call. */
  readonly before: string
  title: string
  tool: HarnessCallKind
  paths: readonly string[]
  input: unknown
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
  const calls = new Map<string, OpenCall | null>()
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
  const begin = (report: CallReport): OpenCall | null => {
    const isHidden = isMeshCall(report.title, deps.meshTools)
    if (isHidden || calls.size >= openCallsMax) return null
    state.step += 1
    return {
      step: state.step,
      startedAt: clock.now(),
      before: takeOffText(),
      title: '',
      tool: 'other',
      paths: [],
      input: undefined,
      isAnnounced: false,
    }
  }
  const announce = (call: OpenCall): void => {
    if (call.isAnnounced) return
    call.isAnnounced = true
    watch.onFrame({
      type: 'tool_start',
      step: call.step,
      name: harnessCallName(call.tool),
      input: inputOf(call),
    })
  }
  const end = (
    call: OpenCall,
    { ok, output: said }: { readonly ok: boolean; readonly output: string },
  ): void => {
    announce(call)
    const name = harnessCallName(call.tool)
    const output = sanitizeForPrompt(said)
    const { step } = call
    if (state.toolOutputs.length < keptCallsMax) {
      const input = inputOf(call)
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
    const call = known === undefined ? begin(report) : known
    if (known === undefined && calls.size < openCallsMax) calls.set(report.callId, call)
    if (call === null) {
      if (report.status === 'completed' || report.status === 'failed') calls.delete(report.callId)
      return
    }
    call.title = report.title ?? call.title
    call.tool = report.tool ?? call.tool
    if (report.paths.length > 0) call.paths = report.paths
    if (hasContent(report.input)) call.input = report.input
    if (call.input !== undefined || call.paths.length > 0) announce(call)
    if (report.status !== 'completed' && report.status !== 'failed') return
    calls.delete(report.callId)
    end(call, { ok: report.status === 'completed', output: report.output })
  }

  return {
    take: (update) => {
      if (update.kind === 'text') takeText(update.text)
      else if (update.kind === 'plan') takePlan(update.text)
      else takeCall(update)
    },
    finish: () => {
      for (const call of calls.values()) if (call !== null) end(call, { ok: false, output: '[no result]' })
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

function inputOf({ title, paths, input }: OpenCall): JsonObject {
  const given: JsonObject = isJsonObject(input)
    ? input
    : hasContent(input)
      ? { input: input as JsonValue }
      : {}
  const fields: JsonObject = {
    ...(title === '' ? {} : { title: sanitizeForPrompt(title) }),
    ...(paths.length === 0 ? {} : { paths: [...paths] }),
    ...given,
  }
  return boundInput(Object.fromEntries(Object.entries(fields).slice(0, fieldsMax)))
}

/** Fields of a call's input that are shown. */
const fieldsMax = 30

function hasContent(input: unknown): boolean {
  if (input === undefined || input === null) return false
  return typeof input !== 'object' || Object.keys(input).length > 0
}
