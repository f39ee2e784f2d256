import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openLedger } from '../support/ledger-view.ts'
import type { LedgerView } from '../support/ledger-view.ts'
import type { EffectFact, Facts, FiringFact, MoneyFacts, RunFact } from './facts.ts'
import { readPlan, sharedKey, topic } from './steps.ts'

type Row = Readonly<Record<string, unknown>>
/** The facts that the database and the files of a home contain. */
export type HomeFacts = Pick<
  Facts,
  | 'runs'
  | 'endings'
  | 'letters'
  | 'notes'
  | 'tasks'
  | 'messages'
  | 'steers'
  | 'firings'
  | 'effects'
  | 'versions'
  | 'money'
>

/** Reads the rows of a home beside a mesh that may be running, without judging them. */
export async function gatherRows(home: string): Promise<HomeFacts> {
  const ledger = openLedger(home)
  try {
    const descriptions = new Map(
      ledger
        .rows('SELECT id, description FROM tasks')
        .map((row) => [text(row, 'id'), text(row, 'description')]),
    )
    return {
      runs: withConversations(
        ledger.rows(
          'SELECT id, agent_id, state, origin, input, parent_id, task_id, idempotency_key, outcome, cost_usd FROM runs ORDER BY position',
        ),
        descriptions,
      ),
      endings: ledger.endings(),
      letters: ledger.rows('SELECT id, source, recipient, run_id, state FROM outbox').map((row) => ({
        id: text(row, 'id'),
        source: text(row, 'source'),
        recipient: text(row, 'recipient'),
        runId: text(row, 'run_id'),
        state: text(row, 'state'),
      })),
      notes: ledger
        .rows('SELECT run_id, source FROM run_inbox')
        .map((row) => ({ runId: text(row, 'run_id'), source: text(row, 'source') })),
      tasks: ledger.rows(tasksSql).map((row) => ({
        id: text(row, 'id'),
        title: text(row, 'title'),
        state: text(row, 'state'),
        parentRunId: maybe(row, 'parent_run_id'),
        runId: maybe(row, 'run_id') ?? 'nobody',
        givenAnew: Number(row['given_anew']),
      })),
      messages: ledger.rows('SELECT id, text, state, asking_run_id, run_id FROM messages').map((row) => ({
        id: text(row, 'id'),
        callId: linkOf(text(row, 'text')),
        state: text(row, 'state'),
        askingRunId: text(row, 'asking_run_id'),
        runId: maybe(row, 'run_id'),
      })),
      steers: ledger.rows('SELECT id, idempotency_key, state, became_run_id FROM steers').map((row) => ({
        id: text(row, 'id'),
        key: maybe(row, 'idempotency_key'),
        state: text(row, 'state'),
        becameRunId: maybe(row, 'became_run_id'),
      })),
      firings: firingsOf(ledger),
      effects: [...effectsOf(ledger), ...(await jobsOf(home))],
      versions: versionsOf(ledger),
      money: moneyOf(ledger),
    }
  } finally {
    ledger.close()
  }
}

const tasksSql = `SELECT id, title, state, parent_run_id, run_id,
  (SELECT count(*) FROM task_history WHERE task_id = tasks.id AND action IN ('reroute', 'retry')) AS given_anew
  FROM tasks`

/** Extracts the id of the call with which a title or a message begins. */
function linkOf(words: string): string {
  return words.replace(/^Link ([^ :.]+\.\d+\.\d+)[^]*$/, '$1')
}

/** Reads only the rows of money, for comparison between two processes of the mesh. */
export function gatherMoney(home: string): MoneyFacts {
  const ledger = openLedger(home)
  try {
    return moneyOf(ledger)
  } finally {
    ledger.close()
  }
}

