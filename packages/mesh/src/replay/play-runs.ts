import { Problem } from '@flotilla/protocol/problem'
import type {
  Comparison,
  RecordedHistory,
  RecordedMessage,
  RunRecordView,
} from '@flotilla/protocol/replay-api'
import { recordedCallPattern } from '@flotilla/protocol/replay-endpoints'
import { isTerminal } from '@flotilla/protocol/run'
import { wireLimits } from '@flotilla/protocol/limits'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { Caller } from '../access/index.ts'
import { actorOf } from '../access/index.ts'
import type { RequireModel } from '../agents/index.ts'
import type { Kernel } from '../kernel/index.ts'
import type { LlmProvider, StandIn } from '../models/index.ts'
import type { RunQueries, RunQueue, RunRecord } from '../runs/index.ts'
import { compareRuns, isSameRun } from './compare-runs.ts'
import type { KeptMessage } from './exchange.ts'
import type { ExchangeTable } from './exchange-table.ts'
import { createRecordReader, shownRecords } from './keep-records.ts'
import { createRecordedProvider, refusingProvider } from './recorded-provider.ts'
import { stepAskedFor } from './read-record.ts'
import type { RecordedRun } from './read-record.ts'
import type { RunRecorder } from './record-runs.ts'
import { keptMessages } from './exchange.ts'
import type { Replay, ReplayTable } from './replay-table.ts'

/** Characters of a conversation that a replay begins in; the oldest are left out. */
const historyMaxChars = 400_000

export interface PlayRunsDeps {
  readonly kernel: Pick<Kernel, 'guard' | 'database' | 'journal' | 'clock' | 'newId'>
  readonly exchanges: ExchangeTable
  readonly replays: ReplayTable
  readonly recorder: Pick<RunRecorder, 'wrap' | 'written' | 'cleaner'>
}

type PlayNeeds = {
  readonly runs: Pick<RunQueries, 'find'> & Pick<RunQueue, 'submitRun'>
  readonly requireModel: RequireModel
}

/**
 * A run once more, by its record. Whatever plays is a run of its own, of the same agent, in a conversation of its own:
 * queued, bounded and shown as any other. The answers of the model come from the record, and so do the results of its
 * calls, which the agent asks for instead of calling the tool: nothing outside is touched. A fork does so up to a step,
 * and goes on from there with another model and real tools. Problems `denied`, `not-found`, `conflict`, those of
 * `submitRun`, and for a model those of `requireModel`.
 */
