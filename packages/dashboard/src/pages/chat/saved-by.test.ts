import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import type { SpanView } from '@flotilla/protocol/trace-api'
import { expect, it } from 'vitest'
import { savedBy, savingRuns } from './saved-by.ts'

const span = (...[id, parent, run, agent, tool]: readonly (string | null)[]) =>
  ({
    span_id: id,
    parent_id: parent,
    run_id: run,
    agent_id: agent,
    attributes: tool === undefined ? {} : { 'gen_ai.tool.name': tool },
  }) as unknown as SpanView

it('artifacts of a turn are those of the runs below it, of other agents', () => {
  const spans = [
    span('1', null, 'run_1', 'operator'),
    span('2', '1', 'run_1', 'operator', 'save_artifact'),
    span('3', '1', 'run_2', 'scribe'),
    span('4', '3', 'run_2', 'scribe', 'save_artifact'),
    span('5', '3', 'run_3', 'clerk', 'read_file'),
    span('6', null, 'run_9', 'courier', 'save_artifact'),
  ]
  expect(savingRuns(spans, { runId: 'run_1', agent: 'operator' })).toEqual([
    { runId: 'run_2', agent: 'scribe' },
  ])
})

it('artifacts of a run are those whose call succeeded, each once', () => {
  const call = (seq: number, name: string, ok: boolean) =>
    [
      { seq, body: { type: 'tool.started', step: seq, name: 'save_artifact', input: { name } } },
      { seq: seq + 1, body: { type: 'tool.ended', step: seq, name: 'save_artifact', ok } },
    ] as unknown as readonly FleetEvent[]
  const events = [...call(1, 'a.md', true), ...call(3, 'b.md', false), ...call(5, 'a.md', true)]
  expect(savedBy(events)).toEqual(['a.md'])
})
