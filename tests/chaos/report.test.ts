import { expect, test } from 'vitest'
import { quantile, formatReadyTimes } from './report.ts'
import type { MeshInstance } from './supervise-mesh.ts'

function anInstance(changes: Partial<MeshInstance>): MeshInstance {
  return {
    number: 2,
    startedAt: 1010,
    killedBeforeAt: 1000,
    readyAt: 3000,
    endedAt: null,
    killed: false,
    lines: [],
    errors: '',
    ...changes,
  }
}

test('the time from a kill to ready is reported with its parts', () => {
  const lines = [
    { at: 1900, said: { msg: 'the permission file is valid again; its permissions apply from now on' } },
    { at: 2200, said: { progress: 'Opening the agent API' } },
    { at: 2990, said: { ready: true } },
    {
      at: 3001,
      said: { msg: 'the mesh is ready and accepts work', loadedMs: 800, composedMs: 990, readyMs: 1980 },
    },
  ]
  const told = formatReadyTimes([anInstance({ killedBeforeAt: null }), anInstance({ lines })])
  expect(told).toContain('1 times: median 2.00 s')
  expect(
    told
      .split('\n')
      .slice(1)
      .map((line) => line.replace(/ +/g, ' ')),
  ).toEqual([
    ' until "its modules are loaded" median 0.81 s p90 0.81 s',
    ' until "home and database are open" median 0.19 s p90 0.19 s',
    ' until "Opening the agent API" median 0.20 s p90 0.20 s',
    ' until "ready" median 0.79 s p90 0.79 s',
  ])
})

test('a quantile is one of the values', () => {
  expect([quantile([3, 1, 2], 0.5), quantile([1], 0.9), quantile([], 0.5)]).toEqual([2, 1, 0])
})
