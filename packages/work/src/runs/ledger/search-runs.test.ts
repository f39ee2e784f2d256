import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { aLedgerHarness } from '../../../../testing/src/ledger-harness.ts'
import type { LedgerHarness } from '../../../../testing/src/ledger-harness.ts'
import type { RunSearch } from './search-runs.ts'

function aHarness(): LedgerHarness & { readonly found: (asked?: Partial<RunSearch>) => readonly string[] } {
  const harness = aLedgerHarness()
  onTestFinished(() => harness.ledger.close())
  const messageOf = (run: ReturnType<typeof harness.chat>) =>
    run.input.kind === 'chat' ? run.input.message : run.input.kind
  return {
    ...harness,
    found: (asked = {}) => harness.ledger.queries.search({ limit: 50, ...asked }).runs.map(messageOf),
  }
}

/** Adds `times` runs that are older than all later ones. */
function copyRuns(harness: LedgerHarness, times: number): void {
  harness.database
    .prepare(
      `WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
       INSERT INTO runs (id, agent_id, kind, origin, input, state, attempt, turn, fence, depth, trace_id, created_at, queued_since, available_at)
       SELECT 'run_copy' || n, 'copyist', kind, origin, json_set(input, '$.message', 'a copy'), 'done', 1, 1, 1, 0, trace_id, created_at, queued_since, available_at
       FROM numbers, (SELECT * FROM runs LIMIT 1)`,
    )
    .run(times)
}

describe('a search of runs', () => {
  test('a search finds runs by agent, state and origin, alone and together, newest first', () => {
    const harness = aHarness()
    harness.chat('operator', 'first')
    harness.chat('auditor', 'second')
    harness.chat('auditor', 'third')
    harness.database.exec(
      "UPDATE runs SET state = 'cancelled' WHERE input LIKE '%first%'; UPDATE runs SET origin = json_set(origin, '$.kind', 'cron') WHERE input LIKE '%third%'",
    )
    expect(harness.found()).toEqual(['third', 'second', 'first'])
    expect(harness.found({ agentId: 'auditor' })).toEqual(['third', 'second'])
    expect(harness.found({ agentId: 'auditor', from: 'cron' })).toEqual(['third'])
    expect(harness.found({ state: 'cancelled' })).toEqual(['first'])
    expect(harness.found({ state: 'cancelled', agentId: 'auditor' })).toEqual([])
  })

  test('a search finds words in input, answer and ids, and takes pattern characters literally', () => {
    const harness = aHarness()
    const run = harness.chat('operator', 'Look at 100% of it')
    harness.chat('operator', 'another')
    harness.database
      .prepare("UPDATE runs SET outcome = json_object('status', 'done', 'text', 'It is _fine_') WHERE id = ?")
      .run(run.id)
    for (const words of ['look AT', '100%', '_fine_', run.id, run.traceId])
      expect(harness.found({ words }), words).toEqual(['Look at 100% of it'])
    for (const words of ['100_', 'session', 'main', '\\', 'Look%it'])
      expect(harness.found({ words }), words).toEqual([])
  })

  test('a search finds a handed-off run by the title of its task', async () => {
    const harness = aHarness()
    harness.ledger.start()
    harness.chat('operator')
    await harness.clock.settle()
    const { run_id: runId } = harness.handOff(harness.callerOf('operator'), {
      to: 'auditor',
      title: 'Count the licences',
      description: 'All of them.',
      data: {},
    })
    const found = harness.ledger.queries.search({ limit: 9, words: 'the LICENCES' }).runs
    expect(found.map(({ id }) => id)).toEqual([runId])
  })

  test('a search continues where a page ended, and says when no run is left', () => {
    const harness = aHarness()
    for (const message of ['a', 'b', 'c', 'd', 'e']) harness.chat('operator', message)
    const first = harness.ledger.queries.search({ limit: 2 })
    const second = harness.ledger.queries.search({ limit: 2, before: first.older ?? '' })
    const third = harness.ledger.queries.search({ limit: 2, before: second.older ?? '' })
    const pages = [first, second, third].map(({ runs }) =>
      runs.map(({ input }) => 'message' in input && input.message),
    )
    expect(pages).toEqual([['e', 'd'], ['c', 'b'], ['a']])
    expect(third.older).toBeNull()
    // A page that is exactly full is the last one when no older run exists.
    expect(harness.ledger.queries.search({ limit: 5 }).older).toBeNull()
  })

  test('a search scans ten thousand runs at a time, and says where to continue', () => {
    const harness = aHarness()
    harness.chat('operator', 'the needle')
    copyRuns(harness, 10_000)
    const first = harness.ledger.queries.search({ limit: 9, words: 'needle' })
    expect(first).toMatchObject({ runs: [], older: 'run_copy1' })
    const second = harness.ledger.queries.search({ limit: 9, words: 'needle', before: 'run_copy1' })
    expect(second.runs).toHaveLength(1)
    expect(second.older).toBeNull()
  })

  test('a search for one agent does not scan the runs of others, and continues after its own', () => {
    const harness = aHarness()
    harness.chat('operator', 'the needle')
    copyRuns(harness, 10_000)
    const ofOperator = harness.ledger.queries.search({ limit: 9, agentId: 'operator' })
    expect(ofOperator).toMatchObject({ runs: [{ agentId: 'operator' }], older: null })
    const first = harness.ledger.queries.search({ limit: 9, agentId: 'copyist', words: 'needle' })
    expect(first).toEqual({ runs: [], older: null })
    harness.database.exec("UPDATE runs SET agent_id = 'copyist'")
    expect(harness.ledger.queries.search({ limit: 9, agentId: 'copyist', words: 'needle' })).toMatchObject({
      runs: [],
      older: 'run_copy1',
    })
  })

  test('a search finds the runs of a period, and no older page remains outside of it', () => {
    const harness = aHarness()
    for (const message of ['a', 'b', 'c', 'd', 'e']) harness.chat('operator', message)
    const at = harness.database.prepare('UPDATE runs SET created_at = ? WHERE input LIKE ?')
    for (const [index, message] of ['a', 'b', 'c', 'd', 'e'].entries())
      at.run(1000 + index * 10, `%"message":"${message}"%`)
    expect(harness.found({ since: 1010, until: 1040 })).toEqual(['d', 'c', 'b'])
    expect(harness.found({ since: 1040 })).toEqual(['e'])
    expect(harness.found({ until: 1010 })).toEqual(['a'])
    expect(harness.found({ since: 1041 })).toEqual([])
    expect(harness.found({ until: 1000 })).toEqual([])
    const page = harness.ledger.queries.search({ limit: 2, since: 1010, until: 1040 })
    expect(page.older).not.toBeNull()
    const last = harness.ledger.queries.search({
      limit: 2,
      since: 1010,
      until: 1040,
      before: page.older ?? '',
    })
    expect(last).toMatchObject({ runs: [{ createdAt: 1010 }], older: null })
  })

  test('a search of a period that ended long ago does not scan the runs after it', () => {
    const harness = aHarness()
    harness.chat('operator', 'the needle')
    copyRuns(harness, 20_000)
    harness.database.exec("UPDATE runs SET created_at = created_at + 1000 WHERE id LIKE 'run_copy%'")
    const needle = harness.database.prepare("SELECT created_at FROM runs WHERE id NOT LIKE 'run_copy%'").get()
    const until = Number(needle?.['created_at']) + 1
    expect(harness.found({ until })).toEqual(['the needle'])
  })

  test('a search after an unknown run is rejected', () => {
    const harness = aHarness()
    expect(() => harness.found({ before: 'run_0000000000000009' })).toThrow(Problem)
  })
})
