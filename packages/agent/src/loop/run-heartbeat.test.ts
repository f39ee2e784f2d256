import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { describe, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { createDataFiles } from '../files/data-files.ts'
import { createScriptedModel } from '../llm/scripted-model.ts'
import type { ScriptedStep } from '../llm/scripted-model.ts'
import { createRecordRun } from '../context/record-run.ts'
import { createImageStore } from '../images/image-store.ts'
import { systemClock } from '../system-clock.ts'
import { aContextKeeper } from '../testing/context-parts.ts'
import { calls, fakeTool, noMesh, silentHooks } from '../testing/loop-parts.ts'
import { aPng } from '../testing/pictures.ts'
import { quietLog } from '../testing/quiet-log.ts'
import type { Tool } from '../tools/tool.ts'
import { createDailyLog, heartbeatLogFolder } from '../workspace/daily-log.ts'
import { readHeartbeatContext } from '../workspace/heartbeat-context.ts'
import { createWorkspace } from '../workspace/workspace.ts'
import { createCheckpoints } from './run-files.ts'
import type { RunContext } from './loop-deps.ts'
import { runChatTurn } from './run-chat-turn.ts'
import { runHeartbeat } from './run-heartbeat.ts'
import { createSessions } from './sessions.ts'
import { runLoop } from './run-loop.ts'

const request = {
  kind: 'heartbeat',
  runId: 'run_1',
  fence: 2,
  message: 'look around',
  continues: false,
  steers: [],
  origin: { kind: 'heartbeat', channel: 'mesh' },
} as const

/** A run's context on a real data directory; `script` contains the model's answers. */
function aHarness(script: readonly ScriptedStep[], data = mkdtempSync(join(tmpdir(), 'heartbeat-'))) {
  const files = createDataFiles(data)
  const clock = systemClock
  const model = createScriptedModel(script)
  const tool = fakeTool('notify_user', 'local')
  const log = quietLog
  const abort = new AbortController()
  const context: RunContext = {
    runLoop,
    inputHash: 'same',
    stepsUsed: 0,
    hooks: silentHooks,
    signal: abort.signal,
    mesh: noMesh,
    model,
    tools: [tool],
    context: aContextKeeper(),
    recordRun: createRecordRun({ dailyLog: createDailyLog({ files, clock }), log }),
    recordHeartbeat: createRecordRun({
      dailyLog: createDailyLog({ files, clock, folder: heartbeatLogFolder }),
      log,
    }),
    bounds: { taskIterationsMax: 1, chatRoundsPerTurnMax: 5, chatRoundsPerSessionMax: 9 },
    sessions: createSessions({ dataDirectory: data, clock }),
    checkpoints: createCheckpoints(data),
    clock,
    systemPrompt: async (mode) => sanitizeForPrompt(`mode ${mode}`),
  }
  const workspace = createWorkspace({ files, briefingDirectory: data, initialInstructions: '', clock })
  const readContext = () => readHeartbeatContext({ workspace, files, dataDirectory: data, clock })
  return { data, context, model, tool, abort, readContext }
}

const notify = (value: string) => ({
  toolCalls: calls([value, 'notify_user', `{"value":"${value}"}`]),
})
const quiet: ScriptedStep = { text: 'HEARTBEAT_OK' }

describe('a heartbeat', () => {
  test('a heartbeat with nothing to report is quiet and leaves no trace', async () => {
    const { context, model, readContext } = aHarness([quiet])
    const { result } = await runHeartbeat(context, request)
    expect(result).toMatchObject({ status: 'complete', result: { outcome: 'quiet', tools_used: [] } })
    expect(model.asked[0]?.messages.at(0)?.content).toBe('mode heartbeat')
    // The time comes last, so that a provider finds all before it in its cache at the next heartbeat.
    const asked = model.asked[0]?.messages.filter(({ role }) => role === 'user').map(({ content }) => content)
    expect(asked).toEqual([expect.stringMatching(/^look around\n\n\[It is .+ UTC\.\]$/)])
    expect((await context.sessions.load('heartbeat')).messages).toEqual([])
    expect(await readContext()).toMatchObject({
      has_recent_activity: false,
      daily_logs: '',
      heartbeat_logs: '',
    })
  })

  test('a heartbeat that viewed a picture shows it to the model', async () => {
    const { data, context, model } = aHarness([
      { toolCalls: calls(['look', 'view_image', '{"value":"a.png"}']) },
      quiet,
    ])
    const picture = { mediaType: 'image/png', base64: aPng().toString('base64') }
    const view: Tool = {
      ...fakeTool('view_image', 'local'),
      run: async () => ({ output: 'a.png', ok: true, images: [picture] }),
    }
    await runHeartbeat({ ...context, tools: [view], images: createImageStore(data) }, request)
    expect(model.asked[1]?.messages.at(-1)).toMatchObject({ images: [{ mediaType: 'image/png' }] })
  })

  test('a heartbeat that did something says so in a log of its own, which keeps no next one awake', async () => {
    const { context, readContext } = aHarness([notify('disk'), { text: 'I told the owner of the disk.' }])
    const { result } = await runHeartbeat(context, request)
    expect(result.result).toEqual({ outcome: 'reported', tools_used: ['notify_user'] })
    const found = await readContext()
    expect(found.heartbeat_logs).toContain('I told the owner of the disk.')
    expect(found).toMatchObject({ has_recent_activity: false, daily_logs: '' })
  })

  test('a heartbeat has a history of its own and stays out of the chat', async () => {
    heedsLesson(79)
    verifies('purpose:heartbeat-mode:cheap-monitoring')
    const first = aHarness([notify('disk'), { text: 'I told the owner of the disk.' }])
    await runHeartbeat(first.context, request)
    expect((await first.context.sessions.load('main')).messages).toEqual([])
    const second = aHarness([quiet, { text: 'hello yourself' }], first.data)
    await runHeartbeat(second.context, { ...request, runId: 'run_2', fence: 3 })
    expect(JSON.stringify(second.model.asked[0]?.messages)).toContain('I told the owner of the disk.')
    const chat = {
      kind: 'chat',
      runId: 'run_3',
      fence: 4,
      message: 'hello',
      session: 'main',
      steers: [],
    } as const
    await runChatTurn(second.context, chat)
    expect(JSON.stringify(second.model.asked[1]?.messages)).not.toContain('disk')
    expect((await second.readContext()).has_recent_activity).toBe(true)
  })

  test('a heartbeat asks the model twelve times at most, and the last time lets it call nothing', async () => {
    verifies('limits:heartbeat-iterations', 'states:heartbeat:run-bounded')
    const script = Array.from({ length: 20 }, (_, round) => ({
      text: `round ${round}`,
      ...notify(`n${round}`),
    }))
    const { context, model, tool } = aHarness(script)
    const { result } = await runHeartbeat(context, request)
    expect(model.asked).toHaveLength(12)
    expect(model.asked.map((asked) => asked.mayCallTools)).toEqual([...Array<boolean>(11).fill(true), false])
    expect(tool.keys).toHaveLength(11)
    expect(result).toMatchObject({ status: 'complete', response: 'round 11' })
  })

  test('a heartbeat goes on after a kill where it was, and does nothing twice', async () => {
    const killed = aHarness([notify('disk')])
    // The process ends during the second call of the model and never comes back.
    const gone = { ...killed.context, model: hangsAfter(killed.context.model, 1) }
    void runHeartbeat(gone, request)
    while (gone.model.asks() < 2) await systemClock.sleep(5)
    expect(killed.tool.keys).toHaveLength(1)
    const next = aHarness([quiet], killed.data)
    const { result } = await runHeartbeat(next.context, { ...request, fence: 3 })
    expect(next.model.asked).toHaveLength(1)
    expect(next.tool.keys).toEqual([])
    expect(result).toMatchObject({ result: { outcome: 'quiet', tools_used: ['notify_user'] } })
  })

  test('a heartbeat is answered in what is left of its rounds when work that it gave away comes back', async () => {
    const rounds = Array.from({ length: 4 }, (_, round) => notify(`n${round}`))
    const first = aHarness([...rounds, { text: 'given away' }])
    await runHeartbeat(first.context, request)
    const script = Array.from({ length: 20 }, (_, round) => ({ text: 'more', ...notify(`m${round}`) }))
    const back = aHarness(script, first.data)
    const later = { ...back.context, inputHash: 'other' }
    await runHeartbeat(later, { ...request, message: 'it is done', continues: true, fence: 3 })
    expect(back.model.asked).toHaveLength(12 - 5)
  })

  test('a heartbeat that fails says why, and that is no activity either', async () => {
    const { context, readContext } = aHarness([])
    const { result } = await runHeartbeat(context, request)
    expect(result).toMatchObject({ status: 'failed', error: { code: 'model-failed' } })
    const found = await readContext()
    expect(found.heartbeat_logs).toContain('failed')
    expect(found.has_recent_activity).toBe(false)
  })
})

/** A model that gives this many answers and then hangs. */
function hangsAfter(model: RunContext['model'], answers: number) {
  let asks = 0
  return {
    asks: () => asks,
    answer: (...asked: Parameters<RunContext['model']['answer']>) => {
      asks += 1
      return asks > answers ? new Promise<never>(() => undefined) : model.answer(...asked)
    },
  }
}
