import type { ToolOutput } from '@flotilla/protocol/tool-call'
import { describe, expect, test } from 'vitest'
import { beginningOf, provenanceOf } from './run-provenance.ts'

const owner = { kind: 'human', channel: 'cli' } as const
const made = (tool: string, input: ToolOutput['input'] = {}): ToolOutput => ({
  step: 1,
  tool,
  input,
  output: 'x',
  ok: true,
  duration_ms: 1,
})
const behind = (toolOutputs: readonly ToolOutput[], more: Partial<Parameters<typeof provenanceOf>[0]> = {}) =>
  provenanceOf({ runId: 'run_1', beginning: beginningOf(owner, null), toolOutputs, steers: [], ...more })

describe('the provenance of a call', () => {
  test('an owner’s words, with nothing read but the agent’s own doing', () => {
    expect(behind([made('write_file'), made('memory_save')])).toEqual({
      runId: 'run_1',
      origin: 'human',
      channel: 'cli',
      trust: 'owner',
      urls: [],
    })
  })

  test('a fetched page makes everything after it as believable as the page, and is named', () => {
    const read = behind([made('http_request', { url: 'https://example.org/a' }), made('write_file')])
    expect(read).toMatchObject({ trust: 'outside', urls: ['https://example.org/a'] })
  })

  test('what the conversation read in earlier turns still counts', () => {
    expect(behind([], { beginning: beginningOf(owner, 'outside') }).trust).toBe('outside')
    expect(behind([], { beginning: beginningOf(owner, 'owner') }).trust).toBe('owner')
    expect(behind([], { beginning: beginningOf({ kind: 'webhook', channel: 'h' }, 'owner') }).trust).toBe(
      'outside',
    )
  })

  test('words said meanwhile may be another agent’s', () => {
    expect(behind([], { steers: [{ id: 's' }] }).trust).toBe('agent')
  })

  test('a run without an origin counts as a stranger’s', () => {
    expect(behind([], { beginning: beginningOf(undefined, null) })).toMatchObject({
      trust: 'outside',
      origin: 'unknown',
    })
  })
})
