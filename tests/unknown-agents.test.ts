import { expect, it } from 'vitest'
import { readSourceFiles } from './source-files.ts'

/** Where the problem has another reason than an id that no agent has. */
const otherReasons: readonly string[] = [
  // An agent that is being deleted still has its id.
  'packages/fleet/src/agents/registry/agent-table.ts',
]

it('an id that no agent has is reported in the words of one function, with the nearest id', () => {
  const own = readSourceFiles().filter(
    ({ path, text, isTest }) =>
      !isTest &&
      path.startsWith('packages/') &&
      /(?:Problem|CommandFailed)\('unknown-agent'/.test(text) &&
      !text.includes('describeMissingAgent('),
  )
  expect(own.map(({ path }) => path)).toEqual(otherReasons)
})
