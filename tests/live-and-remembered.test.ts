import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import type { ChatFrame } from '@flotilla/protocol/agent-api'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import type { RunView } from '@flotilla/protocol/run'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { SteerMessage } from '@flotilla/protocol/steer'
import { expect, test } from 'vitest'
import { createScriptedModel } from '../packages/agent/src/llm/scripted-model.ts'
import type { ScriptedStep } from '../packages/agent/src/llm/scripted-model.ts'
import type { RunContext } from '../packages/agent/src/loop/loop-deps.ts'
import { runChatTurn } from '../packages/agent/src/loop/run-chat-turn.ts'
import { createCheckpoints } from '../packages/agent/src/loop/run-files.ts'
import { sessionHistory } from '../packages/agent/src/loop/session-history.ts'
import { createSessions } from '../packages/agent/src/loop/sessions.ts'
import { systemClock } from '../packages/agent/src/system-clock.ts'
import { aContextKeeper } from '../packages/agent/src/testing/context-parts.ts'
import { noMesh, silentHooks } from '../packages/agent/src/testing/loop-parts.ts'
import { text } from '../packages/agent/src/tools/parameters.ts'
import { defineTool } from '../packages/agent/src/tools/tool.ts'
import type { Tool, ToolEffect } from '../packages/agent/src/tools/tool.ts'
import { pastTurns } from '../packages/dashboard/src/pages/chat/past-turns.ts'
import { newTurn, takeFrame } from '../packages/dashboard/src/pages/chat/turn.ts'
import type { Turn } from '../packages/dashboard/src/pages/chat/turn.ts'
import { frameEvent } from '../packages/work/src/runs/delivery/announce-frame.ts'
import type { RunRecord } from '../packages/work/src/runs/ledger/run-record.ts'
import { runLoop } from '../packages/agent/src/loop/run-loop.ts'

/** There are few words, so that turns with equal words, and equal calls within a turn, are frequent. */
const words = fc.constantFrom('Hello', 'Again', 'Count')
const call = fc.record({
  tool: fc.constantFrom('look', 'act', 'ask', 'save_artifact', 'nothing_like_it'),
  how: fc.constantFrom('ok', 'ok', 'fail', 'stop'),
  isValid: fc.constantFrom(true, true, true, false),
})
const round = fc.record({
  text: fc.constantFrom('', 'I look.', ' '),
  calls: fc.array(call, { minLength: 1, maxLength: 3 }),
})
const turn = fc.record({
  asked: words,
  rounds: fc.array(round, { maxLength: 3 }),
  end: fc.constantFrom('answer', 'answer', 'cut', 'cut-at-once', 'stop', 'refused'),
  steer: fc.option(words, { nil: null }),
  /** True if the run continues in a second part after the next run. */
  resumes: fc.boolean(),
})
type DrawnTurn = typeof turn extends fc.Arbitrary<infer T> ? T : never

const session = 'dashboard'
const agent = 'scribe'

function stepsOf({ rounds, end, asked }: DrawnTurn): readonly ScriptedStep[] {
  let made = 0
  const steps = rounds.map(({ text: said, calls }): ScriptedStep => ({
    text: said,
    toolCalls: calls.map(({ tool, how, isValid }) => {
      made += 1
      return { id: `call_${made}`, name: tool, arguments: isValid ? `{"name":"${how} ${made}.md"}` : '{"na' }
    }),
  }))
  const last: ScriptedStep =
    end === 'cut' ? { cut: 'Half an ans' } : end === 'stop' ? { cut: 'STOP' } : { text: `${asked} to you.` }
  return end === 'cut-at-once' || end === 'refused' ? steps : [...steps, last]
}

/** Returns a tool whose input says how the call ends; `stop` waits until the run is stopped. */
function aTool(name: string, effect: ToolEffect, stop: () => void): Tool {
  return defineTool({
    name,
    description: name,
    parameters: { name: text('how it ends', { maxChars: 40 }) },
    effect,
    timeoutMs: 5000,
    parallelSafe: effect === 'none',
    run: async ({ name: how }, { signal }) => {
      if (how.startsWith('stop')) {
        // A person stops a run that they see, so the calls that run beside this one must be published before.
        await new Promise(setImmediate)
        stop()
        await new Promise((resolve) => {
          if (signal.aborted) resolve(null)
          signal.addEventListener('abort', resolve)
        })
      }
      return { output: `exit of ${how}`, ok: !how.startsWith('fail') }
    },
  })
}

