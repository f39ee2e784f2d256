import type { RunView } from '@flotilla/protocol/run'
import { expect, it } from 'vitest'
import { newestEnded } from './shown-turns.ts'
import { newTurn } from './turn.ts'

const run = (id: string, startedAt: number | null, state: RunView['state'] = 'done') =>
  ({ id, state, started_at: startedAt }) as unknown as RunView
const followed = (id: string, ended: RunView | null) =>
  ({ ...newTurn(id, 'Hello'), runId: id, run: ended, state: ended === null ? 'refused' : 'ended' }) as const

it('the newest ended run is the one that the page followed, before the list has it', () => {
  expect(newestEnded([followed('run_2', run('run_2', 20))], [run('run_1', 10)])).toBe('run_2')
  expect(newestEnded([], [run('run_1', 10)])).toBe('run_1')
  expect(newestEnded([], [])).toBe('')
})

it('the newest ended run is one of the list if its stream broke, and none that never began', () => {
  const turns = [followed('run_1', run('run_1', 10)), followed('run_2', null)]
  expect(newestEnded(turns, [run('run_2', 20), run('run_1', 10)])).toBe('run_2')
  expect(newestEnded(turns, [run('run_2', 20, 'running'), run('run_1', 10)])).toBe('run_1')
  expect(newestEnded(turns, [run('run_2', null, 'expired'), run('run_1', 10)])).toBe('run_1')
})
