import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { createSecret } from '../../../egress/src/credentials/secret.ts'
import type { LlmProvider, ProviderRequest } from '../models/index.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { aLedgerHarness, person } from '../../../testing/src/ledger-harness.ts'
import { createExchangeTable } from './exchange-table.ts'
import { pieceMaxChars } from './in-pieces.ts'
import { queueLimits } from './piece-queue.ts'
import { createRunRecorder } from './record-runs.ts'
import { recordLimits } from './record-limits.ts'

const open = () => new AbortController().signal
const dayMs = 24 * 3600 * 1000

function aRecorder(settings = { days: 7, max_mb: 1 }) {
  const ledger = aLedgerHarness()
  const clock = createManualClock(Date.UTC(2026, 10, 23))
  const table = createExchangeTable(ledger.database)
  const secrets = [createSecret('bank', 'a-long-secret-value')]
  const aMeshProcess = () =>
    createRunRecorder({
      database: ledger.database,
      table,
      vault: {
        system: () => undefined,
        agentTier: () => secrets[0],
        names: () => ({ system: [], agent: secrets.map(() => 'bank') }),
      },
      settings: () => ({ run_records: settings }),
      clock,
      log: silentLog,
    })
  const recorder = aMeshProcess()
  const answers: string[] = []
  const provider: LlmProvider = {
    forms: new Set(['chat']),
    complete: async () => {
      const message = { role: 'assistant', content: answers.shift() ?? 'said' }
      return {
        status: 200,
        contentType: 'application/json',
        retryAfterSeconds: null,
        body: (async function* () {
          yield Buffer.from(JSON.stringify({ choices: [{ message }] }))
        })(),
        discard: () => {},
      }
    },
    modelNames: async () => [],
    close: async () => {},
  }
  const wrapped = recorder.wrap(provider)
  let sessions = 0
  return {
    table,
    /** Stored exchanges of a run. */
    exchangesOf: (runId: string) => Array.from(table.of(runId), ({ exchange }) => exchange),
    recorder,
    /** A new mesh process, which knows only what is on the disk. */
    aMeshProcess,
    secrets,
    clock,
    answers,
    database: ledger.database,
    run: (agentId = 'a') =>
      ledger.ledger.queue.submitRun(person, {
        agentId,
        input: { kind: 'chat', message: 'go', session: `s${(sessions += 1)}` },
      }).id,
    hear,
    async say(...said: Parameters<typeof hear>) {
      await hear(...said)
      await recorder.written()
    },
  }

  /** Plays a call to its end; the received exchange may still wait to be written. */
  async function hear(runId: string, texts: readonly string[], more: Partial<ProviderRequest> = {}) {
    const messages = texts.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content }))
    const parameters = { messages } as never
    const ofRun = { runId, fence: 1, purpose: 'loop' as const }
    const request = {
      form: 'chat' as const,
      agentId: 'a',
      model: 'm',
      stream: false,
      parameters,
      body: '',
      ofRun,
    }
    const reply = await wrapped.complete({ ...request, ...more }, { signal: open() })
    await Array.fromAsync(reply.body)
  }
}

/** Counts the rounds of the event loop. */
function countTurns(): { end(): number } {
  let turns = 0
  let next = setImmediate(count)
  function count(): void {
    turns += 1
    next = setImmediate(count)
  }
  return {
    end: () => {
      clearImmediate(next)
      return turns
    },
  }
}

