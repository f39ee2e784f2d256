import type { RunView } from '@flotilla/protocol/run'
import type { SpanView } from '@flotilla/protocol/trace-api'
import { expect, it } from 'vitest'
import { compareFigures, toolsOf } from './compare-runs.ts'

const span = (run: string, attributes: Record<string, string>) =>
  ({ run_id: run, attributes }) as unknown as SpanView
const of = (id: string, part: Partial<RunView>, spans: readonly SpanView[] = []) => ({
  run: {
    id,
    state: 'done',
    started_at: 1000,
    ended_at: 3000,
    cost_usd: 0.02,
    tokens_used: 1000,
    attempt: 1,
    ...part,
  } as RunView,
  spans,
})

it('two runs are compared by what they took, and changes are said in percent', () => {
  const model = { 'gen_ai.request.model': 'm' }
  const tool = { 'gen_ai.tool.name': 'ls' }
  const one = of('run_1', {}, [span('run_1', model), span('run_1', tool), span('run_9', tool)])
  const other = of('run_2', { ended_at: null, cost_usd: 0.03, state: 'running' }, [
    span('run_2', model),
    span('run_2', model),
  ])
  expect(toolsOf(one)).toEqual(['ls'])
  expect(compareFigures(one, other).map((figure) => Object.values(figure))).toEqual([
    ['State', 'done', 'running', null],
    ['Took', '2.0 s', '–', null],
    ['Cost', '$0.02', '$0.03', '+50 %'],
    ['Tokens', '1.0k', '1.0k', null],
    ['Model calls', '1', '2', '+100 %'],
    ['Tool calls', '1', '0', '−100 %'],
    ['Attempts', '1', '1', null],
  ])
})
