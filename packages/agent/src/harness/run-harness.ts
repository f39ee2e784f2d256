import { harnessEndpoints } from '@flotilla/protocol/harness-api'
import type { Log } from '@flotilla/protocol/json-log'
import { Problem } from '@flotilla/protocol/problem'
import { replaySessionPattern } from '@flotilla/protocol/replay-endpoints'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { createInTurn } from '@flotilla/protocol/turns'
import { isSummary } from '../context/context-prompts.ts'
import { cutGroups } from '../context/cut-groups.ts'
import { noticeFor } from '../loop/answer-notices.ts'
import { applySteers } from '../loop/apply-steers.ts'
import type { LoopDeps, LoopEnd, RunLoop } from '../loop/loop-deps.ts'
import type { LoopState } from '../loop/loop-state.ts'
import { notices } from '../loop/notices.ts'
import { countContinuation, countRound, judgeRound } from '../loop/round-budget.ts'
import { createMeshToolCalls } from './call-mesh-tool.ts'
import type { MeshToolCalls } from './call-mesh-tool.ts'
import { offeredToHarness } from './offered-tools.ts'
import type { OpenHarness, StopReason } from './open-harness.ts'
import { openSession } from './open-session.ts'
import type { HarnessLoopParts } from './open-session.ts'
import { divideTurn, firstTexts } from './prompt-texts.ts'
import { createPromptEnds } from './prompt-ends.ts'
import type { PromptEnds, Stopped } from './prompt-ends.ts'
import { createTurnRecorder } from './record-turn.ts'
import type { TurnRecorder } from './record-turn.ts'
import { serveMeshTools } from './serve-mesh-tools.ts'
import type { MeshToolServer } from './serve-mesh-tools.ts'

/** The part of a conversation that is kept for people to read, in characters; the harness has its own. */
const keptMaxChars = 400_000

/**
 * The loop of an agent that another program drives: each round is one prompt of the Agent Client Protocol, until the
 * harness ends its turn and nothing waits for it.
 *
 * - **H1** What a call to the mesh does is on disk before it leaves; what a harness does in the container is its own.
 * - **H2** Steers are added before the next prompt, because the protocol knows none within a prompt.
 * - **H3** The session of the conversation is stored before its first prompt, and continued by every later attempt.
 * - **H4** A call to the mesh belongs to a prompt: one that comes after its end is refused, one that has begun is awaited.
 * - **H5** Everything that the loop started ends with it: the processes of the harness and the server of the tools.
 */
export function createHarnessLoop(parts: HarnessLoopParts): (conversation: string) => RunLoop {
  return (conversation) => async (deps, state, signal) => {
    if (replaySessionPattern.test(conversation))
      return { kind: 'failed', code: 'unprocessable', detail: 'A run of a harness cannot be replayed.' }
    const inTurn = createInTurn()
    const save = (): Promise<void> => inTurn(() => deps.saveCheckpoint(state))
    const ends = createPromptEnds(deps.clock, signal)
    const tools = offeredToHarness(deps.tools)
    const recorder = createTurnRecorder({
      ...deps,
      state,
      meshTools: new Set(tools.map(({ definition }) => definition.name)),
      saveSoon: createSaveSoon(save, ends),
    })
    const calls = createMeshToolCalls(deps, {
      state,
      signal,
      save,
      onFailed: ends.end,
      onCompleted: ends.complete,
    })
    const server = await serveMeshTools({
      tools,
      clock: deps.clock,
      call: async (tool, written, asked) => {
        ends.noteActivity()
        return calls.call(tool, written, asked)
      },
    })
    let harness: OpenHarness | null = null
    try {
      const turn = divideTurn(state)
      const opened = await openSession(
        parts,
        { conversation, deps, state, turn, ends, recorder, server },
        signal,
      )
      harness = opened.harness
      const first = firstTexts(turn, {
        systemPrompt: deps.work.systemPrompt,
        continues: harness.continues,
        isInterrupted: opened.isInterrupted,
      })
      const saving = { ...deps, saveCheckpoint: save }
      const work = { ...parts, state, harness, recorder, ends, calls, server, first }
      return await promptByPrompt(saving, work, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof Problem) return { kind: 'failed', code: error.code, detail: error.detail }
      throw error
    } finally {
      ends.close()
      calls.endPrompt()
      await Promise.all([harness?.close(), server.close()])
      await server.idle()
      await inTurn(async () => undefined)
    }
  }
}

/** One store is under way and one waits, however often a state changes. */
function createSaveSoon(save: () => Promise<void>, ends: Pick<PromptEnds, 'fail'>): () => void {
  let isWaiting = false
  return () => {
    if (isWaiting) return
    isWaiting = true
    void Promise.resolve()
      .then(() => {
        isWaiting = false
        return save()
      })
      .catch(ends.fail)
  }
}