/** Describes what has not ended yet; empty once all work has settled. */
export function openEnds(home: string): readonly string[] {
  const ledger = openLedger(home)
  const ends = {
    'runs that go on': 'SELECT id FROM runs WHERE outcome IS NULL',
    'open tasks': "SELECT id FROM tasks WHERE state NOT IN ('done', 'failed', 'cancelled', 'blocked')",
    'messages without an answer': "SELECT id FROM messages WHERE state = 'sent'",
    'agents made for a task': 'SELECT agent_id AS id FROM spawned_agents',
    'waiting steers': "SELECT id FROM steers WHERE state = 'waiting'",
    'letters on their way': "SELECT id FROM outbox WHERE state = 'pending' AND recipient LIKE 'run:%'",
    'money set aside': "SELECT id FROM spend WHERE state = 'open'",
  }
  try {
    return Object.entries(ends).flatMap(([name, sql]) => {
      const rows = ledger.rows(sql)
      return rows.length === 0
        ? []
        : [
            `${rows.length} ${name} (${rows
              .slice(0, 3)
              .map((row) => text(row, 'id'))
              .join(', ')})`,
          ]
    })
  } finally {
    ledger.close()
  }
}

/** Reads runs in the order of their creation, each with the plan that its conversation is about at that time. */
function withConversations(
  rows: readonly Row[],
  descriptions: ReadonlyMap<string, string>,
): readonly RunFact[] {
  const plans = new Map<string, string | null>()
  return rows.map((row) => {
    const run = runFrom(row, descriptions)
    const { session } = JSON.parse(text(row, 'input')) as { readonly session?: string }
    const conversation = `${run.agentId} ${session ?? run.taskId ?? run.id}`
    const talksOf = run.marker ?? plans.get(conversation) ?? null
    plans.set(conversation, talksOf)
    return { ...run, talksOf, conversation }
  })
}

function runFrom(
  row: Row,
  descriptions: ReadonlyMap<string, string>,
): Omit<RunFact, 'talksOf' | 'conversation'> {
  const taskId = maybe(row, 'task_id')
  const words = taskId === null ? text(row, 'input') : (descriptions.get(taskId) ?? '')
  const outcome = maybe(row, 'outcome')
  return {
    id: text(row, 'id'),
    agentId: text(row, 'agent_id'),
    state: text(row, 'state'),
    origin: String((JSON.parse(text(row, 'origin')) as Row)['kind']),
    parentId: maybe(row, 'parent_id'),
    taskId,
    key: maybe(row, 'idempotency_key'),
    marker: readPlan(words)?.marker ?? null,
    outcome: outcome === null ? null : (JSON.parse(outcome) as RunFact['outcome']),
    costUsd: Number(row['cost_usd']),
  }
}

function firingsOf(ledger: LedgerView): FiringFact[] {
  const fact = (what: string, row: Row): FiringFact => ({
    what: `${what} ${String(row['number'])}`,
    runId: maybe(row, 'run_id'),
    outcome: maybe(row, 'outcome'),
  })
  return [
    ...ledger
      .rows("SELECT seq AS number, run_id, outcome FROM cron_rows WHERE state <> 'skipped'")
      .map((row) => fact('the firing', row)),
    ...ledger
      .rows("SELECT number, run_id, outcome FROM webhook_deliveries WHERE state = 'accepted'")
      .map((row) => fact('the delivery', row)),
  ]
}

