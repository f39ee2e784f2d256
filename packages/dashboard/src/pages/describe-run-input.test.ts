import type { RunView } from '@flotilla/protocol/run'
import { expect, test } from 'vitest'
import { describeRunInput, titleOfRun } from './describe-run-input.ts'

const aRun = (message: string) =>
  ({
    input: { kind: 'chat', session: 'dashboard', message },
    origin: { kind: 'human' },
  }) as unknown as RunView

test('a run with attached files is titled by its words; its whole input names the files', () => {
  const run = aRun('Look\nat these\n\nAttached files:\n- /data/uploads/0a-orders.csv')
  expect(titleOfRun(run)).toBe('Look at these')
  expect(describeRunInput(run)).toContain('/data/uploads/0a-orders.csv')
  expect(titleOfRun(aRun('Attached files:\n- /data/uploads/0a-orders.csv'))).toBe('orders.csv')
})