interface Prompting {
  readonly state: LoopState
  readonly harness: OpenHarness
  readonly recorder: TurnRecorder
  readonly ends: PromptEnds
  readonly calls: Pick<MeshToolCalls, 'beginPrompt' | 'endPrompt'>
  readonly server: Pick<MeshToolServer, 'idle'>
  readonly first: readonly PromptText[]
  readonly log: Log
}

async function promptByPrompt(deps: LoopDeps, work: Prompting, signal: AbortSignal): Promise<LoopEnd> {
  const { state } = work
  let texts = work.first
  let answer = ''
  for (;;) {
    signal.throwIfAborted()
    if (state.completion !== null) return { kind: 'completed', completion: state.completion }
    const verdict = judgeRound(deps.work.bounds, state.rounds)
    if (verdict === 'exhausted')
      return { kind: 'failed', code: 'rounds-exhausted', detail: notices.roundsUsed }
    if (verdict === 'continue') state.rounds = countContinuation(state.rounds)
    const from = state.messages.length
    const problem = await applySteers(deps, state, signal)
    if (problem !== null) return { kind: 'failed', code: problem.code, detail: problem.detail }
    const steers = state.messages.slice(from).map(({ content }) => content)
    if (texts.length + steers.length === 0) return { kind: 'answered', text: answer }
    const prompted = await promptOnce(deps, { ...work, texts: [...texts, ...steers] }, signal)
    if (typeof prompted !== 'string') return prompted
    answer = prompted
    // Words that look like a call are no mistake of a harness, which calls tools in its own way.
    const notice = state.completion === null ? noticeFor({ ...deps, tools: [] }, state, answer) : null
    if (notice !== null) state.messages.push({ role: 'user', content: notice })
    texts = notice === null ? [] : [notice]
    await deps.saveCheckpoint(state)
  }
}

/** Returns the answer, or how the run ends. */
async function promptOnce(
  deps: LoopDeps,
  work: Prompting & { readonly texts: readonly PromptText[] },
  signal: AbortSignal,
): Promise<LoopEnd | string> {
  const { state, harness, recorder } = work
  let stopped: Stopped<StopReason>
  work.calls.beginPrompt()
  try {
    stopped = await work.ends.during(harness.prompt(work.texts))
  } catch (error) {
    await harness.cancel()
    takeAnswer(state, recorder)
    throw error
  } finally {
    work.calls.endPrompt()
  }
  if (stopped.kind !== 'stopped') await harness.cancel()
  await work.server.idle()
  await reportTokens(deps, work, signal)
  const text = takeAnswer(state, recorder)
  state.step += 1
  state.rounds = countRound(state.rounds)
  state.messages = [...keptMessages(deps, state)]
  deps.watch.onStep(state.step)
  await deps.saveCheckpoint(state)
  signal.throwIfAborted()
  if (state.completion !== null) return text
  if (stopped.kind === 'failed') return { kind: 'failed', code: stopped.code, detail: stopped.detail }
  const reason = stopped.kind === 'stopped' ? stopped.reason : 'cancelled'
  if (reason === 'refusal') return { kind: 'failed', code: 'model-failed', detail: notices.filtered }
  if (reason === 'cancelled')
    return { kind: 'failed', code: 'harness-failed', detail: 'The harness cancelled its turn.' }
  if (text === '' && deps.work.taskId === null)
    return {
      kind: 'failed',
      code: 'harness-failed',
      detail: `The harness ended its turn without an answer (${reason}).`,
    }
  return text
}

/** Reports to the mesh what the harness states about the tokens of its prompt. A report that fails ends no run. */
async function reportTokens(
  { mesh, clock }: LoopDeps,
  { state, harness, log }: Prompting,
  signal: AbortSignal,
): Promise<void> {
  const body = harness.takeTokens()
  if (body === null || body.prompt_tokens + body.completion_tokens === 0) return
  const { runId, step } = state
  try {
    // Each report counts once: a repeated attempt of the run makes other reports, which may have the same step.
    const idempotencyKey = `${runId}:tokens:${step}:${clock.now()}`
    await mesh.call({ endpoint: harnessEndpoints.reportTokens, body, idempotencyKey, signal })
  } catch (error) {
    signal.throwIfAborted()
    log.warn({ err: error, runId }, 'failed to report the tokens of a harness; costs leave them out')
  }
}

/** Adds the text after the last call to the conversation. */
function takeAnswer(state: LoopState, recorder: TurnRecorder): string {
  const text = sanitizeForPrompt(recorder.finish().trim())
  if (text !== '') state.messages.push({ role: 'assistant', content: text, toolCalls: [] })
  return text
}

function keptMessages({ work }: LoopDeps, { messages }: LoopState) {
  return cutGroups(messages, {
    room: keptMaxChars,
    sizeOf: ({ content }) => content.length,
    pinFirst: work.taskId !== null,
    isSummary,
  }).kept
}
