import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { RunRecord } from '@flotilla/work/runs'
import { requireWholeRecord } from './replay-context.ts'
import type { ReplayContext } from './replay-context.ts'
import type { Replay } from './replay-table.ts'

/**
 * Replays one turn of a run by its record, as a new run of the same agent in a new conversation, queued, limited and
 * shown like any other run. Problems `denied`, `not-found`, `conflict`, and those of `submitRun`.
 */
export async function startReplay(
  context: ReplayContext,
  caller: Caller,
  { runId, turn }: { readonly runId: string; readonly turn: number },
): Promise<{ readonly run: RunRecord; readonly turns: number }> {
  const { run, record } = await requireWholeRecord(context, caller, runId)
  const chosen = record.turns[turn - 1]
  if (!chosen)
    throw new Problem('not-found', {
      detail: `run ${runId} has ${record.turns.length} turns and no turn ${turn}`,
    })
  const replay = { ofRun: runId, turn: turn - 1, until: null, model: null }
  return {
    run: submit(context, caller, { run, asked: chosen.asked, replay, budgetUsd: null }),
    turns: record.turns.length,
  }
}

interface ForkInput {
  readonly runId: string
  readonly model: string
  readonly step: number
  readonly maxUsd: number | null
}

/** Replays a turn up to a step, then continues with another model and real tools. Also Problems of `requireModel`. */
export async function startFork(
  context: ReplayContext,
  caller: Caller,
  { runId, model, step, maxUsd }: ForkInput,
): Promise<RunRecord> {
  const { run, record } = await requireWholeRecord(context, caller, runId)
  context.requireModel(caller, { agentId: run.agentId, model })
  const until = step - 1
  const turn = record.turns.findIndex(({ from, to }) => until >= from && until < to)
  const chosen = record.turns[turn]
  if (!chosen) {
    throw new Problem('not-found', {
      detail: `run ${runId} has ${record.steps.length} steps and no step ${step}; flotilla replay ${runId} --record shows them`,
    })
  }
  const replay = { ofRun: runId, turn, until, model }
  return submit(context, caller, { run, asked: chosen.asked, replay, budgetUsd: maxUsd })
}

interface Submission {
  readonly run: RunRecord
  readonly asked: string
  readonly replay: Omit<Replay, 'runId'>
  readonly budgetUsd: number | null
}

function submit(
  { kernel, runs, replays }: ReplayContext,
  caller: Caller,
  { run, asked: message, replay, budgetUsd }: Submission,
): RunRecord {
  const kind = replay.until === null ? 'replay' : 'fork'
  const session = `${kind}:${run.id}:${kernel.newId('sess')}`
  return kernel.database.transaction(() => {
    const made = runs.submitRun(caller, {
      agentId: run.agentId,
      input: { kind: 'chat', message: message.slice(0, wireLimits.chatMessageMaxChars), session },
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