/** Builds the agent's history and the turns of the page from the same runs. */
function aConversation() {
  const data = mkdtempSync(join(tmpdir(), 'both-views-'))
  const sessions = createSessions({ dataDirectory: data, clock: systemClock })
  const live = new Map<string, Turn>()
  const runs: RunView[] = []

  function follow(runId: string, event: FleetEventBody): void {
    const turnOfRun = live.get(runId)
    if (turnOfRun) live.set(runId, takeFrame(turnOfRun, { type: 'event', event }, agent))
  }

  function contextOf(runId: string, drawn: DrawnTurn, message: string): RunContext {
    const abort = new AbortController()
    const steers: SteerMessage[] =
      drawn.steer === null ? [] : [{ id: 'steer_1', from: 'your user', text: drawn.steer }]
    const run = { id: runId, agentId: agent } as RunRecord
    const onFrame = (frame: ChatFrame): void => {
      const event = abort.signal.aborted ? null : frameEvent(run, frame)
      if (event) follow(runId, event)
      if (frame.type === 'text_delta' && frame.content === 'STOP') abort.abort()
    }
    const stop = (): void => abort.abort()
    return {
      runLoop,
      inputHash: `${runId} ${message}`,
      stepsUsed: 0,
      hooks: { ...silentHooks, onFrame, steers: () => steers },
      signal: abort.signal,
      mesh: {
        ...noMesh,
        // The only mesh call that these tools need is the confirmation of steers.
        call: () => {
          const { text: said } = steers[0]! // only a run with a steer confirms one
          const ids = { agent_id: agent, run_id: runId, steer_id: 'steer_1', step: 1, became_run_id: null }
          follow(runId, { type: 'steer.changed', ...ids, state: 'taken', text: said })
          return Promise.resolve({ taken: 1 } as never)
        },
      },
      model: createScriptedModel(stepsOf(drawn)),
      tools: [
        aTool('look', 'none', stop),
        aTool('act', 'local', stop),
        aTool('ask', 'mesh', stop),
        aTool('save_artifact', 'mesh', stop),
      ],
      context: aContextKeeper(),
      recordRun: async () => undefined,
      recordHeartbeat: async () => undefined,
      bounds: { taskIterationsMax: 1, chatRoundsPerTurnMax: 9, chatRoundsPerSessionMax: 500 },
      sessions,
      checkpoints: createCheckpoints(data),
      clock: systemClock,
      systemPrompt: async () => sanitizeForPrompt('be good'),
    }
  }

  async function part(runId: string, drawn: DrawnTurn, message: string) {
    const origin =
      message === drawn.asked
        ? ({ kind: 'human', channel: 'cli' } as const)
        : ({ kind: 'agent', channel: 'agent' } as const)
    const request = { kind: 'chat', runId, fence: 1, message, session, steers: [], origin } as const
    return (await runChatTurn(contextOf(runId, drawn, message), request)).result
  }

  function begin(runId: string, asked: string): void {
    live.set(runId, takeFrame(newTurn(runId, asked), { type: 'accepted', run_id: runId }, agent))
  }

  function end(runId: string, result: Awaited<ReturnType<typeof part>>, drawn: DrawnTurn): void {
    const status =
      result.status === 'complete' ? 'done' : result.status === 'cancelled' ? 'cancelled' : 'failed'
    const run = {
      id: runId,
      agent_id: agent,
      input: { kind: 'chat', message: drawn.asked, session },
      state: status,
      outcome: { status, text: status === 'done' ? result.response : (result.error?.detail ?? '') },
      tokens_used: result.tokens_used,
      cost_usd: result.cost_usd,
      started_at: runs.length,
      ended_at: runs.length + 1,
    } as unknown as RunView
    runs.unshift(run)
    const turnOfRun = live.get(runId)
    if (turnOfRun) live.set(runId, takeFrame(turnOfRun, { type: 'ended', run }, agent))
  }

  const history = async () => sessionHistory(session, await sessions.load(session), 500)
  return { part, begin, end, runs, live, history }
}

/** Returns the parts of a turn that a person sees. Messages of the mesh to the agent are only in the history. */
function seen({ message, runId, blocks, run, state }: Turn) {
  const shown = blocks
    .filter(({ kind }) => kind !== 'told')
    .map((block) => (block.kind === 'tool' ? { ...block, key: '' } : block))
  return {
    message,
    runId,
    state,
    shown,
    cost: run?.cost_usd,
    tokens: run?.tokens_used,
    times: [run?.started_at, run?.ended_at],
  }
}

test('a conversation is the same live and after a reload, whatever tools failed and whatever was stopped or cut', async () => {
  const met = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 4 }), async (drawn) => {
      const { part, begin, end, runs, live, history } = aConversation()
      let open: { readonly runId: string; readonly drawn: DrawnTurn } | null = null
      for (const [index, one] of drawn.entries()) {
        const runId = `run_${String(index).padStart(20, '0')}`
        begin(runId, one.asked)
        const result = await part(runId, one, one.asked)
        const waits = one.resumes && result.status === 'complete' && open === null
        if (open !== null) {
          end(open.runId, await part(open.runId, { ...open.drawn, steer: null }, 'It came back.'), open.drawn)
          open = null
        }
        if (waits) open = { runId, drawn: one }
        else end(runId, result, one)
      }
      if (open !== null)
        end(open.runId, await part(open.runId, { ...open.drawn, steer: null }, 'It came back.'), open.drawn)
      const { messages } = await history()
      const remembered = pastTurns(messages, runs, agent)
      for (const { blocks, run } of remembered) {
        met.add(run?.state ?? 'none')
        for (const block of blocks) met.add(block.kind === 'tool' ? block.state : block.kind)
      }
      expect(remembered.map(seen)).toEqual([...live.values()].map(seen))
      expect(remembered.every(({ isWhole }) => isWhole)).toBe(true)
    }),
    { numRuns: process.env['FLOTILLA_SOAK'] === '1' ? 2000 : 150 },
  )
  // Each kind of end occurred, so that the comparison means something.
  const all = ['artifact', 'cancelled', 'done', 'failed', 'note', 'stopped', 'text', 'told']
  expect([...met].toSorted()).toEqual(all)
})