describe('the record of a run', () => {
  test('the record of a run has of each exchange only what is new, and the whole when it is read', async () => {
    const { run, say, database, exchangesOf } = aRecorder()
    const id = run()
    await say(id, ['one'])
    await say(id, ['one', 'said', 'two'])
    await say(id, ['shortened', 'said', 'three'])
    expect(exchangesOf(id).map(({ messages }) => messages.map(({ content }) => content))).toEqual([
      ['one'],
      ['one', 'said', 'two'],
      ['shortened', 'said', 'three'],
    ])
    const kept = database.prepare('SELECT kept FROM run_exchanges ORDER BY number').all()
    expect(kept.map((row) => row['kept'])).toEqual([0, 1, 0])
  })

  test('the record of a run has no secret in any spelling', async () => {
    const { run, say, answers, exchangesOf } = aRecorder()
    const id = run()
    const coded = Buffer.from('x a-long-secret-value y').toString('base64')
    answers.push(`A-LONG-SECRET-VALUE and ${coded}`)
    await say(id, ['tell a-long-secret-value and Bearer abcdefgh12345678'])
    const kept = JSON.stringify(exchangesOf(id))
    expect(kept).toContain('[secret]')
    expect(kept.toLowerCase()).not.toContain('a-long-secret-value')
    expect(kept).not.toContain(coded)
    expect(kept).not.toContain('abcdefgh12345678')
  })

  test('the record of a run is of the agent’s own calls alone', async () => {
    const { run, say, table } = aRecorder()
    const id = run()
    const programs = { ofRun: undefined } as never
    await say(id, ['a program asks'], programs)
    await say(id, ['vectors'], { form: 'embeddings' })
    await say('run_gone', ['a run that is not there'])
    expect(table.bytes()).toBe(0)
  })

  test('the record of a run ends at the bound of a run, says so, and the call is answered all the same', async () => {
    const { run, say, table, answers, exchangesOf } = aRecorder()
    const id = run()
    answers.push('x'.repeat(3 * 1024 * 1024))
    await say(id, ['long'])
    expect(exchangesOf(id)).toEqual([])
    expect(table.cutOf(id)).toContain('longer')
    const other = run()
    for (let at = 0; at < 9; at += 1) await say(other, [`${at}${'y'.repeat(1024 * 1024)}`])
    expect(table.cutOf(other)).toContain('bytes')
  })

  test('the record of a run ends at the same bounds where what was remembered of the run is gone', async () => {
    const { run, say, table, recorder } = aRecorder({ days: 7, max_mb: 100 })
    const id = run()
    for (let at = 0; at < 9; at += 1) {
      await say(id, [`${at}${'y'.repeat(1024 * 1024)}`])
      recorder.forget(id)
    }
    expect(table.cutOf(id)).toContain('bytes')
    const other = run()
    const tiny = {
      runId: other,
      agentId: 'a',
      at: 0,
      turn: 0,
      purpose: 'loop',
      model: 'm',
      news: [],
      tools: {},
    }
    for (const number of [0, 1]) {
      const kept = recordLimits.messagesPerRunMax / 2
      table.insert({ ...tiny, number, after: null, kept, answer: { content: 'a', calls: [] } }, 2)
    }
    await say(other, ['one more'])
    expect(table.cutOf(other)).toContain('messages')
    expect(table.sizeOf(other).number).toBe(1)
  })

  test('the record of a run is written in pieces, between which the mesh does everything else', async () => {
    const { run, hear, recorder, exchangesOf } = aRecorder({ days: 7, max_mb: 100 })
    const [id, pieces] = [run(), 20]
    await hear(id, ['words and more '.repeat((pieces * pieceMaxChars) / 15)])
    const turns = countTurns()
    await recorder.written()
    expect(turns.end()).toBeGreaterThan(pieces)
    expect(exchangesOf(id)).toHaveLength(1)
  })

  test('the record of a run is of the turn in which it was said, and by what was a secret then', async () => {
    const { run, hear, recorder, database, exchangesOf, secrets } = aRecorder()
    const id = run()
    await hear(id, ['tell a-long-secret-value'])
    secrets.length = 0
    database.prepare('UPDATE runs SET turn = turn + 1 WHERE id = ?').run(id)
    await recorder.written()
    expect(exchangesOf(id)).toMatchObject([{ turn: 0, messages: [{ content: 'tell [secret]' }] }])
  })

  test('the record of a run says that it is not whole where too much waits to be written', async () => {
    const { run, hear, recorder, table } = aRecorder()
    const [id, other] = [run(), run()]
    const more = { body: 'x'.repeat(queueLimits.waitingMaxChars) }
    await hear(id, ['one'], more)
    await hear(other, ['two'])
    await recorder.written()
    expect([table.cutOf(id), table.cutOf(other)]).toEqual([
      null,
      expect.stringContaining('faster than the mesh could store'),
    ])
    expect([table.sizeOf(id).number, table.sizeOf(other).number]).toEqual([0, -1])
    await hear(other, ['three'])
    await recorder.written()
    expect(table.sizeOf(other).number).toBe(0)
  })

  test('the record of a run says that it is not whole where the mesh was killed with an answer that it had not written', async () => {
    const { run, say, hear, table, aMeshProcess } = aRecorder()
    const [whole, lost] = [run(), run()]
    await say(whole, ['one'])
    await hear(lost, ['two'])
    // The end was reported, so a kill from here on loses what was not written yet.
    aMeshProcess().recover()
    expect(table.cutOf(whole)).toBeNull()
    expect(table.cutOf(lost)).toContain('the mesh was stopped before')
    expect(table.takeMarked()).toEqual([])
  })

  test('the record of a run says that it is not whole where an answer cannot be written, and goes on', async () => {
    const { run, hear, recorder, table } = aRecorder()
    const id = run()
    const unreadable = {
      get messages(): never {
        throw new Error('nobody reads this')
      },
    }
    await hear(id, ['one'], { parameters: unreadable })
    await hear(id, ['two'])
    await recorder.written()
    expect(table.cutOf(id)).toContain('could not be stored')
    expect(table.sizeOf(id).number).toBe(0)
    expect(table.takeMarked()).toEqual([])
  })

  test('the record of a run goes with its age, and the oldest of the agent that has most where there are too many', async () => {
    const { run, say, table, recorder, clock, exchangesOf } = aRecorder()
    const old = run()
    await say(old, ['old'])
    await clock.advance(8 * dayMs)
    const first = run()
    await say(first, ['first'])
    recorder.maintain()
    expect(exchangesOf(old)).toEqual([])
    expect(exchangesOf(first)).toHaveLength(1)
    for (let at = 0; at < 12; at += 1) {
      await clock.advance(1000)
      await say(run(), [`${at}${'z'.repeat(150_000)}`])
    }
    recorder.maintain()
    expect(table.bytes()).toBeLessThanOrEqual(1024 * 1024 * 0.5)
    expect(exchangesOf(first)).toEqual([])
    expect(table.bytes()).toBeGreaterThan(0)
  })

  test('the record of a run is not kept where the owner wants none', async () => {
    const { run, say, table } = aRecorder({ days: 0, max_mb: 1 })
    await say(run(), ['one'])
    expect(table.bytes()).toBe(0)
  })
})