function effectsOf(ledger: LedgerView): EffectFact[] {
  const journal = (action: string) =>
    ledger.rows(`SELECT seq, subject, detail FROM journal WHERE action = '${action}' ORDER BY seq`)
  const written = journal('blackboard.written').filter((row) => text(row, 'subject') !== sharedKey)
  return [
    ...written.map((row) => ({
      callId: text(row, 'subject').replace(/^output\//, ''),
      where: `journal row ${String(row['seq'])}: written as ${text(row, 'detail')}`,
    })),
    ...journal('artifact.saved').map((row) => ({
      callId: text(row, 'subject')
        .replace(/^[^/]*\//, '')
        .replace(/\.txt$/, ''),
      where: `journal row ${String(row['seq'])}: saved as ${text(row, 'detail')}`,
    })),
    ...ledger.rows(`SELECT id, text FROM topic_signals WHERE topic = '${topic}'`).map((row) => ({
      callId: text(row, 'text'),
      where: `signal ${text(row, 'id')}`,
    })),
    ...ledger
      .rows('SELECT id, message FROM notes')
      .filter(isOfCall)
      .map((row) => ({
        callId: text(row, 'message'),
        where: `note ${text(row, 'id')}`,
      })),
    ...ledger.rows("SELECT id, title FROM tasks WHERE title LIKE 'Link %'").map((row) => ({
      callId: linkOf(text(row, 'title')),
      where: `task ${text(row, 'id')}`,
    })),
    ...ledger.rows('SELECT id, text FROM messages').map((row) => ({
      callId: linkOf(text(row, 'text')),
      where: `message ${text(row, 'id')}`,
    })),
    ...ledger.rows('SELECT task_id, action, words FROM task_history').flatMap((row) => {
      const callId = / by ([a-z]\d+(?:-\d+)?\.\d+\.\d+)\.$/.exec(text(row, 'words'))?.[1]
      return callId === undefined
        ? []
        : [{ callId, where: `${text(row, 'action')} of ${text(row, 'task_id')}` }]
    }),
    ...ledger.rows("SELECT id FROM agents WHERE id LIKE 'made-%'").map((row) => ({
      callId: text(row, 'id').replace(/^made-(\w+)-(\d+)-(\d+)$/, '$1.$2.$3'),
      where: `agent ${text(row, 'id')}`,
    })),
  ]
}

/** True for notes of calls. The mesh also notifies the owner of jobs by notes. */
function isOfCall(row: Row): boolean {
  return /^[a-z]\d+(?:-\d+)?\.\d+\.\d+$/.test(text(row, 'message'))
}

async function jobsOf(home: string): Promise<EffectFact[]> {
  const file = await readFile(join(home, 'config', 'cron.json'), 'utf8').catch(() => '{}')
  const found = file.matchAll(/"id": ?"([^"]+)"[^{}]*?"message": ?"([a-z]\d+(?:-\d+)?\.\d+\.\d+)"/g)
  return [...found].map(([, id = '', callId = '']) => ({ callId, where: `job ${id}` }))
}

function versionsOf(ledger: LedgerView): Map<string, number[]> {
  const rows = ledger.rows(
    "SELECT subject, detail FROM journal WHERE action = 'blackboard.written' ORDER BY seq",
  )
  const versions = new Map<string, number[]>()
  for (const row of rows) {
    const { version } = JSON.parse(text(row, 'detail')) as { version: number }
    versions.set(text(row, 'subject'), [...(versions.get(text(row, 'subject')) ?? []), version])
  }
  return versions
}

function moneyOf(ledger: LedgerView): MoneyFacts {
  return {
    spend: ledger.rows('SELECT * FROM spend').map((row) => ({
      id: text(row, 'id'),
      agentId: text(row, 'agent_id'),
      runId: maybe(row, 'run_id'),
      taskId: maybe(row, 'task_id'),
      project: maybe(row, 'project'),
      state: text(row, 'state'),
      day: text(row, 'day'),
      reservedNano: Number(row['reserved_nano']),
      costNano: Number(row['cost_nano']),
      promptTokens: Number(row['prompt_tokens']),
      completionTokens: Number(row['completion_tokens']),
      unconfirmed: maybe(row, 'unconfirmed'),
    })),
    totals: ledger.rows('SELECT scope, period, open_nano, spent_nano, calls FROM spend_total').map((row) => ({
      scope: text(row, 'scope'),
      period: text(row, 'period'),
      openNano: Number(row['open_nano']),
      spentNano: Number(row['spent_nano']),
      calls: Number(row['calls']),
    })),
    daily: ledger.rows('SELECT day, agent_id, cost_nano, calls FROM spend_daily').map((row) => ({
      day: text(row, 'day'),
      agentId: text(row, 'agent_id'),
      costNano: Number(row['cost_nano']),
      calls: Number(row['calls']),
    })),
  }
}

function text(row: Row, field: string): string {
  const value = row[field]
  if (typeof value !== 'string')
    throw new TypeError(`the column ${field} has no text: ${JSON.stringify(row)}`)
  return value
}

function maybe(row: Row, field: string): string | null {
  const value = row[field]
  return typeof value === 'string' ? value : null
}
