import { CloudEvent, HTTP } from 'cloudevents'
import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import { cloudEvent } from './cloud-event.ts'
import { exportJournal } from './export-journal.ts'
import type { JournalFilter } from './export-journal.ts'
import { createJournal } from './journal-table.ts'

const start = Date.parse('2026-11-21T12:00:00Z')

async function aJournal(rows = 0) {
  const clock = createManualClock('2026-11-21T12:00:00Z')
  const database = migrated()
  const journal = createJournal({ database, clock })
  const write = (...[actor, action, subject, detail = {}]: [string, string, string, object?]) =>
    journal.append({ actor, action, subject, detail: { ...detail } })
  write('system', 'mesh.started', 'mesh')
  write('agent:scout', 'permission.denied', 'helper', { reason: 'no “quotes”\nand lines' })
  await clock.advance(1000)
  write('human:cli', 'permission.changed', 'scout')
  write('system', 'run.settled', 'run_1', { agent: 'scout' })
  write('human:cli', 'budget.changed', 'agent:helper')
  database.transaction(() => {
    for (let row = 0; row < rows; row++) write('system', 'run.settled', `run_${row}`)
  })
  const exported = async (filter: JournalFilter = {}, signal = new AbortController().signal) =>
    Array.fromAsync(exportJournal(database, filter, signal))
  return { database, exported }
}

describe('an export of the journal', () => {
  test('an export of the journal is CloudEvents 1.0, as the official package reads and checks them', async () => {
    const { exported } = await aJournal()
    const rows = await exported()
    for (const row of rows) {
      const line = JSON.stringify(cloudEvent(row, 'home-1'))
      expect(line).not.toContain('\n')
      const event = new CloudEvent(JSON.parse(line) as Record<string, unknown>)
      expect(event.validate()).toBe(true)
      const received = HTTP.toEvent({
        headers: { 'content-type': 'application/cloudevents+json' },
        body: line,
      }) as CloudEvent<unknown>
      expect(received).toMatchObject({
        id: String(row.seq),
        source: 'urn:flotilla:home:home-1',
        type: `flotilla.journal.${row.action}`,
        subject: row.subject,
        time: new Date(row.at).toISOString(),
        actor: row.actor,
        chainhash: row.hash,
        data: { actor: row.actor, action: row.action, subject: row.subject, detail: row.detail },
      })
    }
    expect(rows).toHaveLength(5)
  })

  test.each<[JournalFilter, number[]]>([
    [{}, [1, 2, 3, 4, 5]],
    [{ since: start + 1000 }, [3, 4, 5]],
    [{ until: start + 1000 }, [1, 2]],
    [{ actor: 'human:cli' }, [3, 5]],
    [{ action: 'permission.*' }, [2, 3]],
    [{ action: 'permission.denied' }, [2]],
    [{ agent: 'scout' }, [2, 3, 4]],
    [{ agent: 'helper' }, [2, 5]],
    [{ agent: 'scout', action: 'run.*' }, [4]],
    [{ agent: 'nobody' }, []],
  ])('with the filter %j has rows %j', async (filter, seqs) => {
    const { exported } = await aJournal()
    expect((await exported(filter)).map(({ seq }) => seq)).toEqual(seqs)
  })

  test('an export of many rows contains each once, in order, also after pruning, and stops when the reader leaves', async () => {
    const { database, exported } = await aJournal(2500)
    database.exec('DELETE FROM journal WHERE seq <= 1200')
    const seqs = (await exported()).map(({ seq }) => seq)
    expect(seqs).toEqual(Array.from({ length: 1305 }, (_, index) => index + 1201))
    const leaving = new AbortController()
    let read = 0
    for await (const _row of exportJournal(database, {}, leaving.signal)) {
      if (++read === 1) leaving.abort()
    }
    expect(read).toBeLessThanOrEqual(1000)
  })
})
