import type { SpanView, TraceView } from '@flotilla/protocol/trace-api'
import { describe, expect, test } from 'vitest'
import { createColor } from './color.ts'
import { drawWaterfall } from './waterfall.ts'

const aSpan = (span: Partial<SpanView> & { readonly span_id: string }): SpanView => ({
  parent_id: null,
  run_id: 'run_1',
  agent_id: 'a',
  name: 'invoke_agent a',
  kind: 'internal',
  status: 'ok',
  started_at: 0,
  ended_at: 1000,
  attributes: {},
  ...span,
})

function drawn(...spans: readonly SpanView[]): string[] {
  const trace: TraceView = {
    trace_id: 't',
    run_id: 'run_1',
    spans: [...spans],
    truncated: false,
    kept_days: 7,
  }
  return drawWaterfall(trace, { columns: 80, color: createColor(false), now: 2000 })
}

describe('a waterfall', () => {
  test('a waterfall has each span below what it belongs to, with a bar where it lies in time', () => {
    const lines = drawn(
      aSpan({ span_id: 'run', attributes: { 'flotilla.run.state': 'done' } }),
      aSpan({ span_id: 'wait', parent_id: 'run', name: 'flotilla.lane_wait', ended_at: 250 }),
      aSpan({
        span_id: 'call',
        parent_id: 'run',
        name: 'chat m/x',
        kind: 'client',
        started_at: 500,
        attributes: {
          'gen_ai.usage.input_tokens': 10,
          'gen_ai.usage.output_tokens': 2,
          'flotilla.cost_usd': 0.5,
        },
      }),
    )
    expect(lines).toEqual([
      `invoke_agent a        ${'█'.repeat(46)}       1.0 s  done`,
      `  waits for its turn  ${'·'.repeat(12)}${' '.repeat(34)}      250 ms`,
      `  chat m/x            ${' '.repeat(23)}${'█'.repeat(23)}      500 ms  10 → 2 tokens, $0.50`,
    ])
  })

  test('a waterfall says what goes on, what failed, and what was cut off', () => {
    const lines = drawn(
      aSpan({ span_id: 'run', ended_at: null }),
      aSpan({
        span_id: 'x',
        parent_id: 'run',
        status: 'error',
        attributes: { 'error.type': 'model-failed', 'flotilla.cut_off': true },
      }),
    )
    expect(lines[0]).toMatch(/2\.0 s {2}goes on$/)
    expect(lines[1]).toMatch(/model-failed, cut off$/)
  })

  test('a waterfall names why a call lost the cache before it cuts a long line', () => {
    const attributes = {
      'gen_ai.usage.input_tokens': 123_456,
      'gen_ai.usage.output_tokens': 1234,
      'gen_ai.usage.cache_read.input_tokens': 98_765,
      'flotilla.cache_break': 'system INSTRUCTIONS.md',
      'flotilla.cost_usd': 0.5,
    }
    const lines = drawn(aSpan({ span_id: 'run' }), aSpan({ span_id: 'x', parent_id: 'run', attributes }))
    expect(lines[1]).toContain('cache lost: system INSTRUCTIONS.md')
  })

  test('a waterfall comes to an end and obeys nothing, whatever a trace says', () => {
    const lines = drawn(
      aSpan({ span_id: 'a', parent_id: 'b', name: '\u001B[2J' }),
      aSpan({ span_id: 'b', parent_id: 'a', name: 'x'.repeat(1000) }),
      aSpan({ span_id: 'c', parent_id: 'nobody', started_at: -5, ended_at: -9 }),
      ...Array.from({ length: 40 }, (_, index) =>
        aSpan({ span_id: `d${index}`, parent_id: index === 0 ? null : `d${index - 1}` }),
      ),
    )
    expect(lines.join('\n')).not.toContain('\u001B')
    expect(lines.length).toBe(41)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(200)
  })
})