export function createPlayRuns(deps: PlayRunsDeps, needs: PlayNeeds) {
  const { kernel, exchanges, replays } = deps

  const readRecord = createRecordReader(exchanges)

  async function recordOf(runId: string): Promise<RecordedRun> {
    await deps.recorder.written()
    return readRecord(runId)
  }

  async function required(
    caller: Caller,
    runId: string,
  ): Promise<{ readonly run: RunRecord; readonly record: RecordedRun }> {
    kernel.guard(caller, { do: 'view-fleet' })
    const run = needs.runs.find(runId)
    if (!run) throw new Problem('not-found', { detail: `there is no run ${runId}` })
    const record = await knownRecordOf(runId)
    if (record.steps.length === 0) {
      const why = exchanges.cutOf(runId) ?? 'it asked no model, or its record is no longer kept'
      throw new Problem('not-found', {
        detail: `nothing is recorded of run ${runId}: ${why}; run_records in config/settings.json says how long records are kept`,
      })
    }
    return { run, record }
  }

  async function ended(caller: Caller, runId: string) {
    // First, so that whoever may give no work learns nothing of which runs there are.
    kernel.guard(caller, { do: 'submit-run', to: needs.runs.find(runId)?.agentId ?? '' })
    const found = await required(caller, runId)
    if (!isTerminal(found.run.state))
      throw new Problem('conflict', {
        detail: `run ${runId} is ${found.run.state}; wait for its end, or cancel it`,
      })
    const cut = exchanges.cutOf(runId)
    if (cut !== null)
      throw new Problem('conflict', { detail: `the record of run ${runId} is not whole: ${cut}` })
    return found
  }

  function submit(
    caller: Caller,
    {
      run,
      asked,
      replay,
      budgetUsd,
    }: {
      readonly run: RunRecord
      readonly asked: string
      readonly replay: Omit<Replay, 'runId'>
      readonly budgetUsd: number | null
    },
  ): RunRecord {
    const kind = replay.until === null ? 'replay' : 'fork'
    const session = `${kind}:${run.id}:${kernel.newId('sess')}`
    return kernel.database.transaction(() => {
      const made = needs.runs.submitRun(caller, {
        agentId: run.agentId,
        input: { kind: 'chat', message: asked.slice(0, wireLimits.chatMessageMaxChars), session },
        budgetUsd,
      })
      replays.insert({ ...replay, runId: made.id })
      kernel.journal.append({
        actor: actorOf(caller),
        action: kind === 'replay' ? 'run.replayed' : 'run.forked',
        subject: made.id,
        detail: {
          of: run.id,
          turn: replay.turn + 1,
          step: replay.until === null ? null : replay.until + 1,
          model: replay.model,
        },
      })
      return made
    })
  }

  /** Without what has become a secret since it was written: whoever reads it reads it now. */
  async function knownRecordOf(runId: string): Promise<RecordedRun> {
    const [shown] = await shownRecords([await recordOf(runId)], deps.recorder.cleaner)
    return shown
  }

  /** The replay that this run is, with what it plays. */
  async function playedBy(
    runId: string,
  ): Promise<{ readonly replay: Replay; readonly record: RecordedRun } | null> {
    const replay = replays.find(runId)
    return replay && { replay, record: await knownRecordOf(replay.ofRun) }
  }

  /** What a run that plays was asked, cut and cleaned when it was submitted, as its agent says it to the model. */
  function questionOf(runId: string): string {
    const input = needs.runs.find(runId)?.input
    return input?.kind === 'chat' ? sanitizeForPrompt(input.message) : ''
  }

  async function standInOf(
    replay: Replay,
    asked: Parameters<StandIn>[0],
  ): Promise<{ readonly llm: LlmProvider } | { readonly model: string }> {
    const live = replay.model === null ? { llm: refusingProvider } : { model: replay.model }
    if (asked.purpose !== 'loop') return live
    const record = await knownRecordOf(replay.ofRun)
    const turn = record.turns[replay.turn]
    const question = questionOf(asked.runId)
    if (
      replay.until !== null &&
      (!turn || stepAskedFor(keptMessages(asked.parameters), { ...turn, asked: question }) >= replay.until)
    )
      return live
    const provider = createRecordedProvider({ ...kernel, replay, record, asked: question })
    return { llm: deps.recorder.wrap(provider) }
  }

  return {
    async record(caller: Caller, runId: string): Promise<RunRecordView> {
      const { run, record } = await required(caller, runId)
      return {
        run_id: run.id,
        agent_id: run.agentId,
        cut: exchanges.cutOf(runId),
        turns: record.turns.map(({ asked }, index) => ({ turn: index + 1, asked })),
        beside: record.beside,
        steps: record.steps.map(({ at, exchange, results }) => ({
          step: at + 1,
          turn: record.turns.findIndex(({ from, to }) => at >= from && at < to) + 1,
          at: exchange.at,
          model: exchange.model,
          text: exchange.answer.content,
          calls: exchange.answer.calls.map((call, index) => ({
            tool: call.name,
            arguments: call.arguments,
            result: results[index] ?? null,
          })),
        })),
      }
    },
    async replay(
      caller: Caller,
      runId: string,
      turn: number,
    ): Promise<{ readonly run: RunRecord; readonly turns: number }> {
      const { run, record } = await ended(caller, runId)
      const wanted = record.turns[turn - 1]
      if (!wanted)
        throw new Problem('not-found', {
          detail: `run ${runId} has ${record.turns.length} turns and no turn ${turn}`,
        })
      const replay = { ofRun: runId, turn: turn - 1, until: null, model: null }
      return {
        run: submit(caller, { run, asked: wanted.asked, replay, budgetUsd: null }),
        turns: record.turns.length,
      }
    },
    async fork(
      caller: Caller,
      runId: string,
      {
        model,
        step,
        maxUsd,
      }: { readonly model: string; readonly step: number; readonly maxUsd: number | null },
    ): Promise<RunRecord> {
      const { run, record } = await ended(caller, runId)
      needs.requireModel(caller, { agentId: run.agentId, model })
      const until = step - 1
      const turn = record.turns.findIndex(({ from, to }) => until >= from && until < to)
      const wanted = record.turns[turn]
      if (!wanted) {
        throw new Problem('not-found', {
          detail: `run ${runId} has ${record.steps.length} steps and no step ${step}; flotilla replay ${runId} --record shows them`,
        })
      }
      return submit(caller, {
        run,
        asked: wanted.asked,
        replay: { ofRun: runId, turn, until, model },
        budgetUsd: maxUsd,
      })
    },
    async compare(caller: Caller, runId: string): Promise<Comparison> {
      kernel.guard(caller, { do: 'view-fleet' })
      const run = needs.runs.find(runId)
      const replay = replays.find(runId)
      if (!run || !replay) throw new Problem('not-found', { detail: `run ${runId} plays no other run again` })
      const [record, again] = await shownRecords(
        [await recordOf(replay.ofRun), await recordOf(runId)],
        deps.recorder.cleaner,
      )
      const first = { record, outcome: needs.runs.find(replay.ofRun)?.outcome ?? null }
      const differences = compareRuns(replay, first, { record: again, outcome: run.outcome })
      return {
        run_id: runId,
        of_run: replay.ofRun,
        kind: replay.until === null ? 'replay' : 'fork',
        model: replay.model,
        turn: replay.turn + 1,
        turns: record.turns.length,
        steps: again.steps.length,
        calls: again.steps.reduce((sum, { results }) => sum + results.length, 0),
        same: isSameRun(differences),
        differences: [...differences],
      }
    },
    standIn: ((asked) => {
      // At once: this is asked of every call of a model, and most runs play nothing.
      const replay = replays.find(asked.runId)
      return replay && standInOf(replay, asked)
    }) satisfies StandIn,
    /** For the agent that plays it: what a call returned then. Problem `not-found` in every other run. */
    async recordedCall(
      runId: string | null,
      callId: string,
    ): Promise<{ readonly output: string; readonly ok: boolean; readonly ended: boolean }> {
      const played = runId === null ? null : await playedBy(runId)
      const [, step = '', call = ''] = recordedCallPattern.exec(callId) ?? []
      const turn = played?.record.turns[played.replay.turn]
      const found = played?.record.steps[Number(step)]
      const isOfTurn = turn !== undefined && Number(step) >= turn.from && Number(step) < turn.to
      const isPast = played?.replay.until !== null && Number(step) >= (played?.replay.until ?? 0)
      if (!found || !isOfTurn || isPast || !found.exchange.answer.calls[Number(call)])
        throw new Problem('not-found', { detail: 'no such call is recorded' })
      const result = found.results[Number(call)]
      if (result === null || result === undefined)
        return { output: '[The record has no result of this call.]', ok: true, ended: true }
      const output = result.slice(0, wireLimits.chatMessageMaxChars)
      return { output, ok: !result.startsWith('Error ('), ended: false }
    },
    /** For the agent that plays it: what was said before and in between. Empty in every other run. */
    async history(runId: string | null): Promise<RecordedHistory> {
      const played = runId === null ? null : await playedBy(runId)
      const turn = played?.record.turns[played.replay.turn]
      if (!played || !turn) return { messages: [], said: [] }
      const { record, replay } = played
      const steps = record.steps.slice(turn.from, Math.min(turn.to, replay.until ?? turn.to))
      return { messages: bounded(turn.history).map(recordedMessage), said: saidIn(steps) }
    },
  }
}

export type PlayRuns = ReturnType<typeof createPlayRuns>

/** The newest that fit, from a question on, so that no result stands without its call. */
function bounded(history: readonly KeptMessage[]): readonly KeptMessage[] {
  let room = historyMaxChars
  const from = history.findLastIndex((message) => {
    room -= message.content.length + JSON.stringify(message.calls ?? []).length
    return room < 0
  })
  const whole = history.slice(from + 1)
  return from === -1
    ? whole
    : whole.slice(
        Math.max(
          0,
          whole.findIndex(({ role }) => role === 'user'),
        ),
      )
}

/** The first that fit. */
function saidIn(steps: RecordedRun['steps']): RecordedHistory['said'] {
  let room = historyMaxChars
  const all = steps.flatMap(({ said }, index) => said.map((text) => ({ answers: index + 1, text })))
  return all.filter(({ text }) => {
    room -= text.length
    return room >= 0
  })
}

function recordedMessage({ role, content, calls = [], call_id: callId }: KeptMessage): RecordedMessage {
  if (role === 'assistant') return { role, content, calls: calls.map((call) => ({ ...call })) }
  if (role === 'tool') return { role, content, call_id: callId ?? '' }
  return { role: 'user', content }
}
